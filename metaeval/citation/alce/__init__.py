"""ALCE (Gao et al. 2023): citation recall and precision of sentences, and its measures of correctness."""
