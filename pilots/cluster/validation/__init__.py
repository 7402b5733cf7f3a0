"""How far the model is from published runs: rows, splits, intervals, gates, and the report."""
