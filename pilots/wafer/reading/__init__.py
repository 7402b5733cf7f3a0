"""From the words of a published entry to a case: one module per kind of workload."""
