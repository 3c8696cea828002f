"""The metrics: one file per family, each a plug-in that knows nothing of protocols or data sets."""
