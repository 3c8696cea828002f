"""Formats of answers: one declaration each, and the registry that recognises them."""
