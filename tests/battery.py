# ruff: noqa: T201
"""The regression battery: every command that users type, recorded to the byte and compared with another recording.

    python -m tests.battery record FOLDER                                     # the project in this folder
    python -m tests.battery record FOLDER --python PYTHON --root PROJECT      # another checkout, with its interpreter
    python -m tests.battery record FOLDER --only compare,power,cite-alce      # steps by the beginning of their names
    python -m tests.battery compare BEFORE AFTER
    python -m tests.battery compare BEFORE AFTER --numbers       # tables' numbers alone, wherever they stand, to 1e-12
    python -m tests.battery list

A step is a command, run in a folder of its own; `../NAME/` names the folder of another step, which runs before it.
Kept are what it printed, its exit code, and every file that it wrote. Only paths, ports and times of day are made
equal: what else differs between two recordings differs to a user. Chat models are a stand-in on loopback whose replies
depend on the request alone. Steps on real data need the published files in `../shared/data` beside the project, and are
left out elsewhere. Nothing of the project is imported here: each step is a fork of an interpreter that calls its
command line.
"""

from __future__ import annotations

import argparse
import csv
import difflib
import hashlib
import json
import math
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

QUICK = "-s interval.resamples=30 -s comparison.permutations=30"
SHORT = "-s interval.resamples=30"
MODEL = "--model stand-in --base-url CHAT -s chat.concurrency=1 -s chat.price_in=0.5 -s chat.price_out=1.5"
OFFLINE = "overlap,rouge,bm25"

# A metric of one's own for the mini corpus and for a slice of real data: scores that depend on the pair's id alone.
OWN_SCORES = """python:
import json, pathlib, zlib
for kind in ("pairs", "pairs-wice"):
    path = pathlib.Path(f"../{kind}/pairs.jsonl")
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    for name, few in (("mine", 7), ("theirs", 11)):
        lines = []
        for row in rows:
            noise = zlib.crc32((name + row["pair_id"]).encode()) % 1000 / 1000
            score = round(noise + {"full": 1, "partial": 0.5}.get(row["level"], 0), 3)
            missing = {"score": None, "status": "too long"} if zlib.crc32(row["pair_id"].encode()) % 41 == few else {}
            lines.append(json.dumps({"pair_id": row["pair_id"], "score": score} | missing))
        pathlib.Path(f"{name}-{kind}.jsonl").write_text("\\n".join(lines) + "\\n")
"""
SLICE = """python:
import json, pathlib
records = [json.loads(line) for line in pathlib.Path("../{source}/whole.jsonl").read_text().splitlines()]
statements = [one["id"] for one in records if one["type"] == "statement"]
kept = set(statements[:: max(1, len(statements) // {number})])
cited = {{one["document"] for one in records if one["type"] == "citation" and one["statement"] in kept}}
belongs = {{
    "statement": lambda one: one["id"] in kept,
    "citation": lambda one: one["statement"] in kept,
    "document": lambda one: one["id"] in cited,
}}
rows = [one for one in records if belongs.get(one["type"], lambda one: True)(one)]
pathlib.Path("slice.jsonl").write_text("".join(json.dumps(one) + "\\n" for one in rows))
"""
FROM_PYTHON = """python:
import metaeval
results = metaeval.run(dataset="mini", metrics=["overlap", "rouge"], interval={"resamples": 20})
for result in results:
    print(result)
    for row in result.rows:
        print(row.metric, row.signature, {key: (one.value, one.low, one.high) for key, one in row.values.items()})
pairs = list(metaeval.pairs(dataset="mini"))
print(len(pairs), pairs[0], pairs[-1])
scores = {one.pair_id: len(one.statement) % 7 / 7 for one in pairs}
for result in metaeval.evaluate_scores({"mine": scores}, dataset="mini", interval={"resamples": 20}):
    print(result)
"""
CITE_FROM_PYTHON = """python:
import json, metaeval
answers = [{"id": "a", "text": "The Oder is long [1]. Barges sail [2].", "passages": [{"text": "The Oder is long."}]}]
for pipeline in ("alce", "aliice", "scifi"):
    found = metaeval.cite(pipeline, answers, nli=["overlap"], interval={"resamples": 20})
    print(found)
    print({name: [dict(row) for row in rows] for name, rows in found.rows.items()})
replies = "../citeeval/replies.jsonl"
found = metaeval.cite("citeeval", "../inputs/answers.jsonl", nli=["overlap"], baselines=["lqac"], replay=replies)
print(found)
try:
    metaeval.cite("alec", answers)
except Exception as error:
    print(type(error).__name__, error)
"""

