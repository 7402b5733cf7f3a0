"""From a published entry, less its answer, to a case."""
