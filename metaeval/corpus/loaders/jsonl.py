"""The user's own corpus file, in the format that `metaeval.corpus.jsonl` documents."""

from __future__ import annotations

from metaeval.corpus.dataset import own_file
from metaeval.corpus.jsonl import FORMAT, read_corpus

DATASET = own_file(
    read_corpus,
    "jsonl",
    "A corpus file of your own",
    FORMAT,
    wanted=f"a corpus file in the format {FORMAT}",
    note="metaeval.corpus.jsonl.",
)
