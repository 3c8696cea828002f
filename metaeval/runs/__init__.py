"""Jobs: from a configuration to pairs, scores, results and a folder with its manifest."""
