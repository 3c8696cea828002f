"""SCiFi runs: from files to facts, values and sheets."""
