"""Text in, units out: words, stems, n-grams, sentences, numbers, and how rare each word is."""
