"""Readers of documents, and the embedded store of documents and sentences."""
