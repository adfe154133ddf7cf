"""Tests of `firth.serve`."""
