"""The user's own corpus file, in the format that `metaeval.corpus.corpus_file` documents."""

from __future__ import annotations

from metaeval.corpus.corpus_file import FORMAT, read_corpus
from metaeval.corpus.dataset import own_file

DATASET = own_file(
    read_corpus,
    f"a corpus file in the format {FORMAT}",
    name="jsonl",
    title="A corpus file of your own",
    schema=FORMAT,
    note="One JSON object per line; the format is documented in metaeval.corpus.corpus_file.",
)
