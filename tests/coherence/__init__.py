"""Tests of `firth.coherence`."""
