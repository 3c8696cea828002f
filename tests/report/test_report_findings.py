"""Findings: each rule on a made result whose truth is known, and headline tables of every shape."""

from __future__ import annotations

import re

import numpy as np
import pytest

from metaeval import registry
from metaeval.report.cautions import cautions
from metaeval.report.findings import findings, leading
from metaeval.report.ranking_measures import headlines
from metaeval.report.result import Column, Comparison, Data, Interval, Ledger, Perfect, Result, Row, Significance, Value
from metaeval.report.result_tables import ROWS, headline_grid, suite_grid
from metaeval.report.significance_verdicts import top
from metaeval.report.terminal import text_of
from metaeval.runs.evaluation import declarations_of

AUC = [
    Column(key=key, label=label, scale=100.0, digits=1)
    for key, label in (("fs_ns", "FS-NS"), ("fs_ps", "FS-PS"), ("ps_ns", "PS-NS"), ("overall", "Overall"))
]
SPEARMAN = [Column(key="pearson", label="Pearson"), Column(key="spearman", label="Spearman")]
DECLARATIONS = declarations_of(
    registry.find("protocol", name) for name in ("classification", "correlation", "retrieval")
)


def area(value, half=0.02, **more):
    """A value with an interval of this half width; None: undefined."""
    return (
        Value(value=None, note="no row is PARTIAL")
        if value is None
        else Value(value=value, low=value - half, high=value + half, **more)
    )


def metric(name, *areas, kind="metric", half=0.02, **more):
    """A row of the four areas."""
    values = dict(zip(("fs_ns", "fs_ps", "ps_ns", "overall"), (area(one, half) for one in areas), strict=True))
    given = {"total": 100, "scored": 100, "unscored": 0, "signature": f"metric:{name}", **more}
    return Row(metric=name, kind=kind, values=values, **given)


def control(name, *areas, **more):
    """A control's row of the four areas."""
    return metric(name, *areas, kind="control", **more)


def against(rows, columns):
    """Tests of every metric against every control but the oracle and those that have its own scores.

    A metric is significantly above from .02 on, unless it has a mark, and significantly below from .05 on.
    """
    tests = []
    for column in columns:
        known = [row for row in rows if column.key in row.values and row.values[column.key].value is not None]
        for row in (row for row in known if row.kind == "metric"):
            for other in (row for row in known if row.kind == "control" and row.metric != "oracle"):
                if other.metric in row.same_scores:
                    continue
                difference = row.values[column.key].value - other.values[column.key].value
                higher = difference >= 0.02 and other.metric not in row.not_above.get(column.key, [])
                p = 0.001 if higher or difference <= -0.05 else 0.5
                name = {"measure": column.key, "one": row.metric, "other": other.metric}
                tests.append(Comparison(**name, rows=100, difference=difference, p=p, holm=p))
    return tests


def made(rows, apart=(), groups=40, name="made", protocol="classification", columns=AUC, levels=(30, 20, 50), **more):
    """A result of these rows; apart: the pairs of metrics that the test tells apart, under every measure."""
    metrics = [row.metric for row in rows if row.kind == "metric"]
    pairs = [(one, other) for number, one in enumerate(metrics) for other in metrics[number + 1 :]]
    values = {row.metric: {key: value.value or 0.0 for key, value in row.values.items()} for row in rows}
    comparisons = [
        Comparison(
            measure=column.key,
            one=one,
            other=other,
            rows=100,
            difference=values[one].get(column.key, 0.0) - values[other].get(column.key, 0.0),
            p=0.001 if {one, other} in map(set, apart) else 0.5,
            holm=0.001 if {one, other} in map(set, apart) else 1.0,
        )
        for column in columns
        for one, other in pairs
    ]
    controls = against(rows, columns)
    tested = None
    if pairs or controls:
        tested = Significance(permutations=1000, seed=0, alpha=0.05, comparisons=comparisons, controls=controls)
    given = {"interval": Interval(resamples=1000, seed=0, level=0.95), "significance": tested, **more}
    return Result(
        protocol=protocol,
        title=protocol,
        unit="chunk",
        settings={},
        data=Data(
            name=name,
            split="test",
            fingerprint="0" * 64,
            statements=10,
            documents=10,
            citations=10,
            groups=groups,
            levels=dict(zip(("full", "partial", "none"), levels, strict=True)),
        ),
        columns=columns,
        rows=rows,
        **given,
    )


