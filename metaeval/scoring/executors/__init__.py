"""Executors, which score the blocks of a job: in this process, in several, or on a Ray cluster."""
