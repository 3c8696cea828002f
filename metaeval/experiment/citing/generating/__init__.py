"""Answers with citations, made by a chat model."""
