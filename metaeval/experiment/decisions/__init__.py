"""Scores as three-way decisions: how good they are, how well calibrated, how thresholds carry over."""
