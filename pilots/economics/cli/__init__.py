"""Commands of `python -m pilots.economics`."""