STEPS: dict[str, str] = {
    # run and its files
    "run": f"run -m {OFFLINE},minilm-cosine {SHORT} -s comparison.permutations=200",
    "run-decision": f"run -m overlap,rouge -p correlation,decision {QUICK}",
    "run-citation": f"run -m overlap,rouge -u citation -s aggregate=mean -s chunk.size=60 {QUICK}",
    "run-own-metric": f"run -m my_metric:Longest,overlap,ensemble:overlap+rouge -q {QUICK}",
    "run-variants": f"run -m overlap-all-words,rouge-1,minilm-bertscore -p classification {QUICK}",
    "run-config": f"run -c ../inputs/experiment.yaml --results own {QUICK}",
    "run-served": "run -m overlap,rouge -p classification --store ../run/results/scores.sqlite " + QUICK,
    "run-dry": "run -m overlap,rouge,autoais,alignscore,llm-discrete --dry-run",
    "run-llm": "run -m llm-discrete,llm-continuous -p classification -u citation -d jsonl "
    "--data ../inputs/systems.jsonl -s metric_options.llm-discrete.base_url=CHAT "
    "-s metric_options.llm-continuous.base_url=CHAT -s metric_options.llm-discrete.model=stand-in "
    "-s metric_options.llm-continuous.model=stand-in -s metric_options.llm-discrete.concurrency=1 "
    "-s metric_options.llm-continuous.concurrency=1 -s metric_options.llm-discrete.server=chat "
    f"-s metric_options.llm-continuous.server=chat {QUICK}",  # a name: the port would be in the signatures
    "run-llm-dry": "run -m llm-discrete -s metric_options.llm-discrete.base_url=CHAT --dry-run "
    "-s metric_options.llm-discrete.model=stand-in",
    "run-wice": f"run -m overlap,bm25 -d jsonl --data ../slice-wice/slice.jsonl --pool bm25:3 {QUICK}",
    "run-factcheck": f"run -m overlap -d factcheck_gpt -u citation -p correlation,retrieval --data DATA {QUICK}",
    "run-expertqa": f"run -m overlap -d expertqa --split rand_val -u citation -p classification --data DATA {QUICK}",
    # pairs, scores, score files, tables
    "pairs": "pairs pairs.jsonl",
    "pairs-parquet": "pairs pairs.parquet --pool bm25:3",
    "pairs-wice": "pairs pairs.jsonl -d jsonl --data ../slice-wice/slice.jsonl",
    "score": "score -m overlap,rouge --format jsonl -o scores",
    "score-parquet": "score -m overlap -o scores --format parquet -q",
    "own-scores": "NEEDS ../pairs/ ../pairs-wice/" + OWN_SCORES,
    "evaluate": f"evaluate ../own-scores/mine-pairs.jsonl ../own-scores/theirs-pairs.jsonl -p all {QUICK}",
    "evaluate-parquet": f"evaluate ../score-parquet/scores/overlap.parquet ../score/scores/rouge.jsonl {QUICK}",
    "evaluate-wice": f"evaluate ../own-scores/mine-pairs-wice.jsonl -d jsonl --data ../slice-wice/slice.jsonl {QUICK}",
    "evaluate-ratings": f"evaluate -d ratings --data ../inputs/ratings.jsonl {QUICK}",
    "evaluate-frank": "evaluate -d frank --split validation -p correlation --data DATA -s interval.resamples=20 "
    "-s comparison.permutations=10",
    "evaluate-xsum": f"evaluate -d xsum_hallucination --data DATA {QUICK}",
    "table": "results show ../run/results/latest/classification.json",
    "table-markdown": "results show ../run/results/latest/retrieval.json --format markdown",
    "table-latex": "results show ../run/results/latest/correlation.json --format latex",
    "table-csv": "results show ../run/results/latest/correlation.json --format csv",
    # between metrics
    "compare": f"compare overlap rouge bm25 {QUICK}",
    "compare-full": f"compare overlap rouge ../own-scores/mine-pairs.jsonl -p classification,decision --full {QUICK}",
    "compare-by-length": f"compare overlap rouge bm25 --by length -p classification {QUICK}",
    "compare-by-system": "compare overlap rouge --by system -u citation -d jsonl "
    f"--data ../inputs/systems.jsonl {QUICK}",
    "compare-by-position": f"compare overlap bm25 --by position -p correlation {QUICK}",
    "compare-alone": f"compare overlap rouge --agreement -q -s margin=0.05 {QUICK}",
    "compare-frank": f"compare FactCC DAE -d frank --split validation --data DATA {QUICK}",
    "compare-wice": f"compare overlap rouge --by length -d jsonl --data ../slice-wice/slice.jsonl {QUICK}",
    "power": f"plan overlap rouge --difference 2,5 {QUICK}",
    "power-spearman": f"plan overlap ../own-scores/mine-pairs.jsonl --measure spearman {QUICK}",
    "power-graded": f"plan FactCC DAE -d frank --split validation --difference 1,2 --data DATA {QUICK}",
    "decide": f"thresholds overlap rouge bm25 {QUICK}",
    "calibrate": f"thresholds overlap minilm-cosine --learn {SHORT}",
    "calibrate-partial": "thresholds overlap --learn --target partial -s objective=balanced-accuracy -s folds=3 "
    f"-u chunk {SHORT}",
    # suites
    "tables": f"run --suite {QUICK}",
    "tables-suite": f"run --suite -c ../inputs/suite.yaml {QUICK}",
    "tables-real": f"run --suite -d mini,factcheck_gpt,wiec -m overlap,autoais -u citation --data DATA {QUICK}",
    "figures": "results figures latest --results ../tables/results",
    "figures-from-files": "results figures suite --results ../tables-suite/results",
    "multiverse": f"multiverse -m overlap,bm25 {QUICK}",
    "multiverse-axes": "multiverse -m overlap,rouge -a pool=own -a chunk.size=60,150 -a aggregate=max,mean "
    f"-a evidence.threshold=0.5 -p correlation {QUICK}",
    "multiverse-wice": "multiverse -m overlap,bm25 -a unit=chunk -a chunk.size=100,150 -d jsonl "
    f"--data ../slice-wice/slice.jsonl {QUICK}",
    # data and metrics
    "data-list": "data list",
    "data-show": "data show wice",
    "data-convert": "data convert mini mini.jsonl",
    "data-validate": "data validate ../data-convert/mini.jsonl",
    "data-verify": "data verify frank --data DATA",
    "convert-wice": "data convert wice whole.jsonl --split dev --data DATA",
    "slice-wice": "NEEDS ../convert-wice/" + SLICE.format(source="convert-wice", number=60),
    "metrics-list": "metrics list",
    "metrics-show": "metrics show overlap",
    "metrics-show-model": "metrics show alignscore -s mode=bin_sp",
    "metrics-verify": "metrics verify rouge",
    # citation pipelines
    "alce": f"cite alce ../inputs/answers.jsonl --nli overlap --nli rouge --threshold overlap=0.8,rouge=0.6 {SHORT}",
    "alce-released": "cite alce ../inputs/alce.json ../inputs/worse.json --nli overlap,rouge --profile released "
    f"--measures str_em,rougeLsum,length,str_hit {SHORT}",
    "alce-list": f"cite alce ../inputs/alce.json -s units=list --nli overlap -s splitter=rules {SHORT}",
    "alce-chunks": f"cite alce ../inputs/answers.jsonl --nli overlap -s premise=chunks -s chunk.size=6 {SHORT}",
    "alce-calibrated": "cite alce ../inputs/answers.jsonl --nli overlap "
    f"-s calibration=../calibrate/results/latest/calibration.json {SHORT}",
    "alce-soft": f"cite alce ../inputs/answers.jsonl --nli overlap --threshold soft {SHORT}",
    "alce-expertqa": f"cite alce ../inputs/expertqa.jsonl --nli overlap DATA-ONLY {SHORT}",
    "aliice": f"cite aliice ../inputs/answers.jsonl --nli overlap,rouge {SHORT}",
    "aliice-released": f"cite aliice ../inputs/alce.json ../inputs/worse.json --nli overlap --profile released {SHORT}",
    "aliice-expertqa": f"cite aliice ../inputs/expertqa.jsonl --nli overlap DATA-ONLY {SHORT}",
    "support": f"cite support ../inputs/answers.jsonl --nli overlap,rouge --threshold 0.6 --partial 0.3 {SHORT}",
    "scifi": f"cite scifi ../inputs/samples.jsonl --nli overlap,rouge {SHORT}",
    "scifi-model": f"cite scifi ../inputs/samples.jsonl --nli overlap {MODEL} --record replies.jsonl {SHORT}",
    "scifi-replay": "cite scifi ../inputs/samples.jsonl --nli overlap --replay ../scifi-model/replies.jsonl "
    f"-s group=joint --threshold 0.9 {SHORT}",
    "scifi-dry": f"cite scifi ../inputs/samples.jsonl --nli overlap {MODEL} --dry-run",
    "citeeval": "cite citeeval ../inputs/answers.jsonl --nli overlap --baselines lqac,attrscore "
    f"{MODEL} --record replies.jsonl --budget 9 {SHORT}",
    "citeeval-replay": "cite citeeval ../inputs/answers.jsonl --nli overlap --baselines lqac,attrscore "
    f"--replay ../citeeval/replies.jsonl {SHORT}",
    "citeeval-released": f"cite citeeval ../inputs/answers.jsonl --profile released --scenario cited {MODEL} {SHORT}",
    "citeeval-refitted": "cite citeeval ../inputs/answers.jsonl --replay ../citeeval/replies.jsonl "
    f"--coefficients ../refit/results/latest/fitted.json {SHORT}",
    "citeeval-parts": f"cite citeeval ../inputs/answers.jsonl {MODEL} -s statements_per_request=1 -q {SHORT}",
    "citeeval-dry": f"cite citeeval ../inputs/answers.jsonl {MODEL} --baselines lqac --dry-run",
    "improve": "cite improve ../inputs/answers.jsonl -o improved.jsonl --rounds 3 "
    f"{MODEL} --record replies.jsonl {SHORT}",
    "improve-replay": "cite improve ../inputs/answers.jsonl -o improved.jsonl --replay ../improve/replies.jsonl "
    f"--rounds 3 -q {SHORT}",
    "improve-dry": f"cite improve ../inputs/answers.jsonl -o improved.jsonl {MODEL} --dry-run",
    "refit": f"cite refit ../inputs/rated.jsonl {MODEL} --record replies.jsonl {SHORT}",
    "refit-dry": f"cite refit ../inputs/rated.jsonl {MODEL} --dry-run",
    "rewrite": "cite rewrite ../inputs/answers.jsonl --nli overlap --model stand-in --base-url CHAT "
    f"-s chat.concurrency=1 {SHORT}",
    "rewrite-dry": "cite rewrite ../inputs/answers.jsonl --nli overlap --model stand-in --base-url CHAT --dry-run",
    "meta": "cite meta ../inputs/rated.jsonl --nli overlap,rouge --pipelines alce,aliice,scifi --threshold 0.6 "
    f"--scores ../inputs/theirs.jsonl {QUICK}",
    "meta-citeeval": f"cite meta ../inputs/rated.jsonl --pipelines citeeval,autoais --nli overlap {MODEL} "
    f"--record replies.jsonl {QUICK}",
    "meta-dry": "cite meta ../inputs/rated.jsonl --pipelines citeeval,scifi --nli overlap -s facts=model "
    f"{MODEL} --dry-run",
    "meta-expertqa": f"cite meta ../inputs/expertqa.jsonl --nli overlap --pipelines alce DATA-ONLY {QUICK}",
    "agreement": f"cite agreement ../inputs/readers.csv --labels level=r1,r2,r3 {SHORT}",
    "cite-tables": "cite tables ASQA=../inputs/alce.json,../inputs/worse.json -c aliice --nli rouge --parser small "
    + SHORT,
    "generate": f"cite generate ../inputs/answers.jsonl -o made.jsonl {MODEL} --record replies.jsonl",
    "generate-summary": f"cite generate ../inputs/answers.jsonl -o made.jsonl --strategy summary {MODEL}",
    "generate-two-stage": f"cite generate ../inputs/answers.jsonl -o made.jsonl --strategy two-stage -q {MODEL}",
    "generate-replay": "cite generate ../inputs/answers.jsonl -o made.jsonl --replay ../generate/replies.jsonl",
    "generate-dry": f"cite generate ../inputs/answers.jsonl -o made.jsonl --dry-run {MODEL}",
    "python-run": FROM_PYTHON,
    "python-cite": "NEEDS ../inputs/ ../citeeval/" + CITE_FROM_PYTHON,
}

