"""The protocols: pure functions from (gold, scores, groups, pools) to estimates. They know no metric by name."""
