"""Measures of support over graded levels: TREC RAG's and FACT's."""
