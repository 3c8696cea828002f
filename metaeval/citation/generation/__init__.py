"""Answers with citations, written by a chat model from the documents of a question, for the pipelines to evaluate.

SCiFi's paper (arXiv 2406.06125) names the strategies; the wording of the prompts is ours.
"""
