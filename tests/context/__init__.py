"""Tests of `firth.context`."""
