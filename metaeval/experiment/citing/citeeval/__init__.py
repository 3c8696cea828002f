"""CiteEval runs: from files to what a chat model says of citations, beside its baselines."""
