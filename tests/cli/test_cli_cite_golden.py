"""`metaeval cite` in the released profiles against the official outputs: the whole way, with a metric of one's own.

tests/golden holds what the unmodified ALCE (246c476) and ALiiCE (7665642) code gave for 13 answers, with a rule in
place of the NLI model; here the same rule is a metric in a file.
"""

import json
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parents[1] / "golden"
# The rule as the golden file words it (`nli_rule`).
RULE = """
import re
from metaeval.scoring.contract import Metric, MetricCard, PairScore

STOP = set("the and was were with from that this have has are for its through".split())

def words(text):
    return {word for word in re.findall(r"[a-z0-9]+", text.lower()) if len(word) >= 3 and word not in STOP}

class Rule(Metric):
    card = MetricCard(name="rule", family="f", summary="s", paper="p", licence="l", low=0.0, high=1.0)

    def score(self, sources, statements):
        return [PairScore(float(bool(words(b)) and words(b) <= words(a))) for a, b in zip(sources, statements)]
"""
# The sub-questions of the official input are not stored; these give every stored str_em.
QA_PAIRS = [{"short_answers": ["Danish"]}, {"short_answers": ["four"]}]


@pytest.fixture
def golden(tmp_path, punkt_data):
    """The official outputs of a pipeline, with its input written as a file and the rule as a module."""
    (tmp_path / "official_rule.py").write_text(RULE)

    def read(pipeline):
        found = json.loads((GOLDEN / f"{pipeline}_eval.json").read_text())
        items = [
            {"question": "", "output": case["raw_output"], "docs": found["docs"], "qa_pairs": QA_PAIRS}
            for case in found["cases"]
        ]
        (tmp_path / "official.json").write_text(json.dumps({"data": items}))
        return found

    return read


def run(cli, tmp_path, pipeline):
    judge = ("--nli", "official_rule:Rule", "--threshold", "1", "--profile", "released", "-s", "splitter=nltk")
    assert cli("cite", pipeline, "official.json", *judge, "--set", "interval.resamples=10").code == 0
    folder = tmp_path / "results" / "latest"
    values = {}
    for name in ("citation-scores", "answers"):
        for record in json.loads((folder / f"{name}.json").read_text())["records"]:
            values[record["measure"]] = record["value"]
    rows = (folder / "per-answers-official_rule_Rule.jsonl").read_text().splitlines()
    return values, [json.loads(row) for row in rows]


def check_rows(rows, cases, names):
    """Recall and precision of each answer are the official ones."""
    for row, case in zip(rows, cases, strict=True):
        own = [None if row[key] is None else 100 * row[key] for key in ("recall", "precision")]
        official = [case[name] for name in names]
        assert own == [None if value is None else pytest.approx(value, abs=1e-12) for value in official]


def test_alce_is_the_official_evaluation(cli, golden, tmp_path):
    found = golden("alce")
    corpus = found["corpus"]
    values, rows = run(cli, tmp_path, "alce")
    assert 100 * values["recall"] == pytest.approx(corpus["citation_rec"], abs=1e-12)
    assert 100 * values["precision"] == pytest.approx(corpus["citation_prec"], abs=1e-12)
    assert values["length"] == pytest.approx(corpus["length"], abs=1e-12)
    assert 100 * values["str_em"] == pytest.approx(corpus["str_em"], abs=1e-12)
    assert 100 * values["str_hit"] == pytest.approx(corpus["str_hit"], abs=1e-12)
    check_rows(rows, found["cases"], ["citation_rec", "citation_prec"])


def test_aliice_is_the_official_evaluation(cli, golden, tmp_path):
    found = golden("aliice")
    values, rows = run(cli, tmp_path, "aliice")
    assert 100 * values["recall"] == pytest.approx(found["corpus"]["citation_recall"], abs=1e-12)
    assert 100 * values["precision"] == pytest.approx(found["corpus"]["citation_precision"], abs=1e-12)
    assert values["cvcp"] == pytest.approx(found["corpus"]["cv"], abs=1e-12)
    check_rows(rows, found["cases"], ["citation_recall", "citation_precision"])
