"""Layouts of the citation pipelines' tables."""
