"""Every file that enters metaeval, broken in every way: a table of readers, a table of faults, and what came of each.

`python -m tests.faults` runs all cases and prints the page docs/reference/faults.md. A case ends well when the reader
raises one sentence, or returns what it returns for the file without the fault. Everything else is counted in the two
last columns.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import logging
import os
import random
import re
import shutil
import signal
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from metaeval import parsing
from metaeval.citation.citeeval.citation_edits import ACTIONS
from metaeval.errors import UserError

LONGEST = 400
"""Most characters of a sentence that refuses a file."""

SECONDS = 20
"""A case that takes longer has no bound: it counts as a traceback."""

Place = Callable[[Path], object]
JSON = dict[str, Any] | list[Any]


@dataclass(frozen=True)
class Reader:
    """A way in: `read` reads the file `name`, whose sound content is `content`, and returns a value with a `repr`.

    content: a list of objects (JSON lines), another JSON value, or bytes. kind: lines, json, yaml, csv, text, parquet
    or sqlite. beside: other files that it needs. free: fields that are kept as they stand, whatever they hold.
    empty: whether an empty file says something. halves: whether half of a
    character may stand in its texts. refuses: what it raises. folder: the reader is given the folder of the file.
    """

    name: str
    file: str
    content: Any
    read: Callable[[Path], Any]
    kind: str = "lines"
    beside: Mapping[str, bytes] = field(default_factory=dict)
    free: tuple[str, ...] = ()
    empty: bool = False
    halves: bool = False
    refuses: tuple[type[Exception], ...] = (UserError,)

    @property
    def sound(self) -> bytes:
        """The bytes of the file without a fault."""
        return self.content if isinstance(self.content, bytes) else written(self.content, self.kind)


def written(value: Any, kind: str) -> bytes:
    """A value as a file of this kind; texts that begin with RAW are written without quotes."""
    lines = [json.dumps(row) for row in value] if kind == "lines" else [json.dumps(value)]
    return re.sub(rf'"{RAW}([^"]*)"', r"\1", "\n".join(lines) + "\n").replace("\\\\u", "\\u").encode()


RAW = "@raw@"
"""Stands before text that JSON has no value for: 1e999, half of a character."""


@dataclass(frozen=True)
class Case:
    """One fault of one file. place: makes the file under a path.

    may_be: contents whose reading this one's may equal. None: whatever is read is right, as the field says all of it;
    empty: the file has to be refused.
    """

    family: str
    label: str
    place: Place
    may_be: tuple[bytes, ...] | None = ()


def as_bytes(content: bytes) -> Place:
    """A file of these bytes."""
    return lambda path: path.write_bytes(content)


# The files themselves.

DOCUMENTS = [{"title": "Oder", "text": "The Oder is a long river."}, {"title": "", "text": "It rises in Moravia."}]
CORPUS = [
    {"type": "corpus", "format": "metaeval-corpus/1", "name": "mine", "dropped": {"unread": 1}, "meta": {"a": 1}},
    {"type": "document", "id": "d1", "sentences": ["Rain fell.", "The river rose."], "title": "Rain", "url": "u"},
    {"type": "document", "id": "d2", "text": "Nothing happened.", "meta": {"b": [1]}},
    {"type": "statement", "id": "s1", "text": "The river rose.", "group": "a", "system": "x", "meta": {"c": 1}},
    {
        **{"type": "citation", "id": "c1", "statement": "s1", "document": "d1", "level": "full"},
        **{"evidence": {"sentences": [0, 1]}, "meta": {"d": 2}},
    },
    {"type": "citation", "statement": "s1", "document": "d2", "level": "none", "evidence": {"texts": ["Nothing"]}},
]
RATINGS = [
    {"id": "r1", "group": "a", "gold": 0.5, "system": "x", "subset": "p", "text": "t", "scores": {"m": 0.7}},
    {"id": "r2", "group": "b", "gold": 1, "scores": {"m": None}},
]
WICE = [
    {
        **{"label": "supported", "claim": "The river rose.", "evidence": ["Rain fell.", "It rose."]},
        **{"supporting_sentences": [[0, 1]], "meta": {"id": "w1", "claim_title": "River", "claim_section": "a"}},
    }
]
EXPERTQA = json.loads(r"""
[{"question": "Why?", "annotator_id": "a1", "metadata": {"field": "Law"},
"answers": {"gpt4": {"answer_string": "It rose. It fell.", "claims": [{"claim_string": "It rose.",
"support": "Complete", "evidence": ["https://u\n\nIt rose a lot."]}, {"claim_string": "It fell.",
"support": "Incomplete", "evidence": ["https://v\n\nSnow."]}]}}}]
""")
FACTCHECK = [
    {"claim": "It rose.", "stance": "completely-support", "evidence": "It rose a lot."},
    {"claim": "It rose.", "stance": "refute", "evidence": "It fell."},
]
QASEM = [
    {
        **{"dataset": "verifiability", "source_id": "s-bing", "model": "m_1", "datasource": "d"},
        **{"summary": ["It", "rose", "."], "source": ["It", "rose", "."], "qas": [{"annotations": [0, 1, 0]}]},
    }
]
JUDGEMENTS = [
    {
        **{"statement": "It rose [1].", "query": "Why?", "response": "It rose [1].", "source_url": "u"},
        **{"source_supports_statement": "complete_support", "source_text": "It rose.", "source_title": "t"},
        **{"source_localized_evidence": "rose"},
    }
]
RESPONSES = json.loads(r"""
[{"id": "r1", "system_name": "bing", "query": "Why?", "response": "It rose [1].", "citations": [{"text": "[1]",
"link_target": "https://u", "start_index": 8}],
"annotation": {"statement_to_annotation": {"It rose [1].": {"citation_annotations": [{"citation_text": "[1]",
"citation_supports": "Citation Completely Supports Statement", "evidence": "rose"}]}}}}]
""")
FRANK = [
    {"hash": "h1", "model_name": "bart", "dataset": "cnndm", "split": "test", "Factuality": 0.5},
    {"hash": "h2", "model_name": "bart", "dataset": "bbc", "split": "valid", "Factuality": 1.0},
]
_FRANK_SCORES = ["Bleu", "METEOR", "Rouge 1", "Rouge 2", "Rouge L", "BertScore P", "BertScore R", "BertScore F1"]
_FRANK_SCORES += ["BertScore P Art", "BertScore R Art", "BertScore F1 Art", "FEQA", "QAGS", "Dep Entail", "FactCC"]
_FRANK_SCORES[1] = "Meteor"
FRANK_SCORES = [{"hash": name, "model_name": "bart", **dict.fromkeys(_FRANK_SCORES, 0.25)} for name in ("h1", "h2")]
XSUM = "system_bbcid,R1,R2,RL,BERTScore,Entailment,Faithful,Factual\n"
XSUM_SCORES = (XSUM + "ptgen_11,0.5,0.25,0.5,0.75,0.5,0.5,1\ntconvs2s_12,0.5,0.25,0.5,0.75,0.5,1.0,0\n").encode()
XSUM_SPANS = b'system,bbcid,summary\nPtGen,11,"It rose, a lot."\nTConvS2S,12,It fell.\n'
SCORES = [{"pair_id": "p1", "score": 0.5, "status": "ok", "tokens": 3, "cut": 0}, {"pair_id": "p2", "score": None}]
SCORES_MANIFEST = {"metric": "mine", "options": {"a": 1}}
ALCE = {"args": {"a": 1}, "data": []}  # filled below
_ALCE = {"id": "q1", "question": "Why?", "output": "It is long [1].", "docs": DOCUMENTS, "answer": "long"}
ALCE["data"] = [_ALCE, {**_ALCE, "id": "q2", "output": ["It is [2].", "No."]}]
OWN = [
    {
        **{"id": "a1", "question": "Why?", "text": "It is long [1].", "passages": DOCUMENTS, "group": "g"},
        **{"system": "x", "reference": {"answer": "long"}, "first": 1},
    },
    {"question": "Where?", "text": "It rises there [2].", "passages": DOCUMENTS},
]
SCIFI = [
    {
        **{"id": "s1", "query": "Why?", "paragraph": "A Dane built it.", "group": "g", "system": "x"},
        "citations": [{"position": 6, "document": 1}, {"position": 16, "document": 2}],
        **{"documents": DOCUMENTS, "output": "A Dane [1] did."},
    }
]
CRAG = [{"response": "r1", "topic": "t1", "text": "It is long [0].", "style": "news"}]
CRAG_PASSAGES = [{"topic": "t1", "query": "Why?", "references_texts": ["The Oder is long."], "references_ids": ["d1"]}]
SCHOLARQA = [{"id": 7, "input": "Why?", "output": "Long [0].", "ctxs": DOCUMENTS, "annotator": "a"}]
RATED = [
    {
        **{"id": "a1", "text": "It is long [1]. It is red.", "passages": DOCUMENTS, "group": "g"},
        "statements": [{"start": 0, "end": 15, "ratings": [1, 0.5, None]}, {"start": 16, "end": 26, "ratings": [0]}],
    }
]
GIVEN = [{"answer": "a1", "start": 0, "end": 15, "value": 0.5, "measure": "m"}, {"answer": "a1", "value": None}]
BENCH = [
    {
        **{"sample_idx": "b1", "query": "Why?", "prediction": "It is long [1].", "passages": DOCUMENTS},
        "prediction_sentences_and_citations": [{"id": "1", "sentence": "It is long.", "citations": [1]}],
    }
]
PEOPLE = {
    "b1": {
        "statements": {
            "1": {"citations": [1], "types": [1, 2, None], "ratings": [1, 0.5, None], "edits": [None, [], []]}
        }
    }
}
PARSES = {"It rose.": [{"text": "It", "dep": "nsubj", "head": 1}, {"text": "rose.", "dep": "ROOT", "head": 1}]}
COMPLETION = {
    **{"id": "c", "model": "m", "system_fingerprint": "f"},
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "2"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 1},
}
RECORDING = [
    {
        "request": {"model": "m", "messages": [{"role": "user", "content": "Why?"}], "temperature": 0},
        **{"sample": 0, "reply": COMPLETION},
    },
    {
        "request": {"model": "m", "messages": [{"role": "user", "content": "How?"}]},
        **{"sample": 0, "failure": {"cause": "too long", "detail": "d"}},
    },
]
PROMPT = b"Does the source say it?\n{statement}\n{source}\n"
CONFIG = b"""dataset: mini
split: all
unit: chunk
pool: own
metrics: [overlap, rouge]
protocols: [correlation]
chunk: {size: 60, mode: sentences}
aggregate: max
evidence: {rule: complete, threshold: 0.5}
interval: {resamples: 30, seed: 3, level: 0.9, method: percentile}
comparison: {permutations: 30, alpha: 0.05}
metric_options: {overlap: {content_only: true}}
results: results
controls: true
"""
SUITE = CONFIG.replace(b"dataset: mini\nsplit: all", b"datasets: [mini, {dataset: wice, split: dev}]")
PAPER = b"nli: overlap\nprofile: released\nparser: small\nthreshold: '0.5'\n"
METRIC_VARIANT = b"metric: overlap\noptions: {content_only: false}\nnote: all words\n"
DATASET_VARIANT = b"dataset: wice\nsplit: dev\noptions: {a: b}\nnote: dev\n"
COEFFICIENTS = {
    "schema": "metaeval-coefficients/1",
    "action": dict.fromkeys(ACTIONS, 0.5),
    "intercept": 0.25,
    "made": {"index_shift": False, "n": 3},
}
_DATA = {
    **{"name": "mini", "split": "all", "fingerprint": "1f3a", "statements": 3, "documents": 2, "citations": 4},
    **{"groups": 2, "levels": {"full": 2}, "dropped": {"unread": 1}, "evidence": {"matched": 1}},
}
_SIGNATURE = "data:mini/all@1f3a|unit:chunk|metric:overlap@v1|proto:correlation|B:30|seed:0"
RESULT = {
    **{"schema": "metaeval-result/2", "protocol": "correlation", "title": "How scores follow levels", "unit": "chunk"},
    **{"settings": {"ties": "half"}, "data": _DATA, "published": "a paper"},
    "interval": {"resamples": 30, "seed": 0, "level": 0.95, "method": "percentile"},
    "columns": [{"key": "pearson", "label": "Pearson r", "scale": 1.0, "digits": 3}],
    "rows": [
        {
            **{"metric": "overlap", "kind": "metric", "total": 5, "scored": 3, "unscored": 1, "signature": _SIGNATURE},
            **{"excluded": {"empty": 1}, "statuses": {"failed": 1}, "not_above": {"pearson": ["random"]}},
            "values": {"pearson": {"value": 0.5, "low": 0.25, "high": 0.75, "ties": [0.5, 0.5], "note": "n"}},
            "ledger": {"pairs": 3, "tokens": 30, "cut_pairs": 0, "cut_tokens": 0},
            **{"letters": {"pearson": "a"}, "ranks": {"pearson": [1, 1]}, "warnings": ["few"]},
        }
    ],
    "ceilings": {"pearson": {"binary": 0.75}},
    "significance": {"permutations": 30, "seed": 0, "alpha": 0.05, "comparisons": []},
}
SHEET = {
    **{"schema": "metaeval-sheet/1", "name": "calibration", "data": _DATA, "signatures": [_SIGNATURE]},
    "settings": {"target": "full", "folds": 5},
    "records": [{"metric": "overlap", "threshold": 0.5, "rows": 3}],
}
MANIFEST = {"files": {"table.csv": "0" * 64}, "earlier": {"old.csv": "1" * 64}, "config": {}}
INDEX = {"metadata": {"size": 3}, "weight_map": {"a": "model-1.safetensors"}}


def parquet_of(**columns: Any) -> bytes:
    """A Parquet file of these columns."""
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), file)
    return file.getvalue()


def database_of(make: Callable[[Path], object]) -> bytes:
    """The bytes of the database that `make` makes under a path."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.sqlite"
        make(path)
        return path.read_bytes()