def correlated(values, apart=(), name="made"):
    """The same metrics under correlation: name to Spearman's rho."""
    rows = [
        Row(
            metric=one,
            kind="metric",
            values={"pearson": area(rho), "spearman": area(rho)},
            total=100,
            scored=100,
            unscored=0,
            signature="",
        )
        for one, rho in values.items()
    ]
    return made(rows, apart, protocol="correlation", columns=SPEARMAN, name=name)


A = metric("a", 0.9, 0.6, 0.8, 0.77)
B = metric("b", 0.8, 0.5, 0.7, 0.67)
C = metric("c", 0.7, 0.5, 0.6, 0.6)


def first(*results):
    """The sentence about who leads."""
    return findings(results, DECLARATIONS)[0]


class TestWhoLeads:
    def test_a_clear_winner_is_better_than_each_other_metric(self):
        found = made([A, B, C], apart=[("a", "b"), ("a", "c")])
        assert first(found) == "a (77.0) is significantly better than every other metric by Overall."

    def test_of_two_metrics_both_values_are_named(self):
        found = first(made([B, A], apart=[("a", "b")]))
        assert found == "a (77.0) is significantly better than b (67.0) by Overall."

    def test_nobody_is_told_apart(self):
        found = first(made([C, A, B]))
        assert found == "By Overall, no two metrics are significantly different; a (77.0) has the highest value."

    def test_nobody_is_told_apart_from_the_best_but_others_are(self):
        # b and c differ from each other, neither from the best.
        assert (
            first(made([A, B, C], apart=[("b", "c")]))
            == "By Overall, no metric is significantly worse than the highest; a (77.0) has the highest value."
        )

    def test_some_are_not_told_apart_from_the_best(self):
        found = first(made([A, B, C], apart=[("a", "c")]))
        assert found == "a (77.0) and b (67.0) lead by Overall: the others are significantly worse than the highest."

    def test_leaders_of_which_another_is_highest_elsewhere(self):
        apart = [("a", "c")], [("b", "c")]
        found = first(made([A, B, C], apart[0]), correlated({"a": 0.4, "b": 0.6, "c": 0.3}, apart[1]))
        assert found == "a and b lead by Overall and Spearman: the others are significantly worse than the highest."

    @pytest.mark.parametrize("columns", [1, 2])
    def test_in_any_table_a_name_has_its_own_value_behind_it(self, columns):
        rng = np.random.default_rng(columns)
        for _ in range(200):
            results = []
            for number in range(columns):
                names = [f"m{place}, large" if place % 3 else f"m{place}" for place in range(rng.integers(2, 9))]
                values = rng.choice([None, *np.round(rng.random(6), 3)], len(names)).tolist()  # with ties
                pairs = [(one, other) for one in names for other in names if one < other]
                rows = [metric(name, *[value] * 4) for name, value in zip(names, values, strict=True)]
                apart = [pair for pair in pairs if rng.random() < 0.6]
                results.append(made(rows, apart, name=f"set {number}", columns=AUC[-1:]))
            shown = headlines(results, DECLARATIONS)
            sentence = leading(shown)
            known = {(row.metric, each.number(row)) for each in shown for row in each.metrics}
            behind = re.findall(r"(m\d(?:, large)?)(?: \(([\d.]+)\))?", sentence)
            assert {pair for pair in behind if pair[1]} <= known
            assert len(re.findall(r"\([\d.]+\)", sentence)) == sum(bool(number) for _, number in behind)
            if columns == 1 and " lead by " in sentence:
                assert [name for name, number in behind if number] == top(shown[0])[: len(behind)]

    def test_equal_highest_values_are_all_named(self):
        twin = metric("twin", 0.9, 0.6, 0.8, 0.77)
        assert first(made([A, B, twin])).endswith("a (77.0) and twin (77.0) have the highest value.")

    def test_values_on_different_rows_are_not_compared(self):
        lost = metric("d", 0.9, 0.6, 0.8, 0.9, total=100, scored=60, unscored=40, statuses={"error": 40})
        for apart in ([], [("a", "b")]):
            assert "highest value" not in first(made([A, B, lost], apart))
        # Each was tested on its own rows: that d is above the control does not set it against b.
        words = control("words", 0.9, 0.5, 0.8, 0.7)
        assert "Only" not in " ".join(findings([made([lost, B, words])], DECLARATIONS))
        assert "Only a " in " ".join(findings([made([A, B, words])], DECLARATIONS))

    def test_a_metric_that_is_only_better_on_its_own_rows_is_not_better(self):
        # a has the higher value; on the rows that both scored b is significantly better.
        found = made([A, B], [("a", "b")])
        tests = [test.model_copy(update={"difference": -0.1}) for test in found.significance.comparisons]
        turned = found.model_copy(update={"significance": found.significance.model_copy(update={"comparisons": tests})})
        assert first(turned).startswith("By Overall, no metric is significantly worse than the highest")

    def test_the_same_leaders_under_two_protocols_are_named_once(self):
        apart = [("a", "b"), ("a", "c")]
        found = first(made([A, B, C], apart), correlated({"a": 0.6, "b": 0.4, "c": 0.3}, apart))
        assert found == "a is significantly better than every other metric by Overall and Spearman."

    def test_other_leaders_under_another_protocol(self):
        found = first(
            made([A, B, C], [("a", "b"), ("a", "c")]),
            correlated({"a": 0.4, "b": 0.6, "c": 0.3}, [("a", "b"), ("b", "c")]),
        )
        assert found == (
            "a (77.0) is significantly better than every other metric by Overall. "
            "b (0.600) is significantly better than every other metric by Spearman."
        )

    def test_of_many_columns_with_leaders_of_their_own_each_metric_is_counted(self):
        low = metric("a", 0.1, 0.1, 0.1, 0.1)
        rows = {"one": [A, B], "two": [low, B], "three": [A, B, C]}
        results = [made(rows[name], [("a", "b"), ("a", "c")][: len(rows)], name=name) for name in rows]
        results = [made([A, B], name="four"), made([A, B, C], [("a", "c")], name="five"), *results]
        # a leads in four, five, one and three; b in four, five and two.
        assert first(*results).endswith("not significantly worse than the one with the highest value: a in 4; b in 3.")

    def test_where_no_metric_is_above_chance_none_leads(self):
        rows = [metric("a", *[0.51] * 4), metric("b", *[0.4] * 4), control("random", *[0.5] * 4)]
        assert first(made(rows, [("a", "b")])) == (
            "By Overall, no metric is significantly above chance; a (51.0) has the highest value."
        )
        assert first(made(rows)).startswith("By Overall, no two metrics are significantly different; a (51.0) ")

    def test_without_a_test_nothing_is_claimed(self):
        assert first(made([A, B, C], significance=None)) == (
            "By Overall, no test says whether metrics differ by more than noise; a (77.0) has the highest value."
        )

    def test_a_pair_that_could_not_be_tested_is_not_told_apart(self):
        found = made([A, B], [("a", "b")])
        untested = [one.model_copy(update={"p": None, "holm": None}) for one in found.significance.comparisons]
        tested = found.significance.model_copy(update={"comparisons": untested})
        assert top(headlines([found.model_copy(update={"significance": tested})], DECLARATIONS)[0]) == ["a", "b"]

    def test_one_metric_is_not_ranked_but_what_it_rests_on_is_said(self):
        assert first(made([A])) == "a has a score for all 100 pairs, of 40 groups."
        lost = metric("a", 0.9, 0.6, 0.8, 0.77, total=100, scored=90, unscored=10, statuses={"error": 10})
        assert first(made([lost])) == "a has a score for 90 of 100 pairs, of 40 groups."

    def test_several_data_sets(self):
        apart = [("a", "b")]
        one, other = made([A, B], apart, name="one"), made([A, B], apart, name="other")
        assert first(one, other) == "a is significantly better than b by Overall on every data set."
        switched = made([metric("a", 0.6, 0.6, 0.6, 0.6), B], apart, name="other")
        assert (
            first(one, switched) == "a (77.0) is significantly better than b (67.0) by Overall on one. "
            "b (67.0) is significantly better than a (60.0) by Overall on other."
        )


