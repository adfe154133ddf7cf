"""The scorer: similarity of two texts as a sum of explained parts."""
