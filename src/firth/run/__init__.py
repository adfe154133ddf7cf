"""Runs: stages on disk, configuration, and what all packages share."""
