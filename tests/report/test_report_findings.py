"""Findings and first tables of made results whose truth is known: names, values, verdicts and places."""

import re

import numpy as np
import pytest

from metaeval.report.cautions import cautions
from metaeval.report.findings import findings, leading
from metaeval.report.first_table import ROWS, first_table
from metaeval.report.ranking_measures import headlines, top
from metaeval.report.result import Column, Perfect
from metaeval.report.table import short
from metaeval.report.terminal import text_of
from metaeval.stats.estimate import Estimate
from tests.report.made import AUC, DECLARATIONS, A, B, C, control, correlated, made, metric


def named(sentence):
    """The names of metrics in a sentence, each with the value behind it ("": none)."""
    return re.findall(r"\b([a-e]|m\d+|d|twin|words)\b(?: \(([\d.]+)\))?", sentence)


class TestWhoLeads:
    def said(self, *results):
        return findings(results, DECLARATIONS)[0]

    @pytest.mark.parametrize(
        ("rows", "apart", "leaders"),
        [
            ([A, B, C], [("a", "b"), ("a", "c")], "a 77.0 b c"),
            ([A, B, C], [("a", "c")], "a 77.0 b 67.0 c"),
            # None is significantly worse than the highest.
            ([C, A, B], [], "a 77.0"),
            ([C, A, B], [("b", "c")], "a 77.0"),
            ([A, B, metric("twin", *[0.77] * 4)], [], "a 77.0 twin 77.0"),
        ],
    )
    def test_leaders_have_their_values_and_those_significantly_worse_have_none(self, rows, apart, leaders):
        sentence = self.said(made(rows, apart))
        assert " ".join(text for pair in named(sentence) for text in pair if text) == leaders
        assert ("no metric is significantly worse" in sentence) == ("b" not in leaders)

    @pytest.mark.parametrize("changed", [{"difference": -0.1}, {"p": None, "holm": None}])
    def test_a_metric_that_is_only_better_on_its_own_rows_or_was_not_tested_does_not_lead(self, changed):
        # a has the higher value; on the rows that both scored b is significantly better.
        found = made([A, B], [("a", "b")])
        tests = [test.model_copy(update=changed) for test in found.significance.comparisons]
        turned = found.model_copy(update={"significance": found.significance.model_copy(update={"comparisons": tests})})
        assert "b is significantly worse" not in self.said(turned)
        assert top(headlines([turned], DECLARATIONS)[0]) == ["a", "b"]

    def test_without_a_test_nothing_is_claimed_and_one_metric_is_not_ranked(self):
        sentence = self.said(made([A, B, C], significance=None))
        assert ("significantly" in sentence, named(sentence)) == (False, [("a", "77.0")])
        assert findings([made([A])], DECLARATIONS) == []

    def test_where_no_metric_is_above_chance_nothing_else_is_claimed(self):
        rows = [metric("a", *[0.51] * 4), metric("b", *[0.4] * 4), control("random", *[0.5] * 4)]
        found = made(rows, [("a", "b")])
        apart = found.model_copy(update={"significance": found.significance.model_copy(update={"comparisons": []})})
        (only,), (same,) = (findings([one], DECLARATIONS) for one in (found, apart))
        assert ("No metric" in only, "Overall" in only, named(only), same) == (True, True, [], only)

    def test_of_three_protocols_the_highest_of_each_is_named_and_who_is_never_worse(self):
        apart = [("a", "c")], [("b", "c")]
        pair = made([A, B, C], apart[0]), correlated({"a": 0.4, "b": 0.6, "c": 0.3}, apart[1])
        highest, _, never_worse = self.said(*pair).partition(". ")
        assert "a by Overall (77.0); b by Spearman (.600)" in highest
        assert [name for name, _ in named(never_worse)] == ["a", "b"]
        same = self.said(pair[0], correlated({"a": 0.6, "b": 0.4, "c": 0.3}, [("a", "b"), ("a", "c")]))
        assert named(same) == [("a", "")]
        assert "Overall (77.0) and Spearman (.600)" in same

    def test_a_control_of_the_first_table_that_is_higher_is_named(self):
        beside = [control(name, *[0.9] * 4, control=kind) for name, kind in (("fit", "reference"), ("gold", "oracle"))]
        first = made([A, B, *beside], [("a", "b")])
        sentence = self.said(first, correlated({"a": 0.6, "b": 0.4}, [("a", "b")]))
        assert sentence.startswith("a has the highest Overall (77.0) and Spearman (.600), apart from the control fit.")

    def test_of_many_columns_each_metric_is_counted(self):
        low = metric("a", 0.1, 0.1, 0.1, 0.1)
        rows = {"one": [A, B], "two": [low, B], "three": [A, B, C]}
        results = [made(rows[name], [("a", "b"), ("a", "c")][: len(rows)], name=name) for name in rows]
        results = [made([A, B], name="four"), made([A, B, C], [("a", "c")], name="five"), *results]
        # a leads in four, five, one and three; b in four, five and two.
        assert self.said(*results).endswith("of 5 columns: a in 4; b in 3.")

    def test_in_any_table_a_name_has_its_own_value_behind_it(self):
        rng = np.random.default_rng(1)
        for _ in range(200):
            names = [f"m{place}" for place in range(rng.integers(2, 9))]
            values = rng.choice([None, *np.round(rng.random(6), 3)], len(names)).tolist()  # with ties
            pairs = [(one, other) for one in names for other in names if one < other]
            rows = [metric(name, *[value] * 4) for name, value in zip(names, values, strict=True)]
            result = made(rows, [pair for pair in pairs if rng.random() < 0.6], columns=AUC[-1:])
            shown = headlines([result], DECLARATIONS)
            behind = named(leading(shown))
            known = {(row.metric, short(each.number(row))) for each in shown for row in each.metrics}
            assert {(name, number) for name, number in behind if number} <= known
            if "; " in (sentence := leading(shown)) and "worse than the highest value." in sentence:
                leaders = [name for name, number in behind if number]
                assert leaders == top(shown[0])[: len(leaders)]


