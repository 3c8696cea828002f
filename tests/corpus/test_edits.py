"""Edits made by rule: what each rule writes, what it refuses, and how many there are on the published sets."""

import json
from collections import Counter
from itertools import starmap
from pathlib import Path
from random import Random

import pytest
from sklearn.metrics import cohen_kappa_score

from metaeval import pairs
from metaeval.core.errors import UserError
from metaeval.corpus import edit_rules as rules
from metaeval.corpus.edit_rules import LONGEST, EditCase, EditTexts
from metaeval.corpus.edits import KINDS, READ, edited_pairs, kinds_of
from metaeval.corpus.model import SupportLevel
from metaeval.corpus.pair_table import Pair
from metaeval.scoring.engine import score_pairs
from metrics_zoo.bm25 import BM25
from metrics_zoo.overlap import Overlap
from metrics_zoo.rouge import Rouge

# [kind, statement, source, (marked sentences,) the text after the edit, or null where the rule refuses(, seed)].
CASES = json.loads(Path(__file__).with_name("edits.json").read_text(encoding="utf-8"))
DATA = Path(__file__).parents[3] / "shared" / "data"
OTHERS = [("It is another page.", "Page."), ("Whales sing in winter.", "They were there. They sang.")]


def edited(kind, statement, source="", evidence=(), others=OTHERS, seed="0"):
    return KINDS[kind].edit(EditCase(statement, source, evidence, starmap(EditTexts, others), Random(seed)))


def test_rules_edit_one_text_or_refuse():
    for kind, statement, source, expected in CASES["statements"]:
        texts = edited(kind, statement, source)
        assert isinstance(texts, str) if expected is None else texts == (expected, source), (kind, statement)
    for kind, statement, source, evidence, expected, *seed in CASES["sources"]:
        texts = edited(kind, statement, source, evidence, OTHERS, *seed)
        assert isinstance(texts, str) if expected is None else texts == (statement, expected), (kind, statement)


def test_what_each_kind_makes_of_each_pair(recorded):
    """Of an edited text the words that were not there, those that are there no more, and its length."""

    def change(old, new):
        own, others = old.split(), new.split()
        return [[word for word in others if word not in own], [word for word in own if word not in others], len(new)]

    made = {}
    for number, (kinds, statement, source, *more) in enumerate(CASES["pairs"]):
        for kind in kinds.split():
            texts = edited(kind, statement, source, *more)
            if not isinstance(texts, str):
                pairs = zip((statement, source), texts, strict=True)
                made.setdefault(kind, {})[number] = [change(*pair) if pair[0] != pair[1] else "" for pair in pairs]
            else:
                assert texts
        case = EditCase(statement, source, (), (), Random("0"))
        for find in (rules.months, rules.years, rules.years_in, rules.places) if "mirror" in kinds else ():
            swaps = [[place, old, len(new), *new[:1], *new[-1:]] for place, old, new in find(case)]
            made.setdefault(find.__name__, {})[number] = swaps
    recorded.held("corpus-edits", made)


def test_a_mirror_edits_both_texts_and_only_whole_words():
    statement, source = edited("mirror", "It opened in 1990.", "It opened in 1990, as 19901 and 1890.")
    year = statement.removeprefix("It opened in ").rstrip(".")
    assert (abs(int(year) - 1990) in range(3, 8), source) == (True, f"It opened in {year}, as 19901 and 1890.")
    assert isinstance(edited("mirror", "The hall is in Norway.", "In Norway, the Norwegian hall."), str)
    for told in ("Opened in 1990, shut in 1995.", "Opened in 1990 (1/4/90)."):
        assert isinstance(edited("mirror", "It opened in 1990.", told), str)


def pair(name, statement="It opened in 1990.", source="Opened in 1990.", level=SupportLevel.FULL, group="g"):
    return Pair(name, name, name, 0, name, group, level, level, statement, source, 1.0)


def test_levels_ids_and_counts(recorded):
    none = pair("n", "The museum was closed.", level=SupportLevel.NONE)
    long = pair("l", "It opened in 1990." + " So." * LONGEST, level=SupportLevel.FULL)
    data = [pair("f"), pair("copy"), none, pair("p", "Partly.", level=SupportLevel.PARTIAL), long]
    # A label of support that the words speak against is not kept by an edit.
    data += [pair("says", "The hall opened.", level=SupportLevel.NONE), pair("silent", "Museums closed.", "Opened.")]
    data.append(pair("half", "Museums closed.", "Museums opened."))
    data.append(pair("limit", "It opened in 1990." + " So." * 495 + "..", "Opened in 1990. It.", group="h"))
    assert len(data[-1].statement) == LONGEST
    found = {}
    for names in (["instruction", "year", "mark", "denied"], ["attack"], ["destroying", "bullets"], ["harmless"]):
        rows, edits, counts = edited_pairs(data, kinds_of(names), 0, lambda row: ["Opened."])
        texts = [[row.pair_id, row.level, row.citation_level, row.held, row.group, len(row.source)] for row in rows]
        found[" ".join(names)] = [texts, edits, [recorded.named(line) for line in counts]]
    recorded.held("corpus-edited", found)


