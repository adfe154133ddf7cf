"""Tests of `firth.retrieve`."""
