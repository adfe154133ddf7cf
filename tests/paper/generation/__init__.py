"""Tests of firth.paper.generation."""
