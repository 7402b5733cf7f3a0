"""Wavelet programs by kernel."""