# Imported once, before the forks.
HEAVY = (
    *"metaeval.cli.app metaeval numba torch transformers pyarrow.parquet openai spacy nltk scipy.stats".split(),
    *"scipy.optimize matplotlib.backends.backend_agg rouge_score.rouge_scorer".split(),
)

# What the answers, samples and ratings are made of.
ODER = "The Oder is 840 kilometres long. It rises in the Czech Republic. Barges carry coal on it."
PASSAGES = [
    {"title": "Oder", "text": ODER},
    {"title": "Bridge", "text": "The mayor opened the stone bridge in May. A Dane built the bridge in 1999."},
    {"title": "Winter", "text": "The river froze in winter and ships stayed in port. Rain fell in spring."},
]
TEXTS = (
    "The Oder is {n} kilometres long [1]. Barges carry coal [1][2], and the mayor opened the bridge in May [2].",
    "The river froze in winter [3] and ships stayed in port. A Dane built the bridge in {n} [2][1]. Nobody sails.",
    "Rain fell in spring [3][7]. The stone bridge, which the mayor opened [2], is long. Ships carry wool [1].",
)
METRIC = '''"""A metric of one's own."""

from metaeval import Metric, MetricCard, PairScore


class Longest(Metric):
    """Length of the longest word that statement and source share."""

    card = MetricCard(
        name="longest", family="lexical", summary="longest shared word", paper="none", licence="mine", low=0
    )

    def score(self, sources, statements):
        shared = (set(a.split()) & set(b.split()) for a, b in zip(sources, statements, strict=True))
        return [PairScore(float(max(map(len, words), default=0))) for words in shared]
'''


