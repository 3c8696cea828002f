"""People's ratings of the statements of answers, and what pipelines say of the same statements."""
