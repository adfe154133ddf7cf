"""Tests of firth.corpus."""
