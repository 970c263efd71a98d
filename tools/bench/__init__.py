"""`make bench`: speed and memory as ratios, never as a test. README.md has what it printed last."""
