"""The metrics: one file per family, each a plug-in that is independent of protocols and data sets."""
