"""Comparisons of metrics: pairs, subgroups of the data, biases, agreement, joint gain, planning."""
