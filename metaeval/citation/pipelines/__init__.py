"""Citation pipelines with any metric as the judge: scores of systems, agreement with people, flips of rankings."""