def readers() -> list[Reader]:
    """Every way in."""
    from metaeval.citation.citeeval.citation_edits import read_coefficients
    from metaeval.citation.data_model import Answer
    from metaeval.citation.human.rating_files import read_human, read_human_set, read_score_file, read_statements
    from metaeval.citation.parsers.dependency_parsers import read_parses
    from metaeval.citation.pipelines.aliice_paper import read_paper
    from metaeval.citation.readers.answer_files import gather, read_answers, read_questions
    from metaeval.config import load_run
    from metaeval.corpus.corpus_file import read_corpus
    from metaeval.corpus.loaders import expertqa, factcheck_gpt, frank, gensearch, qasem, wice, xsum_hallucination
    from metaeval.corpus.loaders.ratings import read_ratings
    from metaeval.llm.messages import read_prompt, read_reply
    from metaeval.report.result import load_result
    from metaeval.report.table_files import load_table
    from metaeval.scoring.backends.checkpoint import _unmet
    from metaeval.scoring.score_files import read_scores
    from metaeval.yaml_variants import dataset_variant, metric_variant
    from tests.analyses.suites import read_suite

    def loader(module: Any, split: str, *names: str) -> Callable[[Path], Any]:
        options = {name: option.default for name, option in module.DATASET.options.items()}

        def load(path: Path) -> Any:
            return module.DATASET.load(split, {name: path.parent / name for name in names or (path.name,)}, options)

        return load

    answers: dict[str, Any] = {"halves": True}
    rated = {"a1": Answer("a1", RATED[0]["text"], ())}
    return [
        Reader("corpus", "c.jsonl", CORPUS, read_corpus, free=("meta",)),
        Reader("ratings", "r.jsonl", RATINGS, read_ratings),
        Reader("WiCE", "test.jsonl", WICE, loader(wice, "test"), free=("supporting_sentences",)),
        Reader("ExpertQA", "e.jsonl", EXPERTQA, loader(expertqa, "all"), free=("answer_string",)),
        Reader("Factcheck-GPT", "f.jsonl", FACTCHECK, loader(factcheck_gpt, "all")),
        Reader("QASem", "q.jsonl", QASEM, loader(qasem, "dev"), free=("summary",)),
        Reader("GenSearch judgements", "g.jsonl", JUDGEMENTS, loader(gensearch, "dev")),
        Reader("GenSearch responses", "g.jsonl", RESPONSES, loader(gensearch, "intrinsic_halls")),
        *(
            Reader(
                *("FRANK " + what, file, content, loader(frank, "all", frank.HUMAN, frank.SCORES)),
                kind="json",
                beside={frank.HUMAN: written(FRANK, "json"), frank.SCORES: written(FRANK_SCORES, "json")},
            )
            for what, file, content in (("ratings", frank.HUMAN, FRANK), ("scores", frank.SCORES, FRANK_SCORES))
        ),
        *(
            Reader(
                *("XSum " + what, file, content),
                loader(xsum_hallucination, "all", xsum_hallucination.SCORES, xsum_hallucination.SPANS),
                kind="csv",
                beside={xsum_hallucination.SCORES: XSUM_SCORES, xsum_hallucination.SPANS: XSUM_SPANS},
            )
            for what, file, content in (
                ("scores", xsum_hallucination.SCORES, XSUM_SCORES),
                ("spans", xsum_hallucination.SPANS, XSUM_SPANS),
            )
        ),
        Reader("scores, JSON lines", "s.jsonl", SCORES, read_scores),
        Reader(
            *("scores, Parquet", "s.parquet", parquet_of(pair_id=["p1", "p2"], score=[0.5, None]), read_scores),
            kind="parquet",
        ),
        Reader(
            *("manifest of scores", "s.jsonl.manifest.json", SCORES_MANIFEST),
            lambda path: read_scores(path.with_name("s.jsonl"))[0].metric,
            kind="json",
            beside={"s.jsonl": written(SCORES, "lines")},
            free=("options", "metric"),
        ),
        Reader("answers, ALCE", "a.json", ALCE, read_answers, "json", free=("args", "answer"), **answers),
        Reader("answers, ALCE as a list", "a.json", ALCE["data"], read_answers, "json", free=("answer",), **answers),
        Reader("answers, JSONL", "a.jsonl", OWN, lambda path: gather([path]), free=("answer",), **answers),
        Reader("answers, SCiFi", "a.jsonl", SCIFI, read_answers, **answers),
        Reader(
            *("answers, CRAG-25", "s_responses.jsonl", CRAG, lambda path: read_answers(path, "crag25")),
            beside={"s_retrieval.jsonl": written(CRAG_PASSAGES, "lines")},
            **answers,
        ),
        Reader(
            *("passages, CRAG-25", "s_retrieval.jsonl", CRAG_PASSAGES),
            lambda path: read_answers(path.with_name("s_responses.jsonl"), "crag25"),
            beside={"s_responses.jsonl": written(CRAG, "lines")},
        ),
        Reader("answers, ScholarQABench", "a.json", SCHOLARQA, read_answers, "json", free=("text",), **answers),
        Reader("answers, ExpertQA", "a.jsonl", EXPERTQA, lambda path: read_answers(path, "expertqa"), **answers),
        Reader("questions", "q.jsonl", OWN, read_questions, free=("answer", "text"), **answers),
        Reader("human ratings, JSONL", "h.jsonl", RATED, lambda path: read_human_set([path])),
        Reader("human ratings, ExpertQA", "h.jsonl", EXPERTQA, lambda path: read_human_set([path])),
        Reader("scores of spans", "g.jsonl", GIVEN, lambda path: read_score_file(path, rated)),
        Reader("CiteBench responses", "b.citeeval", BENCH, read_statements, "json"),
        Reader("CiteBench judgements", "b.json", PEOPLE, read_human, "json", free=("edits",)),
        Reader("stored parses", "p.json", PARSES, read_parses, "json"),
        Reader("recording", "r.jsonl", RECORDING, replies_of, free=("request", "messages"), halves=True),
        Reader("prompt", "p.txt", PROMPT, lambda path: read_prompt(path, ("statement", "source")), "text"),
        Reader("experiment", "e.yaml", CONFIG, lambda path: load_run(path, {}), "yaml", empty=True),
        Reader("suite", "s.yaml", SUITE, lambda path: read_suite(path, {}), "yaml", empty=True),
        Reader("experiment of ALiiCE", "a.yaml", PAPER, lambda path: read_paper(path, {}), "yaml", empty=True),
        Reader("metric variant", "v.yaml", METRIC_VARIANT, metric_variant, "yaml"),
        Reader("data-set variant", "v.yaml", DATASET_VARIANT, dataset_variant, "yaml"),
        Reader("calibration", "c.json", SHEET, load_table, "json", free=("settings", "records")),
        Reader("coefficients", "c.json", COEFFICIENTS, read_coefficients, "json", free=("made",)),
        Reader("result", "r.json", RESULT, load_result, "json", free=("settings",)),
        Reader(
            *("manifest of results", "manifest.json", MANIFEST),
            checked_by_manifest,
            kind="json",
            beside={"table.csv": b"1"},
            free=("*",),
            empty=True,
        ),
        Reader(
            *("index of weights", "m.index.json", INDEX, lambda path: _unmet(path.parent, (path.name, "config.json"))),
            kind="json",
            free=("weight_map",),
        ),
        Reader("score store", "s.sqlite", database_of(score_store), read_score_store, "sqlite"),
        Reader("reply store", "r.sqlite", database_of(reply_store), read_reply_store, "sqlite"),
        Reader(
            *(
                "chat reply",
                "c.json",
                COMPLETION,
                lambda path: replace(read_reply(path.read_text("utf-8", "replace")), raw=""),
            ),
            kind="reply",
            halves=True,
            refuses=(ValueError,),
            free=("message", "prompt_tokens", "completion_tokens", "usage"),
        ),
    ]