class TestWhatMetricsCanDo:
    constant = control("constant", 0.5, 0.5, 0.5, 0.5)

    def sentence(self, *rows, **more):
        return findings([made([*rows, self.constant], **more)], DECLARATIONS)[1]

    def test_all_none_and_some(self):
        assert self.sentence(A, B, C) == (
            "Every metric is shown to tell full from no support and tell partial from no support. "
            "Only a is shown to tell full from partial support."
        )

    def test_some_of_several_and_most_of_many(self):
        assert "Only a and d are shown to tell full from partial" in self.sentence(A, metric("d", *[0.7] * 4), B)
        many = [metric(f"judge{n}", 0.9, 0.7, 0.8, 0.8) for n in range(1, 10)]
        assert self.sentence(*many, B).endswith("Every metric but b is shown to tell full from partial support.")

    def test_what_no_metric_is_significantly_above_chance_in(self):
        assert self.sentence(B, C) == (
            "Every metric is shown to tell full from no support and tell partial from no support. "
            "No metric is shown to tell full from partial support (FS-PS not significantly above 50)."
        )

    @pytest.mark.parametrize("chance", ["constant", "random"])
    def test_the_adjusted_test_decides_and_not_the_interval(self, chance):
        # The interval of FS-PS, 58 to 62, lies above 50; after the adjustment the difference is not significant.
        marked = A.model_copy(update={"not_above": {"fs_ps": [chance]}})
        assert marked.values["fs_ps"].low > 0.5
        rows = [marked, self.constant, control("random", 0.5, 0.5, 0.5, 0.5)]
        assert "a is not shown to tell full from partial support" in findings([made(rows)], DECLARATIONS)[1]
        assert "a is shown to tell full from no support, tell full from partial" in self.sentence(A)

    def test_of_a_metric_at_chance_by_the_headline_no_ability_is_said_nor_denied(self):
        # FS-PS of d is significantly above 50, Overall is not: one of several columns may be above by luck.
        lucky = metric("d", 0.5, 0.56, 0.5, 0.51)
        assert self.sentence(A, lucky) == (
            "Only a is shown to tell full from no support and tell partial from no support. "
            "a is shown to tell full from partial support."
        )
        assert self.sentence(lucky, metric("e", *[0.5] * 4)) == (
            "No metric is shown to tell full from no support or tell partial from no support (FS-NS and PS-NS not "
            "significantly above 50)."
        )

    def test_one_metric_has_its_interval_beside_it(self):
        assert self.sentence(B) == (
            "b is shown to tell full from no support and tell partial from no support. b is not shown to tell full "
            "from partial support (FS-PS 50.0, interval 48.0 to 52.0)."
        )

    def test_a_test_without_an_interval_is_enough(self):
        bare = B.model_copy(update={"values": {key: Value(value=one.value) for key, one in B.values.items()}})
        assert self.sentence(bare).endswith(". b is not shown to tell full from partial support (FS-PS 50.0).")

    def test_without_tests_nothing_is_said(self):
        for rows, more in (([A, self.constant], {"significance": None}), ([A, control("place", *[0.5] * 4)], {})):
            assert not any(" tell " in text for text in findings([made(rows, **more)], DECLARATIONS))

    def test_several_data_sets_are_counted(self):
        results = [made([A, B, self.constant], name=name) for name in ("one", "other")]
        assert findings(results, DECLARATIONS)[1] == (
            "Over 2 columns, these metrics are shown to tell full from no support: a and b in 2. "
            "Over 2 columns, these metrics are shown to tell full from partial support: a in 2. "
            "Over 2 columns, these metrics are shown to tell partial from no support: a and b in 2."
        )