def write_inputs(folder: Path, data: Path | None) -> None:
    """The files that the steps read, made here so that every recording has the same."""

    def write(name: str, rows: list[Any] | str | dict[str, Any]) -> None:
        one_a_line = "".join(json.dumps(row) + "\n" for row in rows) if isinstance(rows, list) else json.dumps(rows)
        (folder / name).write_text(rows if isinstance(rows, str) else one_a_line, encoding="utf-8")

    write("my_metric.py", METRIC)
    write("experiment.yaml", "dataset: mini\nmetrics: [overlap, rouge]\nunit: citation\nprotocols: [all]\n")
    write("suite.yaml", "metrics: [overlap, rouge, bm25]\ndatasets:\n- mini\n- {dataset: mini, unit: citation}\n")
    answers = [
        {
            "id": f"{system}-{group}",
            "group": f"q{group}",
            "system": f"system {system}",
            "question": f"Question {group}?",
            "passages": PASSAGES,
            "text": TEXTS[(system + group) % 3].format(n=(840, 1999)[group % 2]),
        }
        for system in range(2)
        for group in range(4)
    ]
    write("answers.jsonl", answers)
    rated = []
    for number, one in enumerate([*answers, *({**one, "group": f"{one['group']}b"} for one in answers)]):
        text = f"{one['text']} Number {number}."
        ends = [match.end() for match in re.finditer(r"\. |\.$", text)]
        spans = [(start, end - (text[end - 1] == " ")) for start, end in zip([0, *ends], ends, strict=False)]
        ratings = [
            {"start": start, "end": end, "ratings": [chance(f"{number}{start}{who}", 5) / 4 for who in "abc"]}
            for start, end in spans
        ]
        rated.append({**one, "id": f"r{number}", "text": text, "statements": ratings})
    write("rated.jsonl", rated)
    parts = [(one["id"], part["start"], part["end"]) for one in rated for part in one["statements"]]
    theirs = [{"answer": own, "start": at, "end": end, "value": round(at % 7 / 7, 3)} for own, at, end in parts]
    write("theirs.jsonl", theirs)
    pairs = [{"question": "?", "short_answers": ["in May"]}]
    items = [
        {"question": f"Q{n}?", "output": one["text"], "docs": PASSAGES, "qa_pairs": pairs}
        for n, one in enumerate(answers[:4])
    ]
    (folder / "alce.json").write_text(json.dumps([{**one, "answer": "It froze in winter."} for one in items]))
    worse = [{**one, "output": "Elephants ate the harbour [2]. A storm came [7] in May."} for one in items]
    (folder / "worse.json").write_text(json.dumps([{**one, "answer": "A storm."} for one in worse]))
    samples = []
    for number, one in enumerate(answers):
        paragraph = "The river froze in winter. The mayor opened the bridge in May."
        cited = [{"position": 25, "document": 3}, {"position": len(paragraph) - 1, "document": 2}]
        about = {"id": f"s{number}", "group": one["group"], "system": one["system"], "query": one["question"]}
        samples.append(
            about | {"paragraph": paragraph, "citations": cited, "documents": PASSAGES} | {"output": one["text"]}
        )
    write("samples.jsonl", samples)
    given = (f"u{n},q{n // 2},{n % 3},{n % 3},{n % 2}\n" for n in range(12))
    write("readers.csv", "".join(["id,question,r1,r2,r3\n", *given]))
    ratings = []
    for number in range(60):
        gold = chance(f"gold{number}", 5) / 4
        scores = {name: (gold + chance(f"{name}{number}", 100) / 50) / 3 for name in ("one", "two")}
        about = {"id": f"i{number}", "group": f"g{number // 3}", "system": f"s{number % 3}"}
        ratings.append({**about, "gold": gold, "scores": scores})
    write("ratings.jsonl", ratings)
    rows: list[dict[str, Any]] = [{"type": "corpus", "format": "metaeval-corpus/1", "name": "systems"}]
    for number in range(12):
        sentences = [f"The river number {number} was quiet on day {day}." for day in ("one", "two", "three")]
        rows.append({"type": "document", "id": f"d{number}", "sentences": sentences * 12})
    for number in range(48):
        level = ("full", "partial", "none")[chance(f"level{number}", 3)]
        word = ("quiet", "loud", "deep")[chance(f"word{number}", 3) if level != "full" else 0]
        text = f"The river number {number % 12} was {word} on day {('one', 'two', 'six')[number % 3]}."
        about = {"group": f"g{number // 4}", "system": f"s{number % 2}"}
        rows.append({"type": "statement", "id": f"t{number}", "text": text, **about})
        evidence = {} if level == "none" else {"evidence": {"sentences": [number % 3]}}
        rows.append(
            {"type": "citation", "statement": f"t{number}", "document": f"d{number % 12}", "level": level} | evidence
        )
    write("systems.jsonl", rows)
    if data is not None:
        with (data / "expertqa" / "rand_test.jsonl").open(encoding="utf-8") as file:
            (folder / "expertqa.jsonl").write_text("".join(line for line, _ in zip(file, range(14), strict=False)))