def replies_of(path: Path) -> Any:
    """Every recorded reply, by the request that it answers."""
    from metaeval.citation.chat_models import Replay
    from metaeval.llm.messages import ChatRequest, Reply

    answers = Replay(path)([ChatRequest(row["request"], 0) for row in RECORDING])
    return [replace(one, raw="") if isinstance(one, Reply) else one for one in answers]


PAIRS = (b"p" * 16, b"q" * 16)
IDENTITY = {"name": "overlap", "version": 1}


def checked_by_manifest(path: Path) -> Any:
    """What a manifest says of the file beside it; one that cannot be read says so, and stops nothing."""
    from metaeval.runs.job_folder import Kept, check

    kept = check(path.with_name("table.csv"))
    if kept is Kept.UNREADABLE:
        raise UserError(str(kept))
    return kept


def score_store(path: Path) -> None:
    """A store of two scores."""
    from metaeval.scoring.contract import PairScore
    from metaeval.scoring.score_store import ScoreStore

    with ScoreStore(path) as store:
        store.put(IDENTITY, [(PAIRS[0], PairScore(0.5)), (PAIRS[1], PairScore(0.25))])


def read_score_store(path: Path) -> Any:
    """What a store holds of two pairs."""
    from metaeval.scoring.score_store import ScoreStore

    with ScoreStore(path) as store:
        return store.find(IDENTITY, PAIRS)


