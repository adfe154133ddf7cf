"""Encoders: texts in, unit vectors out."""
