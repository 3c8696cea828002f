"""Measures of support over graded levels: TREC RAG's, FACT's, LongCite's and open-rag-eval's."""