def reply_store(path: Path) -> None:
    """A store of one reply."""
    from metaeval.llm.messages import ChatRequest, read_reply
    from metaeval.llm.reply_store import ReplyStore

    with ReplyStore(path) as store:
        reply = read_reply(json.dumps(COMPLETION))
        store.put(PAIRS[0], "http://127.0.0.1/v1", ChatRequest({"model": "m", "messages": []}), reply, 1.0)


def read_reply_store(path: Path) -> Any:
    """What a store holds of one request."""
    from metaeval.llm.reply_store import ReplyStore

    with ReplyStore(path) as store:
        return store.find(PAIRS[0])


# The faults.


def of_files(reader: Reader) -> Iterator[Case]:
    """What stands under the name is no file that can be read."""
    for label, place in {
        "missing": lambda path: None,
        "folder": lambda path: path.mkdir(),
        "device": lambda path: path.symlink_to("/dev/zero"),
        "device without end": lambda path: path.symlink_to("/dev/urandom"),
        "pipe without a writer": os.mkfifo,
        "link to itself": lambda path: path.symlink_to(path.name),
        "no permission": lambda path: path.symlink_to("/proc/self/mem"),  # root may read every other file
    }.items():
        may_be = None if reader.name in MAY_BE_MISSING or (label == "missing" and reader.kind == "sqlite") else ()
        yield Case("no such file" if label == "missing" else "no plain file", label, place, may_be)


