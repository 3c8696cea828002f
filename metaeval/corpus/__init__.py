"""What is judged: statements, documents, citations, gold levels; chunks, evidence, pairs, pools."""
