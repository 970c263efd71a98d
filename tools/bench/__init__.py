"""`make bench`: speed and memory as ratios, never as a test. `tools/bench/README.md` is what it printed last."""
