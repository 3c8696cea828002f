"""CiteEval's edit distance, fitted to people's ratings."""