MAY_BE_MISSING = ("manifest of scores", "manifest of results")
"""These stand beside a file, and say that there is nothing to say where they cannot be read."""


def of_bytes(reader: Reader) -> Iterator[Case]:
    """Bytes that are not the text, or not all of it."""
    sound, kind = reader.sound, reader.kind
    binary = kind in ("parquet", "sqlite")
    whatever = None if reader.empty else ()
    yield Case("empty", "no bytes", as_bytes(b""), None if kind == "sqlite" else whatever)
    yield Case("empty", "white space", as_bytes(b" \r\n\t\n"), whatever)
    middle = len(sound) // 2
    yield Case("cut", "in the middle", as_bytes(sound[:middle]), None if kind in ("yaml", "text") else ())
    yield Case("cut", "after one byte", as_bytes(sound[:1]), None if kind in ("yaml", "text") else ())
    yield Case("cut", "the first half is missing", as_bytes(sound[middle:]), None if kind in ("yaml", "text") else ())
    yield Case("another format", "PNG", as_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8))
    yield Case("another format", "NULs", as_bytes(bytes(1000)), None if kind == "text" else ())
    yield Case("another format", "HTML", as_bytes(b"<!doctype html>\n<title>404</title>\n"), whatever)
    if binary:
        return
    read_as_text = reader.refuses == (UserError,)  # a reply comes as text, not as a file
    same = (sound,)
    if read_as_text:
        yield Case("not UTF-8", "Latin-1", as_bytes(sound[:middle] + b"\xe9" + sound[middle:]))
        yield Case("not UTF-8", "UTF-16", as_bytes(sound.decode().encode("utf-16")))
        yield Case("not UTF-8", "half of a character", as_bytes(sound + b"\xf0\x9f"))
        yield Case("byte-order mark", "UTF-8", as_bytes(b"\xef\xbb\xbf" + sound), same)
        packed = gzip.compress(sound, mtime=0)
        yield Case("gzip", "whole", as_bytes(packed), same)
        yield Case("gzip", "two members", as_bytes(gzip.compress(sound[:9]) + gzip.compress(sound[9:])), same)
        for label, broken in {
            "cut": packed[:-12],
            "wrong checksum": packed[:-8] + bytes(8),
            "flipped bit": packed[:20] + bytes([packed[20] ^ 64]) + packed[21:],
            "the two first bytes": packed[:2],
            "bytes behind it": packed + b"\x1f\x8bmore",
        }.items():
            yield Case("broken gzip", label, as_bytes(broken), () if label != "flipped bit" else same)
        yield Case("gzip bomb", "zeros", as_bytes(BOMB))
        yield Case("gzip bomb", "blank lines", as_bytes(BLANK_BOMB))
        yield Case("gzip bomb", "in gzip", as_bytes(gzip.compress(BOMB)))
    yield Case("line ends", "CRLF", as_bytes(sound.replace(b"\n", b"\r\n")), None if kind == "csv" else same)
    if kind in ("lines", "json", "yaml"):
        blank = b"\n" * 2_000_000
        same = () if kind == "yaml" else same  # more than a YAML text may hold
        yield Case("2,000,000 blank lines", "before", as_bytes(blank + sound), same)
        yield Case("2,000,000 blank lines", "behind", as_bytes(sound + blank), same)


BOMB = gzip.compress(bytes(20_000_000), mtime=0)
BLANK_BOMB = gzip.compress(b"\n" * 20_000_000, mtime=0)

DEEP = 100_000


def of_json(reader: Reader) -> Iterator[Case]:
    """JSON that is none, is over a limit, or says two things."""
    sound = reader.sound
    for label, content in {
        "lists": b"[" * DEEP + b"]" * DEEP,
        "objects": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
        "open lists": b"[" * DEEP,
        "in a list": b'[{"a":' + b"[" * DEEP + b"]" * DEEP + b"}]",
    }.items():
        yield Case("100,000 deep", label, as_bytes(content))
    for label, text in {"number": "3", "text": '"a"', "null": "null", "list of numbers": "[1]", "true": "true"}.items():
        yield Case("another value", label, as_bytes(text.encode()))
    for label, content in {
        "single quotes": b"{'a': 1}",
        "comma at the end": sound.rstrip()[:-1] + b",}",
        "text behind": sound.rstrip() + b" x",
        "comment": b"// a comment\n" + sound,
        "control character": sound.replace(b'": "', b'": "\x01', 1),
        "NUL": sound + b"\0",
    }.items():
        yield Case("not JSON", label, as_bytes(content), None if content == sound else ())
    for path in paths_of(reader):
        name = path[-1]
        if isinstance(name, str):
            doubled = re.sub(rb'("%s": )' % re.escape(name.encode()), rb"\1null, \1", sound, count=1)
            if doubled != sound:
                yield Case("field twice", dotted(path), as_bytes(doubled))


def paths_of(reader: Reader) -> list[tuple[str | int, ...]]:
    """The places of all values in a JSON file, of each list the first two."""
    found: list[tuple[str | int, ...]] = []

    def walk(value: Any, path: tuple[str | int, ...]) -> None:
        if path:
            found.append(path)
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for name, inner in items:
            if path == () or isinstance(value, dict) or name < 1:
                walk(inner, (*path, name))

    walk(reader.content, ())
    return [path for path in found if not (reader.kind == "lines" and len(path) == 1)]


def dotted(path: Sequence[str | int]) -> str:
    """A place in words."""
    return ".".join(map(str, path))[:80]


