"""Pipelines that judge the citations of model answers with any metric as the NLI backend."""
