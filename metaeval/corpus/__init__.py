"""The judged data: statements, documents, citations, gold levels; chunks, evidence, pairs, pools."""
