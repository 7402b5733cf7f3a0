"""Rule sets as data: one file per rule set and version, the criteria in a file they share."""
