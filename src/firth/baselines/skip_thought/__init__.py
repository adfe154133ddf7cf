"""Skip-thought vectors (Kiros et al. 2015): encode a sentence, write the ones before and after."""