def put(content: Any, path: Sequence[str | int], value: Any) -> Any:
    """A JSON value with another value at a place; GONE: with none."""
    if not path:
        return value
    name, *rest = path
    items = list(content.items() if isinstance(content, dict) else enumerate(content))
    changed = [(key, put(one, rest, value) if key == name else one) for key, one in items]
    changed = [(key, one) for key, one in changed if one is not GONE]
    return dict(changed) if isinstance(content, dict) else [one for _, one in changed]


GONE = object()
LONG = "x" * 100_000
MAPS = frozenset(
    "dropped scores reference levels evidence statuses excluded settings values not_above letters ranks ceilings "
    "answers statement_to_annotation made files earlier pearson statements asqa chat action records meta request "
    "b1".split()
)
"""Objects of names that the user chooses: one name more is one thing more."""

NULL_SAYS = frozenset(("m", "support", "ratings", "types", "value", "low", "high", "ties", "bounds", "ledger"))
"""Fields in which null says that there is none."""

EITHER = frozenset(("id", "sample_idx", "hash", "source_id", "output"))
"""A number or a text; a text or a list of texts."""

OF_ANOTHER_TYPE: Mapping[str, Any] = {
    "null": None, "true": True, "number": 17, "fraction": 1.5, "negative": -1, "text": "qq", "empty text": "",
    "empty list": [], "empty object": {}, "list of lists": [[1]], "object": {"a": [1]},
}  # fmt: skip
RAW_NUMBERS = {"1e999": "1e999", "NaN": "NaN", "Infinity": "-Infinity", "6,000 digits": "9" * 6000, "1e400": "-1e400"}


def of_fields(reader: Reader) -> Iterator[Case]:
    """A field that holds something else than it should, in a file that is JSON."""
    same = (reader.sound,)

    def at(path: Sequence[str | int], value: Any) -> bytes:
        return written(put(reader.content, path, value), reader.kind)

    for path in paths_of(reader):
        was = reader.content
        for name in path:
            was = was[name]
        free = "*" in reader.free or any(name in reader.free for name in path)
        gone = at(path, GONE)
        where = dotted(path)
        if isinstance(path[-1], str):
            yield Case("field missing", where, as_bytes(gone), None)
        for label, value in OF_ANOTHER_TYPE.items():
            if type(value) is type(was) or (type(value) in (int, float) and type(was) in (int, float)):
                continue
            text = str(value) if type(value) in (int, float) else was
            nothing = ([], {}, "") if value in (None, "") else ()
            says = was is None or (value is None and not NULL_SAYS.isdisjoint(path)) or path[-1] in EITHER
            right = free or (says and value is not True and not isinstance(value, list | dict))
            may_be = None if right else (*same, gone, at(path, text), *(at(path, other) for other in nothing))
            yield Case("wrong type", f"{where}: {label}", as_bytes(at(path, value)), may_be)
        for label, raw in RAW_NUMBERS.items():
            may_be = () if "6,000" in label and reader.refuses != (ValueError,) else None if free else same
            yield Case("impossible number", f"{where}: {label}", as_bytes(at(path, RAW + raw)), may_be)
        if isinstance(was, str):
            yield Case(
                *("half of a character", where, as_bytes(at(path, "HALF").replace(b"HALF", b"\\ud83d"))),
                None if reader.halves else (),
            )
            yield Case("huge text", where, as_bytes(at(path, LONG)), None)
            yield Case("control characters", where, as_bytes(at(path, f"\x1b]52;c;eA==\x07\u202e{was}\n\0")), None)
        if isinstance(was, dict) and was:
            yield Case(
                "field more", where, as_bytes(at(path, {**was, "zz": 1})), None if free or path[-1] in MAPS else same
            )
            yield Case("field more", f"{where}: huge", as_bytes(at(path, {**was, LONG: 1})), None)
    if reader.kind == "lines":
        twice = [row for row in reader.content for _ in range(2)]
        yield Case("row twice", "all", as_bytes(written(twice, "lines")), None)


def of_versions(reader: Reader) -> Iterator[Case]:
    """A schema that this version does not know."""
    if reader.kind == "json" and isinstance(reader.content, dict) and "schema" in reader.content:
        for label, value in {
            "newer": reader.content["schema"][:-1] + "99",
            "unknown": "x/1",
            "number": 2,
            "null": None,
            "list": ["metaeval-result/2"],
            "true": True,
        }.items():
            changed = written({**reader.content, "schema": value}, "json")
            yield Case("schema", label, as_bytes(changed))
    if reader.name == "corpus":
        for label, value in {"newer": "metaeval-corpus/2", "unknown": "x/1", "number": 1}.items():
            yield Case("schema", label, as_bytes(written(put(CORPUS, (0, "format"), value), "lines")))
    if reader.kind == "sqlite":
        for label, value in {"newer": 99, "negative": -1}.items():
            yield Case(
                "schema", label, lambda path, value=value: changed_store(reader, path, f"PRAGMA user_version={value}")
            )


def changed_store(reader: Reader, path: Path, *statements: str) -> None:
    """A store that somebody changed by hand."""
    path.write_bytes(reader.sound)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def of_stores(reader: Reader) -> Iterator[Case]:
    """Rows that nobody can have written, and tables that are not there."""
    table = "scores" if reader.name == "score store" else "replies"
    column = "score" if table == "scores" else "reply"
    for label, statement in {
        "text for a score": f"UPDATE {table} SET {column} = 'x'",
        "infinity": f"UPDATE {table} SET {column} = 9e999",
        "no checksum": f"UPDATE {table} SET checksum = NULL",
        "text for a checksum": f"UPDATE {table} SET checksum = 'x'",
        "bytes": f"UPDATE {table} SET {column} = x'ff00'",
        "no rows": f"DELETE FROM {table}",
    }.items():
        yield Case("damaged row", label, lambda path, do=statement: changed_store(reader, path, do), None)
    for label, statements in {
        "dropped": [f"DROP TABLE {table}"],
        "of something else": [f"DROP TABLE {table}", f"CREATE TABLE {table} (player TEXT)"],
        "a column less": [f"ALTER TABLE {table} DROP COLUMN checksum"],
    }.items():
        yield Case("damaged table", label, lambda path, do=statements: changed_store(reader, path, *do))
    for share in (0.05, 0.3, 0.5, 0.7, 0.95):
        place = int(share * len(reader.sound))
        flipped = bytearray(reader.sound)
        flipped[place : place + 64] = bytes(64)
        yield Case("damaged bytes", f"64 zeros at {share}", as_bytes(bytes(flipped)), None)