def chance(text: str, of: int) -> int:
    """A number below `of` that depends on the text alone."""
    return zlib.crc32(text.encode()) % of


def reply(prompt: str) -> str:
    """What the stand-in says: to each of the project's prompts a reply in form, and now and then one that is not."""
    last = prompt.splitlines()[-1]
    if chance(prompt, 13) == 5:
        return "I like it."
    if "<answer>" in prompt:
        return judged(prompt.rpartition("</passages>")[2])
    for mark, field, words in (
        ("needs_citation", "needs_citation", ("yes", "no")),
        ('"support"', "support", ("full", "partial", "none")),
        ('"relevance"', "relevance", ("relevant", "irrelevant")),
        ("<claim>", "label", ("Attributable", "Extrapolatory", "Contradictory")),
    ):
        if mark in prompt:
            return json.dumps({"thinking": "", field: words[chance(prompt, len(words))]})
    if last.startswith("Fact: "):
        return json.dumps({"segment": " ".join(json.loads(last.removeprefix("Fact: ")).rstrip(".").split()[-3:])})
    if last.startswith("Sentence: "):
        parts = json.loads(last.removeprefix("Sentence: ")).rstrip(".").split(" and ")
        return json.dumps({"facts": [f"{part[:1].upper()}{part[1:]}." for part in parts]})
    if last.startswith("Claim: "):
        claim = json.loads(last.removeprefix("Claim: ")).strip(" ,.")
        return json.dumps({"claim": f"{claim if chance(claim, 3) else 'Ships sail'}."})
    if last.startswith("Document: "):
        return json.dumps({"summary": json.loads(last.removeprefix("Document: "))["text"].split(". ")[0]})
    if '"documents": [2, 5]' in prompt:
        return '{"documents": [1, 2]}'
    if "Prediction:" in prompt:
        level = chance(prompt, 3)
        return f"It holds a part.\nPrediction: {level if 'LEVEL' in prompt else level / 2}"
    shown = [json.loads(line) for line in prompt.splitlines() if line.startswith('{"document": ')]
    said = [f"{one['text'].split('. ')[0].rstrip('.')} [{one['document']}]" for one in shown[:2]]
    return f"{' and '.join(said)}, they say [8]."


