"""Tests of `firth.relatedness.questionnaire`."""