class TestControls:
    words = control("lexical overlap", 0.9, 0.5, 0.8, 0.7)
    oracle = control("oracle", 1.0, 1.0, 1.0, 1.0)
    best = "The best control by Overall (70.0) is lexical overlap"
    worse = "c is significantly worse than it."

    def sentence(self, *rows, **more):
        return findings([made([*rows, self.words, self.oracle], **more)], DECLARATIONS)[-1]

    def flagged(self, row):
        return row.model_copy(update={"not_above": {key: ["lexical overlap"] for key in row.values}})

    def test_all_above(self):
        text = self.sentence(A, metric("d", 0.9, 0.6, 0.8, 0.75))
        assert text == f"Every metric is significantly better than every control. {self.best}."

    def test_none_above_and_who_is_worse(self):
        # c is significantly below the control, .6 less .7; b, .67 less .7, is not.
        text = self.sentence(self.flagged(B), self.flagged(C))
        assert text == f"No metric is significantly better than every control. {self.best}. {self.worse}"

    def test_some_above(self):
        text = self.sentence(A, self.flagged(B), self.flagged(C))
        assert text == f"Only a is significantly better than every control. {self.best}. {self.worse}"

    def test_of_many_above_those_that_are_not_are_named(self):
        every = [metric(f"judge{n}", 0.9, 0.6, 0.8, 0.75) for n in range(1, 10)]
        assert self.sentence(self.flagged(every[0]), *every[1:]).startswith(
            "Every metric but judge1 is significantly better than every control. "
        )
        few = [self.flagged(row) for row in every[4:]]
        assert self.sentence(*every[:4], *few).startswith(
            "Only judge1, judge2, judge3 and judge4 are significantly better than every control. "
        )

    def test_a_metric_that_is_the_control_is_not_held_against_the_others(self):
        twin = metric("overlap", 0.9, 0.5, 0.8, 0.7, same_scores=["lexical overlap"])
        text = self.sentence(twin, self.flagged(B))
        assert text == f"b is not significantly better than every control. {self.best}, which is overlap itself."

    def test_the_control_alone_is_named_where_it_is_the_only_metric(self):
        twin = metric("overlap", 0.9, 0.5, 0.8, 0.7, same_scores=["lexical overlap"])
        assert self.sentence(twin) == f"{self.best}, which is overlap itself."

    def test_equal_values_are_not_the_same_scores(self):
        # A monotone transform has every area of the control, and other scores: the test says that nothing differs.
        text = self.sentence(metric("transformed", 0.9, 0.5, 0.8, 0.7))
        assert text == f"transformed is not significantly better than every control. {self.best}."

    def test_who_was_not_compared_with_a_control_is_not_above_every_control(self):
        result = made([A, metric("d", 0.9, 0.6, 0.8, 0.8), self.words, control("place", 0.6, 0.6, 0.6, 0.6)])
        fewer = [one for one in result.significance.controls if (one.one, one.other) != ("a", "place")]
        for tests, said in (
            (fewer, "d is significantly better than every control. "),
            ([], "The best control by "),
        ):
            tested = result.significance.model_copy(update={"controls": tests})
            assert findings([result.model_copy(update={"significance": tested})], DECLARATIONS)[-1].startswith(said)

    def test_several_best_controls_are_said_by_their_measures(self):
        # bm25 is the control BM25 under another name. c is significantly below both.
        rows = [
            metric(name, 0.9, 0.5, 0.8, overall, kind=kind)
            for name, kind, overall in (("words", "control", 0.7), ("BM25", "control", 0.6), ("bm25", "metric", 0.6))
        ]
        rows.append(metric("c", 0.9, 0.5, 0.8, 0.5))
        rows[2] = rows[2].model_copy(update={"same_scores": ["BM25"]})
        ranked = [
            row.model_copy(update={"values": {"spearman": area(rho)}})
            for row, rho in zip(rows, (0.5, 0.6, 0.6, 0.4), strict=True)
        ]
        results = [made(rows), made(ranked, protocol="correlation", columns=SPEARMAN)]
        assert findings(results, DECLARATIONS)[-1] == (
            "No metric is significantly better than every control. The best control by Overall (70.0) is words. The "
            "best control by Spearman (0.600) is BM25, which is bm25 itself. c is significantly worse than the best "
            "control by Overall and Spearman."
        )

    def test_without_tests_and_intervals_or_controls_nothing_is_said(self):
        bare = [
            row.model_copy(update={"values": {key: Value(value=0.9) for key in A.values}}) for row in (A, self.words)
        ]
        for found in (made(bare, significance=None), made([A, B])):
            assert not any("control" in text for text in findings([found], DECLARATIONS))


