"""Tests of `firth.paper.coherence`."""
