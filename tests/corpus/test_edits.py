"""Edits made by rule: what each rule writes, what it refuses, and how many there are on the published sets."""

import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from metaeval import pairs
from metaeval.core.errors import UserError
from metaeval.corpus.edit_rules import LONGEST, EditCase, EditTexts
from metaeval.corpus.edits import KINDS, edited_pairs, kinds_of
from metaeval.corpus.model import SupportLevel
from metaeval.corpus.pair_table import Pair
from metaeval.scoring.engine import score_pairs
from metrics_zoo.bm25 import BM25
from metrics_zoo.overlap import Overlap
from metrics_zoo.rouge import Rouge

DATA = Path(__file__).parents[3] / "shared" / "data"
OTHERS = [
    EditTexts("It is another page.", "Page."),
    EditTexts("Whales sing in winter.", "Whales were heard in winter. They sang."),
]


def edited(kind, statement, source="", evidence=()):
    return KINDS[kind].edit(EditCase(statement, source, evidence, iter(OTHERS), Random("0")))


# EditKind, statement, source, and the statement after the edit; None where the rule refuses.
STATEMENTS = [
    ("month", "It opened on 5 March 2010.", "Opened on 5 March 2010.", "It opened on 5 April 2010."),
    ("month", "It opened in June.", "June, no Jan, Mar, Apr, May, Jul, Aug, Sept, Oct, Nov", "It opened in December."),
    ("month", "It ran from May to June 2010.", "From May to June 2010.", None),
    ("month", "It may open in 2010.", "In May 2010.", None),
    ("month", "It opened in June.", "It opened early.", None),
    ("year", "It opened in 1990.", "In 1990; 1983 1984 1985 1986 1987 1993 1994 1995 1996.", "It opened in 1997."),
    ("year", "It opened in 1990.", "Opened.", None),
    ("year", "It has stood since 1990.", "It has stood since 1990.", None),
    ("year", "It won the 1990 FIFA World Cup.", "The 1990 FIFA World Cup.", None),
    ("year", "It opened in 1990 and closed in 1999.", "From 1990 to 1999.", None),
    ("year", "It has room for 1990 people.", "For 1990 people.", None),
    ("year", "It keeps the 1990 letters.", "The 1990 letters.", None),
    ("year_in", "It opened in 1990.", "It opened in 1990. The mayor died in 1985.", "It opened in 1985."),
    ("year_in", "The station opened in 1990.", "The station opened in 1990. The station opened again in 1985.", None),
    ("year_in", "It opened in 1990.", "It opened in 1990, and the castle dates from 1602.", None),
    ("place", "He was an Irish poet.", "An Irish poet.", "He was an Algerian poet."),
    ("place", "The firm is based in Madrid, Spain.", "In Spain.", None),
    ("place", "It sells in Spain and Portugal.", "In Spain and Portugal.", None),
    ("place", "It is in the Bank of Spain Museum.", "In the Bank of Spain Museum.", None),
    ("place", "It could win in Spain.", "In Spain.", None),
    ("place", "It is in the United States.", "In the United States.", None),
    ("negation", "The firm is based in Spain.", "", "The firm is not based in Spain."),
    ("negation", "Birds can fly.", "", "Birds cannot fly."),
    ("negation", "It has been sold.", "", "It has not been sold."),
    ("negation", "Soap is a thing that helps.", "", "Soap is not a thing that helps."),
    ("negation", "It is known that it helps.", "", None),
    ("negation", "It can trap, hold, and move dust.", "", "It cannot trap, hold, and move dust."),
    ("negation", "Is it sold?", "", None),
    ("negation", "All of it is sold.", "", None),
    ("negation", "The shop, which is old, was sold.", "", None),
    ("negation", "It opened and was sold.", "", None),
    ("negation", "It was sold and closed.", "", None),
    ("negation", "It is about 5 km long.", "", None),
    ("negation", "It is old. It was sold.", "", None),
    ("join", "It is old", "It is old.", "It is old. Whales sing in winter."),
    ("join", "It is old", "Whales sing in winter.", None),
    ("form", "It opened on 5 March 2010.", "", "It opened on March 5, 2010."),
    ("form", "It opened on March 5, 2010.", "", "It opened on 5 March 2010."),
    ("form", "It cost 12,500 dollars.", "", "It cost 12500 dollars."),
    ("form", "It cost 1250000 dollars.", "", "It cost 1,250,000 dollars."),
    ("form", "It grew by 4.5 %.", "", "It grew by 4.5 per cent."),
    ("form", "It grew by 4 percent.", "", "It grew by 4%."),
    ("form", "It ran from 2 to 5 March 2010.", "", None),
    ("form", "It cost 2010 dollars.", "", None),
    ("form", "It ran on March 2–5.", "", None),
    ("form", 'He said "it grew by 4 percent".', "", None),
    ("synonym", "Nearly all, such as this.", "", "Nearly all, like this."),
    ("synonym", "It is an almost-new beast.", "", None),
    ("spaces", "It is so.", "", "It  is  so."),
    ("case", "It OPENED.", "", "it opened."),
    ("unicode", 'It\'s a "fine" café.', "", "It’s a “ﬁne” cafe\u0301."),
    ("unicode", "It is so.", "", None),
    ("mark", "It opened.", "", "It opened [1]."),
    ("mark", "It opened", "", "It opened [1]"),
    ("denied", "The hall is old.", "", "It has been claimed that the hall is old, but this is false."),
    ("denied", "Paris is old!", "", "It has been claimed that Paris is old, but this is false."),
    ("denied", "Is it old?", "", None),
    ("denied", "However, it is old.", "", None),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "statement", "source", "expected"), STATEMENTS)
