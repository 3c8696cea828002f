"""Metrics held against each other: pairs, parts of the data, biases, likeness, joint gain, planning."""
