"""The commands of `python -m pilots.cluster`."""
