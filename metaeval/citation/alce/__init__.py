"""ALCE (Gao et al. 2023): citation recall and precision of sentences, and the measures of correctness beside them."""
