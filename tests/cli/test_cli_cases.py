"""`results cases`: the most confident errors of a metric, both ways, by hand and as they are typed."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

import metaeval
from metaeval.core.config import RunConfig
from metaeval.explorer.confident_errors import HIGH, LOW, RENDERERS, Case, find_cases
from metaeval.runs.data import prepare
from tests.cli.samples import lines_of

SCORES = {"a": 0.9, "b": 0.8, "c": 0.8, "d": 0.1, "e": 0.05, "f": 0.7, "g": 0.2}
LEVELS = {"a": 2, "b": 0, "c": 0, "d": 1, "e": 2, "f": 0, "g": 0}


def cases(most=3, threshold=None):
    found = find_cases("m", SCORES, LEVELS, lambda row: (f"says {row}", f"page {row}", ()), most, threshold)
    return [(case.error, case.id) for case in found]


def test_the_most_confident_errors_come_first_and_equal_scores_go_by_id():
    # No support: b .8, c .8, f .7, g .2 from the top; support: e .05, d .1, a .9 from the bottom.
    assert cases(2) == [(HIGH, "b"), (HIGH, "c"), (LOW, "e"), (LOW, "d")]
    assert cases(9) == [(HIGH, "b"), (HIGH, "c"), (HIGH, "f"), (HIGH, "g"), (LOW, "e"), (LOW, "d"), (LOW, "a")]


def test_at_a_threshold_only_wrong_decisions_are_errors():
    # From .1 on a score says supported: of no support all are wrong, of support e.
    assert cases(9, 0.1) == [(HIGH, "b"), (HIGH, "c"), (HIGH, "f"), (HIGH, "g"), (LOW, "e")]
    assert cases(9, 0.8) == [(HIGH, "b"), (HIGH, "c"), (LOW, "e"), (LOW, "d")]  # the threshold itself says supported


def brief(line):
    """How many words a line has, the first and the last, and those with a mark."""
    parts = line.split(" ")
    return [len(parts), *parts[:4], *(part for part in parts if set("[]*\\…&") & {*part}), *parts[-3:]]


def test_every_format_shows_the_words_and_marks_of_its_record(recorded):
    """At 60 words, at evidence that begins with the last or the first that is not shown, and over several pages."""
    text = " ".join(f"w{number}" for number in range(130))
    whole, more = text[:229], text[:233]  # 60 and 61 words
    spans = [(), ((0, 2),), ((3, 5), (6, 11)), ((4, 7),), ((2, 3),), ((230, 233),), ((226, 229),)]
    texts = [(whole, whole, ()), (more, more, ()), *((f"s{n}", text, own) for n, own in enumerate(spans))]
    cases = []
    for n, (statement, citation, own) in enumerate(texts):
        what = ("a", "b_c")[n > 6], (HIGH, LOW)[n % 2], ("none", "full")[n % 2], n / 7, (None, 0.5)[n > 4]
        cases.append(Case(*what, statement, citation, f"i{n}", own))
    told = {
        name: [brief(line) for line in render(cases).splitlines() if "caption{" not in line]
        for name, render in RENDERERS.items()
    }
    pages = RENDERERS["latex"](sorted(cases * 3, key=lambda case: case.metric)).splitlines()
    told["pages"] = [line for line in pages if line.endswith("tabular}") or "label" in line]
    recorded.held("explorer-cases", told)


HOSTILE = Case("m_1", HIGH, "none", 0.5, None, "\\input{x} <b>50%</b> | \x1b[2J", "a & b_c $d$ " + "word " * 80, "i")


def test_texts_are_escaped_in_every_format():
    assert "\x1b" not in "".join(RENDERERS[name]([HOSTILE]) for name in ("terminal", "markdown", "latex"))
    tex = RENDERERS["latex"]([HOSTILE])
    assert r"\input{x}" not in tex
    assert r"50\%" in tex
    assert r"a \& b\_c \$d\$" in tex
    page = RENDERERS["markdown"]([HOSTILE])
    assert r"\<b\>50%\</b\> \|" in page
    assert page.count("\n") == 3  # the head, its rule and one line
    assert json.loads(RENDERERS["jsonl"]([HOSTILE])) == {**asdict(HOSTILE), "evidence": []}


@pytest.fixture
def job(ran, scored):
    """A finished run of two metrics; returns its folder."""
    ran(*"run -m overlap,bm25 -p classification -s interval.resamples=0 -q".split())
    return Path("results/latest")


def test_cases_of_a_job_are_its_rows_with_evidence_and_say_what_was_judged(ran, job):
    ended = ran(*"results cases --cases 9 --format jsonl -o cases.jsonl".split())
    rows = lines_of(Path("cases.jsonl"))
    assert {row["metric"] for row in rows} == {"overlap", "bm25"}
    assert all((row["error"] == HIGH) == (row["label"] == "none") for row in rows)
    kept = {row["id"]: row for row in lines_of(job / "pairs.jsonl")[1:]}
    texts = {pair.pair_id: pair for pair in metaeval.pairs()}
    corpus = prepare(RunConfig()).corpus
    of, marked = {citation.id: citation for citation in corpus.citations}, 0
    for row in rows:
        pair = kept[row["id"]]
        assert row["score"] == pair["scores"][["overlap", "bm25"].index(row["metric"])]
        assert ("none", "partial", "full")[int(pair["level"])] == row["label"]
        assert (texts[row["id"]].statement, texts[row["id"]].source) == (row["statement"], row["citation"])
        citation, marked = of[row["id"].partition("#")[0]], marked + len(row["evidence"])
        sentences = corpus.documents[citation.document_id].sentences
        evidence = " ".join(" ".join(sentences[n].split()) for each in citation.evidence for n in each.sentences)
        assert all(row["citation"][start:end] in evidence for start, end in row["evidence"])
    assert marked
    assert "bm25: 18 cases; no threshold is known: its extreme scores" in ended.err
    assert "errors at its threshold" in ended.err
    assert "the labels were written for this package" in ended.err


def test_each_format_is_printed_and_wrong_input_is_one_sentence(ran, refused, job):
    for form, begin in {"markdown": "| metric", "latex": "% Needs", "terminal": "overlap,"}.items():
        shown = ran(*f"results cases -m overlap --cases 1 -f {form}".split()).out
        assert shown.startswith(begin)
        assert shown.count("Statement:") == 2
    says = "Unknown metric of the job 'rouge'. Known: bm25, overlap."
    assert says in refused("results", "cases", "-m", "rouge")
    Path("nope").touch()  # a file that no job wrote
    assert "nope" in refused("results", "cases", "nope")


def test_ratings_have_no_cases(ran, refused):
    Path("r.csv").write_text("id,gold,m,text\na,1,2,x\nb,2,3,y\nc,3,1,z\n")
    ran(*"evaluate -d ratings --data r.csv -s interval.resamples=0 -q".split())
    assert "holds ratings of texts without citations" in refused("results", "cases")
