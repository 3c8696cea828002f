"""One run from settings to results: data to pairs, pairs to scores, scores to tables as data."""