class TestControlsAndChance:
    words = control("words", 0.9, 0.5, 0.8, 0.7)
    oracle = control("oracle", 1.0, 1.0, 1.0, 1.0)

    def better(self, *rows, **more):
        sentences = findings([made([*rows, self.words, self.oracle], **more)], DECLARATIONS)
        (sentence,) = [text for text in sentences if "every control" in text]
        claim, _, best = sentence.partition("; the best control is ")
        assert best in ("words (70.0).", "twin (70.0).")
        return [name for name, _ in named(claim)]

    def flagged(self, row):
        return row.model_copy(update={"not_above": {key: ["words"] for key in row.values}})

    def test_those_above_every_control_are_named(self):
        assert self.better(A, metric("d", 0.9, 0.6, 0.8, 0.75)) == ["a", "d"]
        assert self.better(A, self.flagged(B), self.flagged(C)) == ["a"]
        assert self.better(self.flagged(B), self.flagged(C)) == []

    def test_a_control_among_the_metrics_is_not_better_than_itself(self):
        twin = metric("twin", 0.9, 0.5, 0.8, 0.7, same_scores=["words"], control="lexical")
        assert self.better(twin, self.flagged(B)) == []

    def test_who_was_not_compared_with_a_control_is_not_above_every_control(self):
        result = made([A, metric("d", 0.9, 0.6, 0.8, 0.8), self.words, control("place", 0.6, 0.6, 0.6, 0.6)])
        fewer = [one for one in result.significance.controls if (one.one, one.other) != ("a", "place")]
        for tests, claimed in ((fewer, True), ([], False)):
            tested = result.significance.model_copy(update={"controls": tests})
            texts = findings([result.model_copy(update={"significance": tested})], DECLARATIONS)
            assert any(named(text)[0] == ("d", "80.0") for text in texts if "every control" in text) is claimed

    def test_abilities_are_of_metrics_above_chance_by_the_headline_too(self):
        random = control("random", *[0.5] * 4)
        below = metric("c", 0.9, 0.5, 0.9, 0.49)
        texts = findings([made([A, B, below, random])], DECLARATIONS)
        by = {part.partition(",")[0]: named(part) for part in texts[-1].split("by ")[1:]}
        both = {"FS-NS": [("a", "90.0"), ("b", "80.0")], "PS-NS": [("a", "80.0"), ("b", "70.0")]}
        assert by == {**both, "FS-PS": [("a", "60.0")]}