def test_rules_that_edit_the_statement(kind, statement, source, expected):
    texts = edited(kind, statement, source)
    assert isinstance(texts, str) if expected is None else texts == (expected, source)


# EditKind, statement, source, marked sentences, and the source after the edit; None where the rule refuses.
SOURCES = [
    ("delete", "The hall opened early.", "One. The hall opened early. Two.", ["The hall opened early."], "One. Two."),
    ("delete", "The hall opened early.", "The hall had opened. So it did.", ["So it did."], None),
    ("delete", "The hall opened early.", "The hall opened early.", [], None),
    ("delete", "The hall opened early.", "It did.", ["It did."], None),
    ("delete", "The hall opened early.", "level Levels of Cleveland.", ["level"], "Levels of Cleveland."),
    ("swap_far", "Whales sing in winter.", "Whales do.", [], "Page."),
    ("bullets", "x", "One is. Two is.", [], "- One is.\n- Two is."),
    ("reordered", "x", "One is. Two is.", [], "Two is. One is."),
    ("reordered", "x", "One is.", [], None),
    ("foreign", "Whales sing in winter.", "Whales do.", [], "Page.\n\nWhales do."),
    ("keywords", "The old hall opened.", "Page.", [], "Page.\n\nKeywords: hall, opened"),
    ("keywords", "Then then THEN tHen.", "Page.", [], "Page.\n\nKeywords: THEN, Then, tHen, then"),
    ("keywords", "It is so.", "Page.", [], None),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "statement", "source", "evidence", "expected"), SOURCES)
def test_rules_that_edit_the_source(kind, statement, source, evidence, expected):
    texts = edited(kind, statement, source, evidence)
    assert isinstance(texts, str) if expected is None else texts == (statement, expected)


def test_a_mirror_edits_both_texts_and_only_whole_words():
    statement, source = edited("mirror", "It opened in 1990.", "It opened in 1990, as 19901 and 1890.")
    year = statement.removeprefix("It opened in ").rstrip(".")
    assert (abs(int(year) - 1990) in range(3, 8), source) == (True, f"It opened in {year}, as 19901 and 1890.")
    for told in (
        "In Norway, the Norwegian hall in 1990.",
        "It opened in 1990, and shut in 1995.",
        "Open 1990 (1/4/90).",
    ):
        assert isinstance(edited("mirror", "The hall in Norway opened in 1990.", told), str)


def pair(name, statement="It opened in 1990.", source="Opened in 1990.", level=SupportLevel.FULL, group="g"):
    return Pair(name, name, name, 0, name, group, level, level, statement, source, 1.0)


def test_levels_ids_and_counts():
    none = pair("n", "The museum was closed.", level=SupportLevel.NONE)
    long = pair("l", "It opened in 1990." + " So." * LONGEST, level=SupportLevel.FULL)
    data = [pair("f"), pair("copy"), none, pair("p", "Partly.", level=SupportLevel.PARTIAL), long]
    # Labels that the words speak against are not built on where an edit keeps them.
    data += [pair("says", "The hall opened.", level=SupportLevel.NONE), pair("silent", "Museums closed.", "Opened.")]
    rows, edits, counts = edited_pairs(data, kinds_of(["keywords", "year", "mark", "denied"]), 0, lambda row: ())
    assert [(row.pair_id, row.level.label, row.group) for row in rows] == [
        ("f", "full", "g"), ("f~year", "none", "g"), ("f~mark", "full", "g"), ("f~denied", "none", "g"),
        ("n", "none", "g"), ("n~keywords", "none", "g"), ("silent", "full", "g"), ("silent~denied", "none", "g"),
    ]  # fmt: skip
    assert edits["f"] == ("original", "f")
    assert edits["n~keywords"] == ("keywords", "n")
    assert [line.split(";")[0] for line in counts] == [
        "year: 1 edit of 3 pairs", "mark: 1 edit of 3 pairs", "denied: 2 edits of 3 pairs",
        "keywords: 1 edit of 2 pairs",
    ]  # fmt: skip


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
        ([pair("f")], ["keywords"]),  # no pair of the kind's level
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
    for wrong in ({"edit": "yaer"}, {"edit": "year", "unit": "statement"}):
        with pytest.raises(UserError):
            pairs(**wrong)


# Edits of each kind on WiCE (dev and test), ExpertQA and Factcheck-GPT together: at least these. The rules of a
# prototype made 117 year, 50 month, 617 negation, 66 place, 224 delete and 73 year_in.
FEWEST = {"year": 85, "month": 35, "negation": 450, "place": 50, "delete": 160, "year_in": 70, "join": 2000}


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
