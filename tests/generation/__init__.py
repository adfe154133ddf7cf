"""Tests of firth.generation."""