def of_parquet(reader: Reader) -> Iterator[Case]:
    """Columns of other types than those of scores."""
    ids, scores = ["p1", "p2"], [0.5, None]
    for label, columns in {
        "numbers for ids": {"pair_id": [1, 2], "score": scores},
        "text for scores": {"pair_id": ids, "score": ["0.5", "x"]},
        "truth for scores": {"pair_id": ids, "score": [True, None]},
        "lists for scores": {"pair_id": ids, "score": [[0.5], None]},
        "infinite scores": {"pair_id": ids, "score": [float("inf"), None]},
        "not numbers": {"pair_id": ids, "score": [float("nan"), None]},
        "bytes for ids": {"pair_id": [b"p1", b"p2"], "score": scores},
        "no ids": {"score": scores},
        "no scores": {"pair_id": ids},
        "no rows": {"pair_id": pyarrow.array([], pyarrow.string()), "score": pyarrow.array([], pyarrow.float64())},
        "ids twice": {"pair_id": ["p1", "p1"], "score": scores},
        "huge ids twice": {"pair_id": [LONG, LONG], "score": scores},
        "unknown status": {"pair_id": ids, "score": scores, "status": [LONG, "ok"]},
        "status against score": {"pair_id": ids, "score": scores, "status": ["failed", "ok"]},
    }.items():
        yield Case("wrong type", label, as_bytes(parquet_of(**columns)))
    huge = parquet_of(pair_id=["x" * 1000] * 50_000, score=[0.5] * 50_000)
    yield Case("huge text", "one id in 50,000 rows", as_bytes(huge))
    for share in (0.02, 0.3, 0.6, 0.9):
        place = int(share * len(reader.sound))
        flipped = bytearray(reader.sound)
        flipped[place : place + 8] = b"\xff" * 8
        yield Case("damaged bytes", f"8 bytes at {share}", as_bytes(bytes(flipped)), None)


