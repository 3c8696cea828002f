"""The figures: what is drawn of results, scores and sentences, in files that are the same byte for byte."""