def test_an_edit_depends_on_the_seed_and_not_on_other_kinds():
    data = [pair(str(n), source="In 1990. " * n) for n in range(1, 30)]
    some, _, _ = edited_pairs(data, ["year"], 0, lambda row: ())
    more, edits, _ = edited_pairs(data, kinds_of(["destroying"]), 0, lambda row: ())
    others, _, _ = edited_pairs(data, ["year"], 1, lambda row: ())
    assert some == [row for row in more if edits[row.pair_id][0] in ("original", "year")]
    assert some != others


@pytest.mark.parametrize(
    ("data", "kinds"),
    [
        ([pair("f", "Das Haus ist alt und nicht mit der Stadt " * 9)], ["mark"]),  # not English
        ([pair("f", "It is so.")], ["year", "month"]),  # no edit
        ([pair("f")], ["instruction"]),  # no pair of the kind's level
    ],
)
def test_data_without_an_edit_are_refused(data, kinds):
    with pytest.raises(UserError):
        edited_pairs(data, kinds, 0, lambda row: ())


def test_the_command_writes_kind_and_original_and_the_same_bytes(tmp_path):
    def written(name, **settings):
        pairs(output=tmp_path / name, edit="destroying,form", **settings)
        return (tmp_path / name).read_bytes()

    first = written("a.jsonl")
    assert first == written("b.jsonl")
    assert first != written("c.jsonl", interval={"seed": 1})
    rows = [json.loads(line) for line in first.decode().splitlines()]
    assert {row["kind"] for row in rows} == {*kinds_of(["destroying", "form"]), "original"} - {"place"}
    by_id = {row["pair_id"]: row for row in rows}
    assert all(by_id[row["original"]]["kind"] == "original" for row in rows)
    assert {row["level"] for row in rows if row["kind"] == "join"} == {"partial"}
    assert {*pairs(edit="form").to_frame()["kind"]} == {"original", "form"}
    assert "kind" not in pairs().to_frame()
    for wrong in ({"edit": "yaer"}, {"edit": "year", "unit": "statement"}, {"edit": "delete", "unit": "evidence"}):
        with pytest.raises(UserError):
            pairs(**wrong)


# Edits of each kind on WiCE (dev and test), ExpertQA and Factcheck-GPT together: at least these. The rules of a
# prototype made 117 year, 50 month, 617 negation, 66 place, 224 delete and 73 year_in.
FEWEST = {"year": 85, "month": 35, "negation": 450, "place": 50, "delete": 160, "year_in": 70, "join": 2000}


def test_two_readers_found_nine_in_ten_edits_of_a_kind_valid():
    """By two readings, apart (v valid, p support falls to partial, i invalid), by the pair's id."""
    readings = json.loads((Path(__file__).parents[1] / "golden" / "edit_readings.json").read_text(encoding="utf-8"))
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "what-fools-a-metric.md").read_text(encoding="utf-8")
    assert readings.keys() == KINDS.keys()
    for kind, verdicts in readings.items():
        one, other = ([both[place] == "i" for both in verdicts.values()] for place in (0, 1))
        invalid = sum(map(max, one, other))
        kappa = f"{cohen_kappa_score(one, other):.2f}" if invalid else "–"
        assert READ[kind] == (str(len(one)), str(len(one) - invalid), kappa), kind
        assert f"| {kind} | {KINDS[kind].family} |" in page
        assert f"| {len(one) - invalid} of {len(one)} | {kappa} |" in page
        assert invalid <= 0.1 * len(one), kind


@pytest.fixture(scope="module")
def published():
    if not (DATA / "wice").is_dir():
        pytest.skip("needs ../shared/data")
    sets = {"wice": "all", "expertqa": None, "factcheck_gpt": None}
    kinds = [*FEWEST, "swap_far", "mirror"]
    return [pairs(dataset=name, split=split, data=DATA, edit=kinds) for name, split in sets.items()]


def test_counts_on_published_data(published):
    made = Counter(kind for rows in published for kind, _ in rows.edits.values())
    assert {kind: made[kind] for kind, least in FEWEST.items() if made[kind] < least} == {}
    assert all(
        row.level is SupportLevel.FULL for rows in published for row in rows if rows.edits[row.pair_id][0] == "original"
    )


def test_what_edits_do_to_metrics_that_count_words(published):
    """What a rule does by its make: a year of the source keeps its words, a second sentence adds some, and so on."""
    fell, same, made = Counter(), Counter(), Counter()
    for rows in published:
        texts = [(row.source, row.statement) for row in rows]
        for name, metric in {"overlap": Overlap(), "rouge": Rouge(), "bm25": BM25()}.items():
            scores = dict(zip((row.pair_id for row in rows), score_pairs(metric, texts).answers, strict=True))
            for pair_id, (kind, original) in rows.edits.items():
                before, after = scores[original].score, scores[pair_id].score
                made[name, kind] += 1
                fell[name, kind] += after < before
                same[name, kind] += after == before
    assert fell["overlap", "year_in"] == fell["bm25", "join"] == 0
    assert min(fell[name, "swap_far"] / made[name, "swap_far"] for name in ("overlap", "rouge", "bm25")) >= 0.93
    assert min(same[name, "mirror"] / made[name, "mirror"] for name in ("overlap", "rouge")) >= 0.98
