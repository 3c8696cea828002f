"""GenSearch: statements of four generative search engines, judged against the pages that they cite."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metaeval.corpus.dataset import Dataset, Option, SourceFile
from metaeval.corpus.loaders.corpus_builder import Draft
from metaeval.corpus.loaders.gensearch_rows import add_judgement, add_response
from metaeval.corpus.loaders.rows import read_rows
from metaeval.corpus.model import Corpus

COMMIT = "main"
_RAW = f"https://raw.githubusercontent.com/nelson-liu/evaluating-verifiability-in-generative-search-engines/{COMMIT}"
_HALLS_COMMIT = "4e4484895a912df3e83f467fc73c3b694883addd"
_HALLS = (
    "https://raw.githubusercontent.com/liugz18/evaluating-verifiability-in-generative-search-engines/"
    f"{_HALLS_COMMIT}/intrinsic_halls.json"
)
_JUDGEMENTS = ("train", "dev", "test")


def _load(split: str, paths: Mapping[str, Path], options: Mapping[str, Any]) -> Corpus:
    draft = Draft(f"gensearch/{split}")
    for path in paths.values():
        for row in read_rows(path):
            if split in _JUDGEMENTS:
                add_judgement(draft, row, options)
            else:
                add_response(draft, row, options)
    return draft.corpus()


def _judgements(split: str) -> SourceFile:
    name = f"verifiability_judgments_{split}.jsonl.gz"
    return SourceFile(name, f"{_RAW}/verifiability_judgments/{name}")


DATASET = Dataset(
    name="gensearch",
    title="GenSearch: verifiability of generative search engines",
    origin="https://github.com/nelson-liu/evaluating-verifiability-in-generative-search-engines",
    commit=COMMIT,
    licence="MIT",
    citation="Liu, Zhang, Liang: Evaluating Verifiability in Generative Search Engines. Findings of EMNLP 2023, "
    "arXiv 2304.09848",
    schema="gensearch-judgements/1, gensearch-annotated-query-response/1",
    folder="gensearch",
    files={
        **{split: (_judgements(split),) for split in _JUDGEMENTS},
        "annotations": (
            SourceFile("human_evaluation_annotations.jsonl", f"{_RAW}/human_evaluation_annotations.jsonl"),
        ),
        "intrinsic_halls": (
            SourceFile(
                "intrinsic_halls.json",
                _HALLS,
                "c1bb0ebb2368e3513e686f003a1e36b987961c637b7ee6d85a0d61a4775c6980",
                568_677,
            ),
        ),
    },
    default_split="test",
    load=_load,
    options={
        "unusable": Option(
            "none",
            "citations that are inaccessible or whose statement is unclear: level none, or left out",
            ("none", "drop"),
        ),
        "also_refutes": Option(
            "none", "citations that completely support but also refute: level none, or full", ("none", "full")
        ),
        "page": Option(
            "source_raw_text",
            "a page's text without its formatting, or with it; the other one where it is empty",
            ("source_raw_text", "source_text"),
        ),
    },
    note="train, dev and test hold page texts and three levels: page applies there alone, the other two options do "
    "not. annotations and intrinsic_halls "
    "hold whole responses with six verdicts and no page text (documents have an empty text and a "
    "url); by default every verdict but the first two is NONE, as the origin's README counts them. intrinsic_halls is "
    "a third party's selection of 114 responses in which some citation also refutes: a biased sample, for trying "
    "things out. Every file but intrinsic_halls.json is read from branch main and has no pinned checksum. The group is "
    "the response.",
)