ALIASES = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGES = "a: &a {x: 1}\n" + "".join(
    f"{name}: &{name} {{<<: [{','.join([f'*{before}'] * 10)}]}}\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
YAML_VALUES = {
    "octal": "010", "1e999": "1e999", "not a number": ".nan", "6,000 digits": "9" * 6000, "deep": "[" * DEEP,
    "tag": "!!python/object/apply:os.system [ls]", "alias of itself": "&x [*x]", "alias of nothing": "*nothing",
    "open": "[1", "NUL": '"a\\0b"', "half of a character": '"\\ud83d"',
}  # fmt: skip
YAML_TYPES = {
    "true": "true", "null": "~", "negative": "-1", "fraction": "0.3333", "text": "qqq", "list": "[[1]]",
    "mapping": "{1: 2}", "huge text": LONG, "huge key": f"{{? {LONG} : 1}}", "date": "2024-13-45", "minutes": "1:30",
    "control characters": '"\\e]52;c;eA==\\a\\u202e"',
}  # fmt: skip


def of_yaml(reader: Reader) -> Iterator[Case]:
    """YAML that is none, is over a limit, or can be read in two ways."""
    for label, text in {"aliases": ALIASES, "merges": MERGES, "megabytes": f"a: {LONG * 20}"}.items():
        yield Case("YAML bomb", label, as_bytes(text.encode()))
    for label, text in {"list": "- a", "text": "a", "number key": "1: 2", "two documents": "a: 1\n---\nb: 2"}.items():
        yield Case("another value", label, as_bytes(text.encode()))
    lines = reader.sound.decode().splitlines()
    for number, line in enumerate(lines):
        name = line.partition(":")[0]

        def with_line(text: str, number: int = number) -> bytes:
            return "\n".join([*lines[:number], text, *lines[number + 1 :]]).encode()

        yield Case("field twice", name, as_bytes(with_line(f"{line}\n{line}")))
        yield Case("field missing", name, as_bytes(with_line("")), None)
        yield Case("field more", name, as_bytes(with_line(f"{line}\nzz{name}: 1")))
        for label, value in YAML_VALUES.items():
            if label == "deep" and number:  # half a second each
                continue
            yield Case("doubtful YAML", f"{name}: {label}", as_bytes(with_line(f"{name}: {value}")))
        for label, value in YAML_TYPES.items():
            yield Case("wrong type", f"{name}: {label}", as_bytes(with_line(f"{name}: {value}")), None)


def of_text(reader: Reader) -> Iterator[Case]:
    """Prompts."""
    yield Case("field missing", "lacks the source", as_bytes(b"{statement}"))
    yield Case("field missing", "capital letters", as_bytes(b"{Statement} {SOURCE}"))
    yield Case("huge text", "2 MB", as_bytes(reader.sound + LONG.encode() * 20), None)


FAMILIES: Mapping[str, Sequence[Callable[[Reader], Iterator[Case]]]] = {
    "lines": (of_files, of_bytes, of_json, of_fields, of_versions),
    "json": (of_files, of_bytes, of_json, of_fields, of_versions),
    "reply": (of_bytes, of_json, of_fields),
    "yaml": (of_files, of_bytes, of_yaml),
    "csv": (of_files, of_bytes),
    "text": (of_files, of_bytes, of_text),
    "parquet": (of_files, of_bytes, of_parquet),
    "sqlite": (of_files, of_bytes, of_versions, of_stores),
}


def cases(reader: Reader) -> Iterator[Case]:
    """Every fault of a reader's file."""
    for family in FAMILIES[reader.kind]:
        yield from family(reader)


def mutations(reader: Reader, seed: int, times: int) -> Iterator[Case]:
    """Random changes of the bytes: flipped, cut out, said again, replaced by what parsers stumble over."""
    rng = random.Random(f"{seed} {reader.name}")
    spice = [*(bytes([one]) for one in b'"{}[],:\\\n\0\xff'), b"null", b"true", b"-1", b"1e999"]
    for number in range(times):
        content = bytearray(reader.sound)
        for _ in range(rng.randint(1, 4)):
            start = rng.randrange(len(content) + 1)
            end = min(len(content), start + rng.randint(0, 12))
            content[start:end] = rng.choice([b"", bytes(content[start:end]) * 2, rng.choice(spice), rng.randbytes(2)])
        yield Case("random", f"{seed}/{number}", as_bytes(bytes(content)), None)


# What came of each.


@dataclass(frozen=True)
class Outcome:
    """How a case ended: "sentence", "read", "traceback" or "wrong"; said: the sentence, or what is wrong."""

    reader: str
    case: Case
    ended: str
    said: str = ""

    def __str__(self) -> str:
        return f"{self.ended}: {self.reader} | {self.case.family} | {self.case.label} | {self.said[:300]}"


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class _TooLongError(Exception):
    pass


@contextlib.contextmanager
def _bounded() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise _TooLongError(f"longer than {SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Bench:
    """A folder in which each case's file is placed and read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[tuple[str, bytes], str | None] = {}

    def _read(self, reader: Reader, place: Place) -> str:
        folder = self._folder / "here"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name, content in reader.beside.items():
            if name != reader.file:
                (folder / name).write_bytes(content)
        path = folder / reader.file
        place(path)
        with _bounded():
            return repr(reader.read(path))

    def sound(self, reader: Reader, content: bytes) -> str | None:
        """What is read of a file; None where it is refused."""
        key = reader.name, content
        if key not in self._known:
            try:
                self._known[key] = self._read(reader, as_bytes(content))
            except reader.refuses:
                self._known[key] = None
        return self._known[key]

    def outcome(self, reader: Reader, case: Case) -> Outcome:
        """Place the file, read it, and judge what came."""
        try:
            value = self._read(reader, case.place)
        except reader.refuses as error:
            said = str(error)
            if len(said) > LONGEST and reader.refuses == (UserError,):
                return Outcome(reader.name, case, "traceback", f"a sentence of {len(said):,} characters: {said}")
            if _CONTROL.search(said) and reader.refuses == (UserError,):
                return Outcome(reader.name, case, "traceback", f"control characters in {said!r}")
            return Outcome(reader.name, case, "sentence", said)
        except Exception as error:  # noqa: BLE001 - what a fault makes of a reader is what is asked
            return Outcome(reader.name, case, "traceback", f"{type(error).__name__}: {error}")
        if case.may_be is not None and not any(value == self.sound(reader, content) for content in case.may_be):
            return Outcome(reader.name, case, "wrong", value)
        return Outcome(reader.name, case, "read")


@contextlib.contextmanager
def bench() -> Iterator[Bench]:
    """A bench in a folder of its own, with small limits, and nothing logged."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="faults-") as folder:
        patch.setattr(parsing, "_FREE", 1 << 20)
        patch.chdir(folder)
        logging.disable(logging.CRITICAL)
        try:
            yield Bench(Path(folder))
        finally:
            logging.disable(logging.NOTSET)


def outcomes(made: Callable[[Reader], Iterator[Case]] = cases) -> Iterator[Outcome]:
    """Every case of every reader."""
    with bench() as place:
        for reader in readers():
            for case in made(reader):
                yield place.outcome(reader, case)


ENDS = ("sentence", "read", "traceback", "wrong")


def page(found: Sequence[Outcome]) -> str:
    """The page docs/reference/faults.md."""
    blocks = [
        _INTRODUCTION,
        _table("fault", found, lambda one: one.case.family),
        "## By reader\n\nThe same cases by what is read.",
        _table("file", found, lambda one: one.reader),
    ]
    return "\n\n".join(blocks) + "\n"


_INTRODUCTION = """# Broken files

Files of the readers in the second table are broken in the ways of the first, one fault at a time, and read.
`python -m tests.faults` makes them, reads them and prints this page. The test suite tries every tenth of them; `make
test-slow` tries all of them, and holds the page up to date.

Two kinds of faults are not tried, so that the zeros say nothing of them. The files of other readers: spreadsheets,
tables of answers, labels and pairs to score, replies of vendors and frameworks, reports in Markdown, exports of label
tools, gates. And files that are well formed and mean something else than they are read as: a mark in an unknown form,
a list of references that becomes claims, a field of another version that is passed over.

- **one sentence**: the file is refused in at most 400 characters, with exit code 2.
- **read all the same**: the fault says nothing else (a byte-order mark, a field that nobody reads), or is not a
  fault in that file (a huge text).
- **traceback**: an error without a sentence, a sentence of more than 400 characters or with control characters, or no
  end within 20 seconds. The huge texts repeat a letter: none is made to be slow to search.
- **silently wrong**: the file is read, and as something that it does not say."""


def _table(title: str, found: Sequence[Outcome], key: Callable[[Outcome], str]) -> str:
    counts: dict[str, Counter[str]] = {}
    for one in found:
        counts.setdefault(key(one), Counter())[one.ended] += 1
    counts["**all**"] = Counter(one.ended for one in found)
    lines = [
        f"| {title} | tried | one sentence | read all the same | tracebacks | silently wrong |",
        "| --- " + "| ---: " * 5 + "|",
    ]
    for name, ended in counts.items():
        lines.append(f"| {name} | {ended.total():,} | " + " | ".join(f"{ended[end]:,}" for end in ENDS) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run all cases and print the page; what ended badly goes to stderr."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--random", type=int, default=0, metavar="N", help="N random changes of each file instead")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    made = (lambda reader: mutations(reader, given.seed, given.random)) if given.random else cases
    found = list(outcomes(made))
    sys.stdout.write(page(found))
    bad = [one for one in found if one.ended in ENDS[2:]]
    for one in bad:
        sys.stderr.write(f"{one}\n")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
