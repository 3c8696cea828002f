"""Estimates, draws and gates of made-up citations: their numbers, tables and sentences, held against records."""

import base64
import gzip
import json
import random
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from metaeval.core.errors import UserError
from metaeval.decisions.analyses.gate import _write_next
from metaeval.decisions.citation_items import items_of
from metaeval.decisions.estimate import estimate, estimate_sheet
from metaeval.decisions.gate_check import check, check_sheet, junit, verdict
from metaeval.decisions.gate_fit import fit, fit_sentences, fit_sheet
from metaeval.decisions.gate_model import Terms
from metaeval.decisions.item_labels import labelled_sample, labels_of
from metaeval.decisions.item_scores import data_of
from metaeval.decisions.label_forms import FORMS
from metaeval.decisions.label_sampling import draw, write_questions
from metaeval.decisions.sample_check import _unlike, check_sample

MADE = json.loads(Path(__file__).with_name("made.json").read_text(encoding="utf-8"))
NUMBER = re.compile(r"\d[\d.,]*")
PASSING = {"hash", "date", "metric_fields", "labels", "items", "reference"}
"""Of a gate what changes with the day, the version and the packages, and long quantiles."""


def rows_of(name):
    """Rows of a table with a metric that errs, one without scores here and there, and their levels."""
    n, answers, prefix, share = MADE["sets"][name]
    chance, rows = random.Random(n + answers), []
    for number in range(n):
        level = chance.choices(["none", "partial", "full"], [share, 0.2, 0.8 - share])[0]
        score = round({"full": 0.8, "partial": 0.5, "none": 0.2}[level] + chance.gauss(0, 0.15), 3)
        source = f"They say word {number}" * (333 if name == "longer" else 1)
        texts = {"statement": f"word {number} is {'so ' * (number % 5)}", "source": source, "system": f"s{number % 2}"}
        scores = {"good": score, "gappy": None if number % 7 == 3 else score, "nothing": None}
        rows.append({"id": f"{prefix}{number}", "answer_id": f"a{number % answers}", **texts, **scores, "truth": level})
    return rows


def levels_of(rows, which=1):
    """Levels by id of each so many rows; one level of each third; or with a probability and a stratum."""
    if which == "design":
        design = [{"probability": (1 + n % 3) / 6, "stratum": n % 3} for n in range(len(rows))]
        return [{"id": row["id"], "level": row["truth"], **of} for row, of in zip(rows, design, strict=True)][::2]
    if which in ("full", "none"):
        return dict.fromkeys(levels_of(rows, 3), which)
    return {row["id"]: row["truth"] for row in rows[::which]}


def refused(call, *arguments, **options):
    try:
        return call(*arguments, **options)
    except UserError as error:
        return ["refused", str(error)]


def table_of(table):
    """The cells and notes of a table, and its records."""
    cells = [[line.name, *(getattr(cell, "text", str(cell)) for cell in line.cells)] for line in table.lines]
    return cells, [(note.label, note.text) for note in table.footer if note.label != "fitted"], table.records


def estimated(of, *given):
    """Estimates as their records have them; of the set also the table that is printed."""
    found = estimate(*given, assume_sample=True, estimand=of)
    notes = [text for _, text in found.notes], len(found.signatures), found.settings["level"], found.data.citations
    table = table_of(estimate_sheet(found))[: 2 * (of == "set")]
    return [[[*record.values()][2:] for record in found.records], notes, *table]


def test_estimates(recorded):
    rows, other = rows_of("rows"), rows_of("other")
    two = [{**row, "truth": row["truth"].replace("partial", "full")} for row in rows]
    several = [{**row, "statement": f"claim {number % 16} {number // 32}"} for number, row in enumerate(rows)]
    x, y = (replace(items_of(rows), name=name) for name in "xy")
    x = replace(x, uncited=("a1", "a1", "new"))
    both = levels_of(rows, 2) | levels_of(other, 2) | {"c1": "", "d1": ""}
    far = [{**row, "good": (n > 3) + 2 * (n > 11)} for n, row in enumerate(rows)]
    alike = {f"x/{name}": "full" for name in levels_of(rows, 3)} | {f"y/{name}": "none" for name in levels_of(rows, 5)}
    blank = [{"id": row["id"], "level": row["truth"] * (n % 5 > 0)} for n, row in enumerate(rows[::3])]
    own = [[{**row, "level": row["truth"]} for row in each] for each in (rows, other)]
    voted = [
        {"id": row["id"], "level": "full" if who and n % 4 else row["truth"], "annotator": who}
        for who in (0, 1)
        for n, row in enumerate(rows[::3])
    ]
    given = {
        "items": (rows, levels_of(rows, 2), "good"),
        "gaps": (rows, blank, "gappy"),
        "two levels": (two, levels_of(two, 2), "good"),
        "whole answers": (several, levels_of(several[1::2]), "good"),
        "above 1": (far, {f"c{n}": ("full", "none")[n < 4] for n in range(12)}, "good"),
        "two by design": (two, levels_of(two, "design"), "good"),
        "all": ([{**row, "answer_id": row["id"]} for row in rows], levels_of(rows), "good"),
        "one level": (rows, levels_of(rows, "full"), "good"),
        "design": (rows, levels_of(rows, "design"), "good"),
        "annotators": (rows, voted, "good"),
        "uncited statements": (x, levels_of(rows, 2), "good"),
        "two files": (x, both, "good", replace(items_of(other), name="y")),
        "names alike": (rows, levels_of(rows, 5) | levels_of(other, 3), "good", other),
        "other unlabelled": (rows, levels_of(rows, 2), "good", other),
        "ids alike": (x, alike, "good", y),
        "in part": (several, levels_of(several, 2), "good"),
        "one label": (rows, {"c1": "full"}, "good"),
        "no statement whole": (several, {row["id"]: row["truth"] for row in several[:16]}, "good"),
        "own levels": (*own[:1], None, "good", *own[1:]),
        "read labels": (x, labels_of(levels_of(rows, 2), x), "good"),
        "no texts": (replace(x, rows=[replace(row, statement="") for row in x.rows]), levels_of(rows, 2), "overlap"),
    }
    alone = "gaps|one level|design|annotators|other unlabelled|in part|two by design|no texts|read labels".split("|")
    each = [(name, of) for name in given for of in ("set", "process") if of == "set" or name not in alone]
    recorded.held("decisions-estimates", {f"{name}/{of}": refused(estimated, of, *given[name]) for name, of in each})


