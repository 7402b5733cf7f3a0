"""Commands of `python -m pilots.wafer`: one module each, listed in `registry`."""