class TestCautions:
    def test_a_missing_level_takes_its_measures(self):
        lost = metric("a", 0.9, None, None, None)
        found = made([lost, metric("b", 0.8, None, None, None)], levels=(30, 0, 70))
        assert "No pair is partial, so FS-PS, PS-NS and Overall cannot be computed." in cautions([found])
        # The headline is then the first measure that has a value.
        assert [one.column.key for one in headlines([found], DECLARATIONS)] == ["fs_ns"]

    def test_chunks_that_are_left_out_name_the_unit_that_keeps_them(self):
        left = ({"excluded": {"no level": n}, "scored": 100 - n} for n in (50, 10))
        many, few = (made([A.model_copy(update=update)]) for update in left)
        citations = many.model_copy(update={"unit": "citation"})
        assert [text.split()[:3] for text in cautions([many])] == [["50", "of", "100"]]
        assert cautions([few]) == cautions([citations]) == []

    def test_a_level_that_holds_parts_of_evidence_says_what_can_be_had(self):
        values = {"fs_ps": {"full support": 0.633, "any support": 0.5}, "ps_ns": {"full support": 0.5}}
        found = [made([A], perfect=Perfect(values=values, full=266, incomplete=parts)) for parts in (195, 0)]
        (caution,) = cautions([found[0], found[0]])
        assert caution.startswith("195 of the 266 pairs")
        assert "FS-PS 63.3, PS-NS 50.0" in caution
        assert cautions(found[1:]) == []


def test_nothing_scored_says_so_and_why():
    values = {key: Estimate(None, note="no scored pairs") for key in A.values}
    lost = {"values": values, "scored": 0, "unscored": 100, "statuses": {"error": 100}}
    result = made([A.model_copy(update=lost)])
    assert findings([result], DECLARATIONS) == ["No metric has a value: no scored pairs."]
    assert any("a 100 of 100 (error)" in note.text for note in first_table([result], DECLARATIONS).footnotes)
    assert "–§¹" in text_of(first_table([result], DECLARATIONS), 80)


class TestFirstTable:
    words = control("overlap", 0.9, 0.5, 0.8, 0.7, control="lexical")
    learnt = metric("support-mini", 0.9, 0.6, 0.8, 0.71, control="reference")

    def three(self, rows):
        values = {row.metric: 0.3 for row in rows if row.kind == "metric"}
        ranked = correlated(values)
        columns = [Column(key="pearson", label="NDCG@5")]
        retrieval = ranked.model_copy(update={"protocol": "retrieval", "columns": columns})
        return [ranked, made(rows), retrieval]

    def test_the_verdict_against_word_overlap_stands_behind_the_measure_that_decides(self):
        rows = [A, B, C, self.learnt, self.words]
        grid = first_table(self.three(rows), DECLARATIONS)
        assert grid.headings == ("Spearman", "Overall", "Overall v. overlap", "NDCG@5")
        groups = {"correlation": 1, "classification": 2, "retrieval": 1}
        assert [(group.title, group.columns) for group in grid.groups] == [*groups.items()]
        verdicts = {line.name: line.cells[2].number for line in grid.lines}
        assert verdicts == {"a": "better", "b": "n.s.", "c": "worse", "overlap": "–", "support-mini": "n.s."}
        assert [(block.title, len(block.lines)) for block in grid.blocks] == [("", 3), ("controls", 2)]
        assert not any(cell.marks for line in grid.lines for cell in line.cells)
        areas = tuple(column.label for column in AUC)
        assert first_table([made(rows)], DECLARATIONS).headings == (*areas, "Overall v. overlap")
        assert first_table([made([A, self.words], significance=None)], DECLARATIONS).headings == areas

    def test_of_many_metrics_the_best_are_shown_and_the_rest_counted(self):
        rows = [metric(f"m{number}", 0.5, 0.5, 0.5, 0.5 + number / 100) for number in range(ROWS + 3)]
        grid = first_table([made(rows)], DECLARATIONS)
        assert [line.name for line in grid.lines] == [f"m{number}" for number in range(ROWS + 2, 2, -1)]
        assert any("3 more metrics" in note.text for note in grid.footnotes)
        below = first_table([correlated({"a": -0.4, "b": 0.0, "c": 0.1})], DECLARATIONS, most=2)
        assert [line.name for line in below.lines] == ["c", "b"]

    def test_a_hostile_name_reaches_the_terminal_as_plain_text(self):
        result = made([metric("a\x1b[31m[bold]", 0.9, 0.6, 0.8, 0.77), B])
        assert "\x1b" not in text_of(first_table([result], DECLARATIONS), 80)
        assert "\x1b" not in "".join(findings([result], DECLARATIONS))
