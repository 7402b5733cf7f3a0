"""Commands of `python -m pilots.baseline`."""
