"""What each kernel computes, one small function per operation. Counting, rounding and checkpoints live elsewhere."""
