"""How well models tell relatedness: as they are, fine-tuned, across domains (Tables 5 and 6)."""
