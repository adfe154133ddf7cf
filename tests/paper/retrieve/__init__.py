"""Tests of `firth.paper.retrieve`."""