class TestCautions:
    def test_a_missing_level_takes_its_measures(self):
        lost = metric("a", 0.9, None, None, None)
        found = made([lost, metric("b", 0.8, None, None, None)], levels=(30, 0, 70))
        assert "No pair is partial, so FS-PS, PS-NS and Overall cannot be computed." in cautions([found])
        # The headline is then the first measure that has a value.
        assert [one.column.key for one in headlines([found], DECLARATIONS)] == ["fs_ns"]
        assert "By FS-NS, no two metrics are" in findings([found], DECLARATIONS)[0]

    def test_chunks_that_are_left_out_name_the_unit_that_keeps_them(self):
        whole = A.scored + A.unscored
        many, few = (made([A.model_copy(update={"excluded": {"no level": n}, "total": whole + n})]) for n in (whole, 1))
        citations = many.model_copy(update={"unit": "citation"})
        told = f"{whole:,} of {2 * whole:,} chunks are left out (no level); -u citation judges whole citations."
        assert [text for text in cautions([many]) if "left out" in text] == [told]
        assert not any("left out" in text for one in (few, citations) for text in cautions([one]))

    def test_a_level_that_holds_parts_of_evidence_says_what_can_be_had(self):
        values = {"fs_ps": {"full support": 0.633, "any support": 0.5}, "ps_ns": {"full support": 0.5}}
        found = [made([A], perfect=Perfect(values=values, full=266, incomplete=parts)) for parts in (195, 0)]
        assert cautions([found[0], found[0]]) == [
            "195 of the 266 pairs at level full hold only a part of an evidence set, so a perfect detector of full "
            "support scores FS-PS 63.3, PS-NS 50.0 (--set evidence.rule=complete calls them partial)."
        ]
        assert cautions(found[1:]) == []

    def test_few_effective_groups(self):
        few = {**A.values, "overall": A.values["overall"].model_copy(update={"effective": 7.9})}
        assert cautions([made([A.model_copy(update={"values": few})])]) == [
            "Values rest on 7 effective groups; below 30, intervals may hold the true value less often than they say."
        ]

    def test_pairs_without_a_score_and_inputs_that_are_cut(self):
        ledger = Ledger(pairs=100, tokens=1000, cut_pairs=7, cut_tokens=200)
        more = {"total": 100, "scored": 97, "unscored": 3, "statuses": {"error": 2, "empty": 1}, "ledger": ledger}
        assert cautions([made([metric("a", 0.9, 0.6, 0.8, 0.77, **more)])]) == [
            "Rows without a score are left out: a 3 of 100 pairs (2 error, 1 empty).",
            "The input is cut for a (20.0 % of tokens).",
        ]

    def test_a_warning_of_all_stands_alone_and_one_of_some_names_them(self):
        warned = [row.model_copy(update={"warnings": ["It rains."]}) for row in (A, B)]
        assert cautions([made(warned)]) == ["Warning of every metric: It rains."]
        assert cautions([made([warned[0], B])]) == ["Warning of a: It rains."]

    def test_several_data_sets_are_named(self):
        warned = A.model_copy(update={"warnings": ["It rains."]})
        assert cautions([made([warned], name="one"), made([A], name="other")]) == ["one, test: Warning of a: It rains."]