def judged(answer: str) -> str:
    """CiteEval's judge: a context for each statement, or edits and a rating for each that cites."""
    statement = r'<statement id="(\d+)"(?: cites="([\d ]*)")?( judge="yes")?>(.*?)</statement>'
    found = re.findall(statement, answer, re.DOTALL)
    partly = any(judge for _, _, judge, _ in found)
    entries: list[dict[str, Any]] = []
    for number, cited, judge, text in found:
        if partly and not judge:
            continue
        if 'cites="' not in answer:
            kinds = ("retrieval", "retrieval", "response", "query", "model")
            entries.append({"id": int(number), "thinking": "", "context": kinds[chance(text, 5)]})
        elif cited:
            numbers = [int(one) for one in cited.split()]
            edits = [{"action": "delete", "citation": numbers[-1], "reason": "redundant"}] if len(numbers) > 1 else []
            if chance(text, 2) and 3 not in numbers:
                edits.append({"action": "add", "citation": 3, "reason": "evidence"})
            entries.append({"id": int(number), "thinking": "", "edits": edits, "rating": 1 + chance(text + cited, 5)})
    return json.dumps({"statements": entries})


class Chat(BaseHTTPRequestHandler):
    """The stand-in for a chat model, as an OpenAI-compatible endpoint."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_POST(self) -> None:
        """One chat completion."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = asked["messages"][-1]["content"]
        message = {"role": "assistant", "content": reply(prompt)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        words = len(prompt.split())
        usage = {"prompt_tokens": words, "completion_tokens": 10, "total_tokens": 10 + words}
        head = {"id": "chat-1", "object": "chat.completion", "created": 1, "model": "stand-in-1"}
        body = json.dumps({**head, "choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


def needs(command: str) -> list[str]:
    """The steps whose folders a command reads."""
    return [name for name in dict.fromkeys(re.findall(r"\.\./([\w-]+)/", command)) if name != "inputs"]


def chosen(only: str | None, have_data: bool) -> tuple[dict[str, str], dict[str, str]]:
    """(steps to run in order, with those that they need; steps left out with the reason)."""
    begins = tuple(only.split(",")) if only else ("",)
    out: dict[str, str] = {}
    order: dict[str, str] = {}

    def take(name: str) -> bool:
        if name in order or name in out:
            return name in order
        command = STEPS[name]
        if "DATA" in command and not have_data:
            out[name] = "no published data in ../shared/data"
        elif missing := [one for one in needs(command) if not take(one) and name != "own-scores"]:
            out[name] = f"needs {missing[0]}"
        else:
            order[name] = command
        return name in order

    for name in STEPS:
        if name.startswith(begins):
            take(name)
    return order, out


def record(folder: Path, python: str, root: Path, only: str | None) -> int:
    """Run the steps with this interpreter on this checkout, and keep in `folder` what came of each."""
    root = root.resolve()
    data = root.parent / "shared" / "data"
    order, out = chosen(only, data.is_dir())
    server = ThreadingHTTPServer(("127.0.0.1", 0), Chat)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    chat = f"http://127.0.0.1:{server.server_port}/v1"
    with tempfile.TemporaryDirectory(prefix="battery-") as made:
        stage = Path(made).resolve()
        (stage / "inputs").mkdir()
        write_inputs(stage / "inputs", data if data.is_dir() else None)
        (stage / "DATA").symlink_to(data)
        env = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "METAEVAL_"))}
        env |= {"PYTHONPATH": str(root), "COLUMNS": "100", "NO_COLOR": "1", "HF_HUB_OFFLINE": "1", "TZ": "UTC"}
        env |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "PYTHONHASHSEED": "0"}
        env["PATH"] = f"{Path(python).absolute().parent}{os.pathsep}{env.get('PATH', '')}"
        steps = {
            name: command.replace("DATA-ONLY", "").replace("CHAT", chat).replace("DATA", "../DATA")
            for name, command in order.items()
        }
        (stage / "steps.json").write_text(json.dumps(steps))
        subprocess.run([python, str(Path(__file__).resolve()), "_run", str(stage)], env=env, check=True)
        same = [(str(stage), "STAGE"), (str(root), "ROOT"), (chat, "http://CHAT/v1"), (str(root.parent), "BESIDE")]
        for name, command in order.items():
            keep(stage, name, command, folder / name, same)
    server.shutdown()
    for name, reason in out.items():
        print(f"left out: {name} ({reason})")
    print(f"{len(order)} commands recorded in {folder}")
    return 0


# Times of day, speeds, and the progress of what takes longer on a slow day.
VARIES = (
    (rb'"finished": "[^"]*"', b'"finished": "TIME"'),
    (rb"(?m)^[^\n]* of [\d,]+ (?:pairs|replies)[^\n]* left\n", b""),
    (rb"[\d,.]+ (pairs|replies)/s", rb"N \1/s"),
)


