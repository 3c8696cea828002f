"""ALiiCE's claims written again by a chat model, and judged again."""