def test_nothing_scored_says_so_and_why():
    values = {key: Value(value=None, note="no scored pairs") for key in A.values}
    lost = {"values": values, "scored": 0, "unscored": 100, "statuses": {"error": 100}}
    result = made([A.model_copy(update=lost)])
    assert findings([result], DECLARATIONS) == ["No metric has a value here: no scored pairs."]
    assert cautions([result]) == ["Rows without a score are left out: a 100 of 100 pairs (error)."]
    assert "–¹" in text_of(headline_grid([result], DECLARATIONS), 80)


def test_no_sentence_is_longer_than_a_screen_can_hold():
    rows = [metric(f"metric-{number}-with-a-long-name", 0.9, 0.5, 0.8, 0.7) for number in range(30)]
    for sentence in findings([made(rows)], DECLARATIONS):
        assert len(sentence) < 400


class TestHeadlineTable:
    def test_one_protocol_shows_its_measures_several_their_headlines(self):
        ratings = made([A, B], protocol="other")
        assert headline_grid([ratings], DECLARATIONS).headings == ("FS-NS", "FS-PS", "PS-NS", "Overall")
        both = headline_grid([ratings, correlated({"a": 0.4, "b": 0.3})], DECLARATIONS)
        assert both.headings == ("FS-NS", "Spearman")
        assert [group.title for group in both.groups] == ["other", "correlation"]

    def test_levels_have_a_column_for_each_two_and_one_for_word_overlap(self):
        words = control("overlap", 0.9, 0.5, 0.8, 0.7, control="lexical")
        learnt = metric("support-mini", 0.9, 0.6, 0.8, 0.71, control="reference")
        results = [made([A, B, C, learnt, words]), correlated({"a": 0.4, "b": 0.3})]
        grid = headline_grid(results, DECLARATIONS)
        # The measure that decides stands beside the answer.
        assert grid.headings == ("FS-NS", "FS-PS", "PS-NS", "Overall", "better than word overlap?")
        verdicts = {line.name: line.cells[-1].number for line in grid.lines}
        assert verdicts == {"a": "yes", "b": "not shown", "c": "worse", "overlap": "–", "support-mini": "not shown"}
        assert [(block.title, len(block.lines)) for block in grid.blocks] == [("", 3), ("controls", 2)]
        below = [note.text for note in grid.footnotes]
        assert "controls: support-mini (reference), overlap (lexical)" in below
        assert not any(cell.marks for line in grid.lines for cell in line.cells)
        untested = made([A, words], significance=None)
        assert headline_grid([untested], DECLARATIONS).headings == ("FS-NS", "FS-PS", "PS-NS", "Overall")

    def test_controls_are_folded_into_the_best_of_each_column(self):
        words, place = control("words", 0.9, 0.5, 0.8, 0.7), control("place", 0.6, 0.6, 0.6, 0.6)
        oracle = control("oracle", 1.0, 1.0, 1.0, 1.0)
        grid = headline_grid([made([A, B, words, place, oracle], protocol="other")], DECLARATIONS)
        _, controls = grid.blocks
        assert controls.title == "best controls"
        shown = {line.name: [cell.number for cell in line.cells] for line in controls.lines}
        assert shown == {"words": ["90.0", "", "80.0", "70.0"], "place": ["", "60.0", "", ""]}

    def test_rows_that_are_left_out_are_counted_by_reason(self):
        excluded = {"no level": 52, "no pool": 1279}
        row = A.model_copy(update={"excluded": excluded, "total": 100 + 1331})
        subtitle = headline_grid([made([row])], DECLARATIONS).subtitle
        assert "1,431 chunk pairs (left out: 52 no level, 1,279 no pool)" in subtitle

    def test_numbers_below_one_have_no_nought_and_negative_ends_no_dash(self):
        grid = headline_grid([made([A, B], protocol="other"), correlated({"a": 0.4, "b": 0.01})], DECLARATIONS)
        assert [line.cells[1].number for line in grid.lines] == [".400", ".010"]
        assert grid.lines[1].cells[1].interval == "-.010 to .030"

    def test_of_many_metrics_the_best_are_shown_and_the_rest_counted(self):
        rows = [metric(f"m{number}", 0.5, 0.5, 0.5, 0.5 + number / 100) for number in range(ROWS + 3)]
        grid = headline_grid([made(rows)], DECLARATIONS)
        assert [line.name for line in grid.lines] == [f"m{number}" for number in range(ROWS + 2, 2, -1)]
        assert any("3 more metrics" in note.text for note in grid.footnotes)

    def test_of_many_a_metric_at_nought_stands_before_one_below(self):
        grid = headline_grid([correlated({"a": -0.4, "b": 0.0, "c": 0.1})], DECLARATIONS, most=2)
        assert [line.name for line in grid.lines] == ["c", "b"]

    def test_marks_are_those_of_the_table_and_each_is_explained(self):
        flagged = A.model_copy(update={"not_above": {"overall": ["words"]}, "letters": {"overall": "a", "fs_ns": "a"}})
        rows = [flagged, B, control("words", 0.9, 0.5, 0.8, 0.7)]
        grid = headline_grid([made(rows, protocol="other")], DECLARATIONS)
        assert grid.lines[0].cells[3].marks == ("a", "†")
        assert [note.label for note in grid.footnotes] == ["a", "†"]

    def test_data_sets_stand_side_by_side(self):
        one, other = made([A, B], name="one"), made([B, C], name="other")
        grid = suite_grid([one, correlated({"a": 0.4, "b": 0.3}, name="one"), other], DECLARATIONS)
        assert grid.headings == ("one", "other", "one")
        assert [(group.title, group.columns) for group in grid.groups] == [
            ("classification: Overall", 2),
            ("correlation: Spearman", 1),
        ]
        cells = {line.name: [cell.number for cell in line.cells] for line in grid.lines}
        assert cells == {"a": ["77.0", "", ".400"], "b": ["67.0", "67.0", ".300"], "c": ["", "60.0", ""]}

    def test_it_fits_eighty_columns_and_forty_lines_with_what_is_said_below(self):
        rows = [metric(f"metric-{number}", 0.9, 0.5, 0.8, 0.7 + number / 100) for number in range(20)]
        results = [
            made([*rows, control("lexical overlap", 0.9, 0.5, 0.8, 0.7)]),
            correlated({row.metric: 0.3 for row in rows}),
            correlated({row.metric: 0.3 for row in rows}).model_copy(update={"protocol": "retrieval"}),
        ]
        lines = text_of(headline_grid(results, DECLARATIONS), 80).splitlines()
        assert max(map(len, lines)) <= 80
        said = sum(-(-len(text) // 70) for text in findings(results, DECLARATIONS))
        assert len(lines) + 1 + said + 5 <= 40

    def test_a_hostile_name_reaches_the_terminal_as_plain_text(self):
        result = made([metric("a\x1b[31m[bold]", 0.9, 0.6, 0.8, 0.77), B])
        assert "\x1b" not in text_of(headline_grid([result], DECLARATIONS), 80)
        assert "\x1b" not in "".join(findings([result], DECLARATIONS))
