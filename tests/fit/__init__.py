"""Tests of `firth.fit`."""
