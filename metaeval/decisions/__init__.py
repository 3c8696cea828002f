"""Labels of people, the estimates that they support, and gates of releases."""
