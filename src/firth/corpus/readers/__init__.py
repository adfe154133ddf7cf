"""One reader a format: a source as records and problems, of which none loses a good record."""
