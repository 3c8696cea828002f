"""The user's own corpus file, in the format that `metaeval.corpus.corpus_file` documents."""

from __future__ import annotations

from metaeval.corpus.corpus_file import FORMAT, read_corpus
from metaeval.corpus.dataset import own_file

DATASET = own_file(
    read_corpus,
    "jsonl",
    "A corpus file of your own",
    FORMAT,
    wanted=f"a corpus file in the format {FORMAT}",
    note="metaeval.corpus.corpus_file.",
)