def keep(stage: Path, name: str, command: str, folder: Path, same: list[tuple[str, str]]) -> None:
    """Copy what a step printed and wrote to `folder`, paths, ports and times of day made equal."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "command").write_text(command + "\n")
    printed = {one: stage / "printed" / f"{name}.{one}" for one in ("stdout", "stderr", "exit")}
    written = {f"files/{path.relative_to(stage / name)}": path for path in sorted((stage / name).rglob("*"))}
    hashes: dict[bytes, bytes] = {}
    for target, path in (printed | written).items():
        if not path.is_file() or path.is_symlink() or "__pycache__" in target:
            continue
        (folder / target).parent.mkdir(parents=True, exist_ok=True)
        if ".sqlite" in path.name:
            if path.suffix == ".sqlite":
                (folder / f"{target}.tables").write_text("\n".join(tables(path)) + "\n")
            continue
        content = path.read_bytes()
        for one, other in same:
            content = content.replace(one.encode(), other.encode())
        for varies, instead in VARIES:
            content = re.sub(varies, instead, content)
        if content != path.read_bytes():
            own, instead = (hashlib.sha256(one).hexdigest().encode() for one in (path.read_bytes(), content))
            hashes[own] = instead
        (folder / target).write_bytes(content)
    for path in folder.rglob("*manifest.json"):  # it holds the hashes of the files beside it
        path.write_bytes(re.sub(rb"[0-9a-f]{64}", lambda found: hashes.get(found[0], found[0]), path.read_bytes()))


def tables(path: Path) -> Iterator[str]:
    """A database's tables and how many rows each has: its bytes differ with every writing."""
    with sqlite3.connect(path) as base:
        for name, made in base.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"):
            (count,) = base.execute(f'SELECT count(*) FROM "{name}"').fetchone() if "TABLE" in made else ("",)
            yield f"{made} -- {count}"


def run_steps(stage: Path) -> int:
    """In the interpreter of the project that is recorded: each step in a fork, in the folder of its name."""
    sys.path[:] = [path for path in sys.path if Path(path or ".").resolve() != Path(__file__).resolve().parent]
    for heavy in HEAVY:
        try:
            __import__(heavy)
        except ImportError as error:
            print(f"not here: {error}", file=sys.stderr)
    (stage / "printed").mkdir()
    steps = json.loads((stage / "steps.json").read_text())
    took: dict[str, float] = {}
    for number, (name, command) in enumerate(steps.items(), start=1):
        (stage / name).mkdir()
        if "my_metric" in command:
            shutil.copy(stage / "inputs" / "my_metric.py", stage / name)
        if sys.stderr.isatty():
            print(f"\r{number} of {len(steps)}: {name:30}", end="", file=sys.stderr, flush=True)
        began = time.perf_counter()
        child = os.fork()
        if child == 0:
            one_step(stage, name, command)
        _, status = os.waitpid(child, 0)
        (stage / "printed" / f"{name}.exit").write_text(f"{os.waitstatus_to_exitcode(status)}\n")
        took[name] = time.perf_counter() - began
    slowest = sorted(took, key=took.__getitem__, reverse=True)[:12]
    print(f"{sum(took.values()):.0f} s;", ", ".join(f"{name} {took[name]:.1f}" for name in slowest), flush=True)
    return 0


