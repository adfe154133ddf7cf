"""Best-worst scaling: tuples in, scores and their reliability out (docs/best-worst-scaling.md)."""
