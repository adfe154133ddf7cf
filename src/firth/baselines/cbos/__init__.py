"""CBOS (Yuan & Zhang) and Siamese CBOW (Kenter et al. 2016): sums of word vectors, taught by
the sentences next door."""
