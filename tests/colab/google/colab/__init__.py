"""A stand-in for what Colab's kernels have loaded."""
