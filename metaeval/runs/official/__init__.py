"""Official packages, each in an environment of its own, run beside ours on the same weights."""