def drawn(n, design="random", unit="item", metric="good", seed=0, beside=None):
    rows = rows_of("rows")
    uneven = [{"id": "c1", "level": "full", "probability": 0.5}, {"id": "c2", "level": "none", "probability": 0.4}]
    even = [{"id": row["id"], "level": row["truth"], "probability": 0.25, "annotator": 1} for row in rows[::4]]
    labels = beside and labels_of([{**even[0], "annotator": 0}, *even] if beside == "even" else uneven, items_of(rows))
    found = draw(items_of(rows), n, design, unit, metric, seed, labels)
    existing = [*found.records_of_existing(labels)][:3] if beside else []
    return [found.rows, found.probability, found.stratum, found.unit, found.known, found.records[:1], existing]


def test_draws_of_items_to_label(recorded, tmp_path):
    found = {name: refused(drawn, *arguments) for name, arguments in MADE["draws"].items()}
    named = items_of([{**row, "question": f"q {row['answer_id']}", "answer_id": ""} for row in rows_of("few")])
    fields = [draw(items, 2).fields for items in (named, items_of(rows_of("few")))]
    write_questions(draw(named, 3), tmp_path / "page.html")
    (packed,) = re.findall(r'id="items">\n([^<]*)\n</script>', (tmp_path / "page.html").read_text(encoding="utf-8"))
    found["page"] = json.loads(gzip.decompress(base64.b64decode(packed)))
    recorded.held("decisions-draws", found | {"fields": fields, "forms": FORMS, "data": vars(data_of(named))})


def fitted_to(name):
    rows, which, metrics, terms = MADE["fits"][name]
    terms = Terms(**{"max_missed": 0.4, "max_flagged": 0.6} | terms)
    return fit(rows_of(rows), levels_of(rows_of(rows), which), metrics, terms, assume_sample=True)


def told(name):
    found = fitted_to(name)
    each = [[one.precision, one.passes, one.labels, one.more, one.chosen, one.best] for one in found.candidates]
    gate = found.gate and {name: value for name, value in found.gate.model_dump().items() if name not in PASSING}
    drift = found.gate and {name: [of.quantiles[::50], of.effective] for name, of in found.gate.reference.items()}
    counts = found.needed, found.there, found.effective, found.wanted, found.left, found.unscored
    return [each, gate, drift, counts, fit_sentences(found), *table_of(fit_sheet(found))[:2]]


def checked(rows, *arguments):
    found = check(rows, *arguments)
    known = found.flagged, found.unsupported, found.drifted, found.drift, found.below[:4], len(found.below)
    ways = [(verdict(found, how), junit(found, how)) for how in (False, True)]
    said = [(sentence[:6], sentence, xml.count("<failure"), NUMBER.findall(xml)[:150]) for sentence, xml in ways]
    return [*known, *map(str, found.drift), said, *table_of(check_sheet(found))]


def test_gates_and_checks(recorded, tmp_path):
    found = {f"fit {name}": refused(told, name) for name in MADE["fits"]}
    found |= {
        f"{name} {value:g}": refused(lambda **of: vars(Terms(**of)), **{name: value}) for name, value in MADE["terms"]
    }
    gates = {name: fitted_to(name).gate for name in ("gate", "mean", "gaps")}
    for name, (rows, gate, *most) in MADE["releases"].items():
        found[f"check {name}"] = refused(checked, rows_of(rows), gates[gate], *most)
    last = replace(fitted_to("few labels"), wanted=(2.0, 9.0), left=2)
    assert _write_next(last, "good", None, tmp_path / "next.csv", []) == [tmp_path / "next.csv"]
    recorded.held("decisions-gates", found)


@pytest.mark.parametrize("unit", ["item", "answer"])
def test_samples_that_cannot_be_random(unit, recorded, monkeypatch):
    """With odds of 1 every sample is refused, which says how unlikely it is and by what."""
    monkeypatch.setattr("metaeval.decisions.sample_check.ODDS", 1.0)
    rows, found = rows_of("sixty"), {}
    items, scores = items_of(rows), {"good": np.array([row["good"] for row in rows])}
    for name, picked in MADE["samples"].items():
        chance = [{"probability": MADE["chances"][name][n // 30]} if name in MADE["chances"] else {} for n in picked]
        labels = [
            {"id": rows[n]["id"], "level": "full", "unit": unit, **of} for n, of in zip(picked, chance, strict=True)
        ]
        found[name] = refused(check_sample, items, labelled_sample(items, labels_of(labels, items)), scores)
    values = np.array([scores["good"], np.arange(60) % 7]).T - [scores["good"].mean(), 3]
    for name in ("first", "every third", "even", "all"):
        found[f"p {name}"] = _unlike(
            values, items.groups if unit == "answer" else np.arange(60), np.array(MADE["samples"][name])
        )
    recorded.held(f"decisions-samples-{unit}", found)
