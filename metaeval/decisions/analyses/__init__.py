"""The analyses of labels and gates, declared."""
