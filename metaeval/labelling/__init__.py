"""Labels of people: the citations to be judged, what was said of them, and what pipelines ask of each claim."""
