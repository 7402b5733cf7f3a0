"""The GPU side: what a discrete cluster takes for training steps, serving, operators and collectives. Pure.

The model never replaces a measured baseline; it explains one, extends it with an interval, and refuses what does not fit.
"""
