"""How far the emulator is from published runs: declared families, splits, intervals, verdicts, and the report."""
