"""From people's labels of some citations to a decision: estimate, label, gate."""