def one_step(stage: Path, name: str, command: str) -> None:
    """Run one command as a user types it, and end this process."""
    code = 1
    for number, stream in ((1, "stdout"), (2, "stderr")):
        file = os.open(stage / "printed" / f"{name}.{stream}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, number)
    try:
        os.chdir(stage / name)
        os.environ["METAEVAL_CACHE"] = str(stage / "cache" / name)
        _, _, script = command.partition("python:\n")
        if script:
            exec(compile(script, name, "exec"), {"__name__": "__main__"})
            code = 0
        else:
            from metaeval.cli.app import main  # type: ignore[import-not-found,unused-ignore]

            sys.argv = ["metaeval", *shlex.split(command)]
            main()
            code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 -- as the interpreter ends: with a traceback
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def compare(before: Path, after: Path, lines: int) -> int:
    """Print which files of two recordings differ, and how; 0 where none does."""
    recorded = [{path.name for path in folder.iterdir() if path.is_dir()} for folder in (before, after)]
    both, total, differ, changed = sorted(recorded[0] & recorded[1]), 0, 0, []
    for name in both:
        sides = [
            {path.relative_to(side / name).as_posix(): path for path in (side / name).rglob("*") if path.is_file()}
            for side in (before, after)
        ]
        wrong = 0
        for file in sorted(sides[0].keys() | sides[1].keys()):
            total += 1
            contents = [side[file].read_bytes() if file in side else None for side in sides]
            if contents[0] == contents[1]:
                continue
            wrong += 1
            print(f"=== {name}/{file}: {difference(contents, lines)}")
        differ += wrong
        changed += [name] * bool(wrong)
    for side, alone in ((before, recorded[0] - recorded[1]), (after, recorded[1] - recorded[0])):
        if alone:
            print(f"{len(alone)} commands in {side} alone: {', '.join(sorted(alone))}")
    print(f"{len(both)} commands, {total} files: {total - differ} the same, {differ} differ", end="")
    print(f" ({', '.join(changed)})" if changed else "")
    return int(bool(differ) or not both)


HASH = re.compile(r"-[0-9a-f]{8}(?=/|$)")
NAMES_A_ROW = ("metric", "name", "key", "id", "measure", "label", "one", "other")


def numbers_of(folder: Path) -> dict[str, float]:
    """Every number in a step's tables, by file, row and column; a job's hash is no part of the name."""
    numbers: dict[str, float] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix not in (".json", ".csv") or "manifest" in path.name:
            continue
        if path.suffix == ".csv" and any(path.with_suffix(end).is_file() for end in (".json", ".jsonl")):
            continue  # the same numbers, as `results export` writes them
        name = HASH.sub("", path.relative_to(folder).with_suffix("").as_posix())
        text = path.read_text(encoding="utf-8")
        try:
            table = json.loads(text) if path.suffix == ".json" else {"records": list(csv.DictReader(text.splitlines()))}
        except ValueError:  # no table of ours
            continue
        records = table.pop("records", []) if isinstance(table, dict) else []
        numbers |= {f"{name}: {key}": value for key, value in [*leaves(table), *cells(records)]}
    return numbers


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """The numbers of a JSON text, each under its path; an entry of a list is named by its texts, else its place."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from leaves(part, f"{name}.{key}")
    elif isinstance(value, list):
        seen: dict[str, int] = {}
        for place, part in enumerate(value):
            named = [str(part[key]) for key in NAMES_A_ROW if key in part] if isinstance(part, dict) else []
            label = ",".join(named) or str(place)
            seen[label] = seen.get(label, -1) + 1
            yield from leaves(part, f"{name}[{label}{f'#{seen[label]}' if seen[label] else ''}]")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield name, float(value)


def cells(records: list[dict[str, Any]]) -> Iterator[tuple[str, float]]:
    """The numbers of a table's records, each under its record's texts and its column."""
    seen: dict[str, int] = {}
    for record in records:
        numbers = {}
        texts = []
        for column, cell in sorted(record.items()):
            try:
                numbers[column] = float(str(cell))
            except ValueError:
                texts += [str(cell)] if cell not in (None, "") and column not in ("signature", "note") else []
        label = ",".join(texts)
        seen[label] = seen.get(label, -1) + 1
        for column, number in numbers.items():
            yield f"{label}#{seen[label]} {column}", number


def compare_numbers(before: Path, after: Path, lines: int) -> int:
    """Compare the numbers of two recordings by step, file, row and column; 1 where one differs or is gone."""
    wrong = total = 0
    for folder in sorted(path for path in before.iterdir() if path.is_dir()):
        if not (after / folder.name).is_dir():
            print(f"{folder.name}: left out (not in the other recording)")
            continue
        earlier = numbers_of(folder)
        present = numbers_of(after / folder.name)
        total += len(earlier)
        apart = [
            f"{name}: {value!r} -> {present[name]!r}"
            for name, value in earlier.items()
            if name in present and not math.isclose(value, present[name], rel_tol=1e-12, abs_tol=1e-12)
        ]
        gone = earlier.keys() - present.keys()
        added = present.keys() - earlier.keys()
        if apart or gone or added:
            print(f"=== {folder.name}: {len(apart)} differ, {len(gone)} gone, {len(added)} new, of {len(earlier)}")
            shown = [*apart[:lines], *(f"gone: {name}" for name in sorted(gone)[:lines])]
            print("\n".join(f"  {line[:300]}" for line in shown))
        wrong += len(apart) + len(gone)
    print(f"{total:,} numbers before: {wrong:,} differ or are gone")
    return int(bool(wrong))


def difference(contents: list[bytes | None], lines: int) -> str:
    """How a file differs: on one side only, or its first different lines."""
    one, other = contents
    if one is None or other is None:
        return "only after" if one is None else "only before"
    try:
        texts = [side.decode().splitlines() for side in (one, other)]
    except UnicodeDecodeError:
        return f"{len(one):,} and {len(other):,} bytes"
    found = list(difflib.unified_diff(*texts, "before", "after", n=0, lineterm=""))[2:]
    return "\n".join(["differs", *(line[:300] for line in found[:lines]), *(["..."] if len(found) > lines else [])])


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.battery", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("record", help="run the commands and keep what they print and write")
    one.add_argument("folder", type=Path)
    one.add_argument("--python", default=sys.executable, help="interpreter of the project (default: this one)")
    one.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="the project (default: this one)")
    one.add_argument("--only", help="beginnings of step names, with commas")
    two = commands.add_parser("compare", help="say what differs between two recordings")
    two.add_argument("before", type=Path)
    two.add_argument("after", type=Path)
    two.add_argument("--numbers", action="store_true", help="compare the numbers of tables alone")
    two.add_argument("--lines", type=int, default=12, help="lines of a difference to show (default: 12)")
    commands.add_parser("list", help="print the steps and their commands")
    commands.add_parser("_run").add_argument("stage", type=Path)
    given = parser.parse_args()
    if given.command == "record":
        return record(given.folder, given.python, given.root, given.only)
    if given.command == "compare":
        both = compare_numbers if given.numbers else compare
        return both(given.before, given.after, given.lines)
    if given.command == "_run":
        return run_steps(given.stage)
    for name, command in STEPS.items():
        print(f"{name}: {command.strip().splitlines()[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
