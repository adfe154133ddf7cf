"""What of one text stands in others: duplicates, re-tellings, and where they meet."""
