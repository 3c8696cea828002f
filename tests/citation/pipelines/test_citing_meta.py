"""Pipelines against people's ratings: values and correlations on paper, what is missing, systems, CiteBench, files.

The backend is `overlap` at 0.5: the share of a claim's content words that stand in what it cites.
"""

import json
from collections import Counter

import pytest
from scipy import stats

from metaeval.citation.alce.citations import read_alce
from metaeval.citation.aliice.citation_lines import read_aliice
from metaeval.citation.chat_models import recording
from metaeval.citation.citeeval.evaluate_responses import evaluate
from metaeval.citation.citeeval.judge import Asking
from metaeval.citation.citeeval.options_and_values import SCENARIOS
from metaeval.citation.data_model import Verdict
from metaeval.citation.human.agreement import agreement
from metaeval.citation.human.rated_statements import rated_level
from metaeval.citation.human.rating_files import read_human_set
from metaeval.citation.pipelines.meta.measured import claim_values, whole_values
from metaeval.citation.pipelines.meta.run import META, MetaEvaluation
from metaeval.citation.pipelines.meta.tables import meta_sheets
from metaeval.citation.pipelines.metric_verdicts import Backend
from metaeval.core.errors import UserError
from metaeval.llm.messages import read_reply
from metaeval.runs.metrics import Cutoff
from metaeval.stats.intervals import Resampling

PASSAGES = [{"text": "The Oder is 840 kilometres long."}, {"text": "Barges carry coal."}]
# Text, system, group, and ratings of the statements; the statements are the sentences.
ANSWERS = {
    "a1": ("The Oder is 840 kilometres long [1]. Barges carry coal [2].", "old", "q1", [(1, 1), (0.5, 1)]),
    "a2": ("Ships sing loudly [1]. Trains fly away.", "old", "q2", [(0, 0.25), (None, None)]),
    "b1": ("Barges carry coal [2][1]. The Oder is 840 kilometres long [2].", "new", "q1", [(1, 0.5), (0.25, 0)]),
    "b2": ("Barges carry coal [1].", "new", "q2", [(0.5, 0.5)]),
}
QUICK = ("interval.resamples=50", "comparison.permutations=0", "controls=false", "splitter=rules")


def written(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def rated(tmp_path, rated_row):
    """Write rated answers."""

    def made(answers=ANSWERS):
        rows = [
            rated_row(text, ratings, id=name, system=system, group=group, passages=PASSAGES)
            for name, (text, system, group, ratings) in answers.items()
        ]
        return written(tmp_path / "rated.jsonl", rows)

    return made


@pytest.fixture
def meta(tmp_path, rated):
    """Judge rated answers."""

    def made(*overrides, answers=ANSWERS, files=None, **options):
        given = {"pipelines": ("alce",), "nli": ("overlap",), "threshold": "0.5", "results": tmp_path / "results"}
        given = {**given, "files": files or (rated(answers),), **options}
        return MetaEvaluation(META.options_of(given, [*QUICK, *overrides])).compare()

    return made


@pytest.fixture
def hold_meta(hold):
    """Hold what a meta-evaluation finds, and the scores that it writes, against its record."""

    def held(name, found):
        scores = {level.unit: [json.loads(line) for line in level.lines().splitlines()] for level in found.levels}
        means = {
            level.unit: [[name, *level.mean_ends(name), Counter(level.statuses(name))] for name in level.values]
            for level in found.levels
        }
        tested = {"measured": [[each.name, each.tested] for each in found.measured], "left out": found.left_out}
        hold(name, meta_sheets(found), scores=scores, means=means, **tested)

    return held


def notes_of(found):
    return meta_sheets(found)[-1].footer


def level_of(found, unit):
    return next(level for level in found.levels if level.unit == unit)


def results_of(found, unit="statements"):
    return found.levels[level_of(found, unit)].results


def known(column):
    return [*column.astype(object).where(column.notna(), None)]


def values(found, unit, measure):
    level = level_of(found, unit)
    return dict(zip((row.id for row in level.ratings.rows), known(level.values[measure]["value"]), strict=True))


def golds(found, unit):
    return {row.id: row.gold for row in level_of(found, unit).ratings.rows}


def test_systems_stand_under_their_own_names(meta):
    # Names with an underscore, and with the endings that ends of intervals have.
    names = {"old": "o3_low", "new": "o3_high"}
    found = meta(answers={key: (text, names[system], *more) for key, (text, system, *more) in ANSWERS.items()})
    (table,) = [sheet for sheet in meta_sheets(found) if sheet.name == "responses/systems"]
    assert [table.stub, *table.headings] == ["measure", "o3_high", "o3_low", "tau"]
    # People's means of b1, b2 and of a1, a2 (below).
    assert [cell.number for cell in table.blocks[0].lines[0].cells[:2]] == ["0.469", "0.500"]
    alone = meta(answers={key: (text, system, "q", own) for key, (text, system, _, own) in ANSWERS.items()})
    (table,) = [sheet for sheet in meta_sheets(alone) if sheet.name == "responses/systems"]
    assert [(row["tau"], row["tau_low"]) for row in table.records] == [(None, None), *[(1, None)] * 3]


def test_statements_of_alce_on_paper(meta):
    found = meta()
    # a2's second statement has no rating.
    recall = {"a1#1": 1, "a1#2": 1, "a2#1": 0, "b1#1": 1, "b1#2": 0, "b2#1": 0}
    assert golds(found, "statements") == dict(zip(recall, (1.0, 0.75, 0.125, 0.75, 0.125, 0.5), strict=True))
    assert values(found, "statements", "alce:recall:overlap") == recall
    # b1#1: [2] supports alone, [1] does not and the rest does: 1/2.
    assert values(found, "statements", "alce:precision:overlap") == {**recall, "b1#1": 0.5}
    assert values(found, "statements", "alce:f1:overlap") == {**recall, "b1#1": pytest.approx(2 / 3)}
    # Responses have the pipeline's own values.
    assert golds(found, "responses") == {"a1": 0.875, "a2": 0.125, "b1": 0.4375, "b2": 0.5}
    # a2: neither the unsupported nor the uncited statement counts as supported: 0 / 2. b1: 1 / 2.
    assert values(found, "responses", "alce:recall:overlap") == {"a1": 1.0, "a2": 0.0, "b1": 0.5, "b2": 0.0}
    # b1's citations: 1, 0 and 0 of three.
    assert values(found, "responses", "alce:precision:overlap")["b1"] == pytest.approx(1 / 3)


def test_the_correlations_are_scipys_on_the_columns_above(meta):
    found = meta()
    for level in found.levels:
        results = results_of(found, level.unit)
        gold, score = golds(found, level.unit), values(found, level.unit, "alce:f1:overlap")
        columns = [score[name] for name in gold], list(gold.values())
        (row,) = [row for row in results[0].rows if row.metric == "alce:f1:overlap"]
        for key, of in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr), ("kendall", stats.kendalltau)):
            assert row.values[key].value == pytest.approx(of(*columns)[0], abs=1e-12)
        assert results[0].data.split == level.unit
    concordance = results_of(found)[1].rows[0].values["concordance"].value
    # Recall 1 1 0 1 0 0 against 1 .75 .125 .75 .125 .5: 13 pairs of unlike gold; among the three of recall 1 there are
    # 2 and among the three of recall 0 also 2, worth one half; the other 9 are all in order: (9 + 2) / 13.
    assert concordance == pytest.approx(11 / 13, abs=1e-12)


def test_what_has_no_value_takes_its_responses_only_when_asked_to(meta, hold_meta):
    plain = meta(pipelines=("alce", "aliice"))
    assert values(plain, "statements", "aliice:recall:overlap")["a2#1"] == 0
    filled = meta("gaps=response", pipelines=("alce", "aliice"))
    hold_meta("meta-gaps", filled)
    assert values(plain, "statements", "alce:recall:overlap").keys() == golds(plain, "statements").keys()


def test_a_response_without_ratings_is_left_out_or_has_full_marks(meta, hold_meta):
    answers = {**ANSWERS, "c1": ("Trains fly away.", "new", "q3", [(None, 1)])}
    found = meta(answers=answers)
    assert "c1" not in golds(found, "responses")
    assert level_of(found, "responses").ratings.dropped == {"responses none of whose statements has a rating": 1}
    assert level_of(found, "statements").ratings.dropped == {"statements without a rating": 2}
    # ALiiCE leaves an answer without citations out; by the same rule it has full marks too.
    hold_meta("meta-full-marks", meta("gaps=full marks", answers=answers, pipelines=("aliice",)))


def test_the_scenario_of_cited_statements_masks_the_others_ratings(meta, hold_meta):
    answers = {**ANSWERS, "c1": ("Barges carry coal [2]. Trains fly away.", "new", "q3", [(1, 1), (0, 0.5)])}
    full, cited = meta(answers=answers), meta(answers=answers, scenario="cited")
    hold_meta("meta-cited", cited)
    assert golds(full, "responses")["c1"] == (1 + 0.25) / 2
    assert golds(full, "statements") == {**golds(cited, "statements"), "c1#2": 0.25}


def test_a_response_that_the_mask_empties_is_0_where_one_without_ratings_has_full_marks(meta):
    # a2 cites, and nobody rates that; d1 and e1 cite nothing: people rate d1, and hold that e1 needs no citation.
    new = {"d1": ("Trains fly away.", "new", "q3", [(0.5, 0.25)]), "e1": ("Who knows.", "new", "q4", [(None, None)])}
    answers = {**ANSWERS, **new, "a2": (*ANSWERS["a2"][:3], [(None, None), (None, None)])}
    full, cited = (golds(meta("gaps=full marks", answers=answers, scenario=one), "responses") for one in SCENARIOS)
    assert (full["a2"], full["d1"], full["e1"]) == (1.0, 0.375, 1.0)
    assert (cited["a2"], cited["d1"], cited["e1"]) == (1.0, 0.0, 1.0)
    taken = golds(meta("gaps=full marks", answers=answers, scenario="cited"), "statements")
    assert (taken["d1#1"], taken["e1#1"]) == (0.0, 1.0)
    assert "d1" not in golds(meta(answers=answers, scenario="cited"), "responses")


def measured(answers, scores, pipeline="alce", threshold=0.5):
    """Measures under a backend that gives no verdict on what `scores` lacks."""

    def entails(pairs):
        found = []
        for _, claim in pairs:
            score = next((score for word, score in scores.items() if word in claim), None)
            decided = None if score is None or threshold is None else score >= threshold
            found.append(Verdict(decided, score, "ok" if score is not None else "unparsed"))
        return found

    backend = Backend("stored", Cutoff(threshold, "as given"), {"backend": "stored"}, entails, {})
    read = (read_alce if pipeline == "alce" else read_aliice)(answers)
    _, lines = read.judge(backend.entails, backend.soft)
    return claim_values(read.answers, lines, *read.shares(lines), backend.soft)


def of(values, answer):
    """Value and reason of the sentences of an answer, and of the whole."""
    sentences = values.sentences[values.sentences["answer"] == answer]
    return [*zip(known(sentences["value"]), known(sentences["reason"]), strict=True)], [
        *known(values.answers.loc[answer][["value", "reason"]])
    ]


@pytest.fixture
def answers(rated):
    """The rated answers as they are read."""
    return [own.answer for own in read_human_set([rated()]).answers]


def test_a_missing_verdict_is_no_value_and_never_zero(answers):
    found = measured(answers, {"Oder": 0.9})
    for name in ("recall", "precision", "f1"):
        assert of(found[name], "a1")[0] == [(1.0, None), (None, "unparsed")]
    # a1 keeps its other sentence; all that b2 cites has no verdict; a2's uncited sentence is known to be 0.
    assert of(found["recall"], "a1")[1] == [1.0, "absent"]
    assert {*found["recall"].answers.dropna(subset=["value", "reason"]).index} == {"a1", "a2", "b1"}
    assert of(found["recall"], "b2")[1] == of(found["f1"], "b2")[1] == [None, "absent"]
    # a2's recall is a value in part, of which its F1 would be made; its precision is missing.
    assert of(found["f1"], "a2")[1] == [None, "absent"]
    # ALiiCE's precision leaves the citation of the other sentence out.
    assert of(measured(answers, {"Oder": 0.9}, "aliice")["precision"], "a1")[1] == [1.0, "absent"]


def test_values_that_are_equal_on_paper_are_tied_whatever_their_last_bit(rated):
    wholes = {"a1": 0.1 + 0.2, "a2": 0.3, "b1": 0.25, "b2": 1e-15}
    assert wholes["a1"] != wholes["a2"]
    human = read_human_set([rated()])
    measure = whole_values([one.answer for one in human.answers], list(wholes.values()))
    measures = dict.fromkeys(("alce:f1:x", "scores:theirs"), measure)
    level = rated_level("responses", "d", human, measures, {}, "left out")
    assert level.values["alce:f1:x"]["value"].tolist() == [0.3, 0.3, 0.25, 0.0]
    assert level.values["scores:theirs"]["value"].tolist() == [*wholes.values()]  # as their file has them


def ends_of(values):
    found = values.answers[values.answers["reason"].notna()].dropna(subset=["worst", "best"])
    return {name: tuple(ends) for name, ends in zip(found.index, found[["worst", "best"]].to_numpy(), strict=True)}


def test_an_answer_that_lacks_verdicts_comes_with_the_least_and_the_most_that_it_could_be(answers):
    found = measured(answers, {"Oder": 0.9})
    # Of a1 and b1 one claim of two holds and the other is missing; of a2 one is missing and the uncited one fails; all
    # of b2 is missing.
    assert ends_of(found["recall"]) == {"a1": (1 / 2, 1), "a2": (0, 1 / 2), "b1": (1 / 2, 1), "b2": (0, 1)}
    # a1 has one mark on each claim, b1 two on the missing one, a2 and b2 one that is missing.
    assert ends_of(found["precision"]) == {"a1": (1 / 2, 1), "a2": (0, 1), "b1": (1 / 3, 1), "b2": (0, 1)}
    # F1 of 1/2 and 1/3 is 2/5, of 1/2 and 1 it is 2/3.
    expected = {"a1": (1 / 2, 1), "a2": (0, 2 / 3), "b1": (2 / 5, 1), "b2": (0, 1)}
    assert ends_of(found["f1"]) == {name: pytest.approx(ends) for name, ends in expected.items()}
    assert ends_of(measured(answers, {"Oder": 0.9, "": 0.1})["recall"]) == {}
    # Soft scores are values of sentences too, without ends.
    soft = measured(answers, {"Oder": 0.9, "Barges": 0.4}, threshold=None)
    assert of(soft["recall"], "a1")[0] == [(0.9, None), (0.4, None)]
    assert of(soft["precision"], "a1")[1] == [pytest.approx(0.65), None]
    assert of(soft["recall"], "a2")[0] == [(None, "unparsed"), (0, None)]  # the second is uncited
    assert ends_of(soft["recall"]) == {}


def test_a_missing_verdict_is_counted_and_bounded_in_the_results(meta, hold_meta, tmp_path):
    given = [{"answer": name, "value": value} for name, value in (("a1", 0.9), ("a2", None), ("b1", 0.2))]
    path = written(tmp_path / "theirs.jsonl", given)
    found = meta(pipelines=(), scores=(path,))
    hold_meta("meta-answers-alone", found)
    # Only whole answers have scores: statements cannot be judged, and b2 has none.
    (row,) = results_of(found, "responses")[0].rows
    assert (row.metric, row.scored, row.statuses) == ("scores:theirs", 2, {"absent": 1, "nothing to score": 1})
    assert row.values["pearson"].bounds is not None


def test_scores_of_sentences_made_elsewhere_stand_beside_the_pipelines(meta, hold_meta, tmp_path):
    given = [("a1", 0, 35, 0.9), ("a1", 36, 58, 0.5), ("b2", 0, 22, 0.1)]
    rows = [dict(zip(("answer", "start", "end", "value"), row, strict=True)) for row in given]
    rows += [{"answer": "b1", "value": 2, "measure": "more"}, {**rows[0], "value": None, "measure": "less"}]
    path = written(tmp_path / "theirs.jsonl", rows)
    found = meta(scores=(path,))
    hold_meta("meta-scores", found)
    signed = next(row.signature for row in results_of(found)[0].rows if row.metric == "scores:theirs")
    assert "|file:theirs.jsonl@sha256:" in signed
    paths = [written(tmp_path / name, [{"answer": "a1", "value": 1, "measure": "mine"}]) for name in ("one", "two")]
    with pytest.raises(UserError, match="'mine'"):
        meta(scores=paths)


def sheet(found, name, place):
    return {table.name: table for table in meta_sheets(found)}[f"{place}/{name}" if place else name]


def test_annotators_and_what_is_valued(meta, hold_meta):
    found = meta("interval.fewest=2")
    hold_meta("meta-annotators", found)
    # Units (1, 1), (0.5, 1), (0, 0.25), (1, 0.5), (0.25, 0), (0.5, 0.5). Squared differences within, in both orders:
    # 2 (0 + 1/4 + 1/16 + 1/4 + 1/16 + 0) = 5/4, over 12 values: D_o = 5/48. Of all twelve, 2 (12 S2 - S1^2) / (12 11)
    # with S1 = 6.5 and S2 = 4 + 4/4 + 2/16 = 5.125: D_e = 2 (61.5 - 42.25) / 132 = 38.5 / 132.
    (alpha,) = sheet(found, "annotators", "").records
    assert alpha["alpha"] == pytest.approx(1 - (5 / 48) / (38.5 / 132), abs=1e-12)
    one = meta(answers={name: (*own[:3], [few[:1] for few in own[3]]) for name, own in ANSWERS.items()})
    assert "annotators" not in {table.name for table in meta_sheets(one)}
    assert "1 annotator each, so that no agreement" in {note.label: note.text for note in notes_of(one)}["data"]


@pytest.mark.parametrize(
    ("options", "overrides", "says"),
    [
        ({"pipelines": ("acle",)}, (), "Did you mean 'alce'"),
        ({"pipelines": ("autoais",), "threshold": "soft"}, (), "AutoAIS needs decisions"),
        ({"pipelines": ("citeeval",)}, (), "A chat model judges, and none is given"),
        ({"pipelines": ("lqac",), "model": "tiny"}, ("chat.output=text",), "prompt of lqac asks for JSON"),
        ({"pipelines": ("citeeval",), "model": "tiny"}, ("chat.output=text",), "prompt of attribution asks for JSON"),
        ({"model": "tiny"}, (), "None of these pipelines uses a chat model"),
        ({}, ("gaps=repsonse",), "it should be 'left out', 'response' or 'full marks'"),
        ({"answers": {"a": ("Ships [1].", "s", "g", [(0.5,)])}}, (), "holds 1 rating"),
        ({"answers": {"a": ("Ships.", "s", "g", [(None,)])}}, (), "holds 0 ratings"),
    ],
)
def test_what_cannot_be_done_is_said_before_any_scoring(meta, tmp_path, options, overrides, says):
    with pytest.raises(UserError, match=says):
        meta(*overrides, **options)
    assert not (tmp_path / "results").exists()


# CiteBench: citations of each statement, the judge's stars, people's ratings; every statement rests on the passages.
BENCH = {
    "r1": [([1], 4, (0.75, 1, 0.5)), ([2], 2, (0.25, 0.25, None)), ([], 0, (None, None, None))],
    "r2": [([1, 2], 5, (1, 1, 1)), ([], 0, (0, 0, 0.25))],
    "r3": [([2], 1, (0.25, 0, 0)), ([1], 3, (0.5, 0.75, 0.5))],
}


@pytest.fixture
def bench_files(citebench):
    responses = {name: [(cited, [2, 2, 4], ratings) for cited, _, ratings in own] for name, own in BENCH.items()}
    return citebench(responses, [{"title": "", "text": one["text"]} for one in PASSAGES], "of barges")


# The choices of the stub by the statement: LQAC's support and relevance, AttrScore's label; uncited ones need none.
CHOICES = {
    "r1 says 1": ("full", "relevant", "Attributable"),
    "r1 says 2": ("partial", "relevant", "Extrapolatory"),
    "r2 says 1": ("full", "relevant", "Attributable"),
    "r3 says 1": ("none", "irrelevant", "Contradictory"),
    "r3 says 2": ("partial", "relevant", "Extrapolatory"),
}


def ask(requests):
    """Answer the questions of CiteEval by `BENCH`, and those of LQAC and AttrScore by `CHOICES`."""
    replies = []
    for request in requests:
        form, content = json.dumps(request.body.get("response_format")), request.body["messages"][0]["content"]
        own = content.rpartition("</passages>")[2]
        keys = ("support", "relevance", "label")
        if any(f'"{key}"' in form for key in (*keys, "needs_citation")):
            said = next((said for words, said in CHOICES.items() if f"{words} of barges" in content), ())
            chosen = dict(zip(keys, said, strict=False)) | {"needs_citation": "no"}
            reply = {"thinking": "", **{key: value for key, value in chosen.items() if f'"{key}"' in form}}
        else:
            stars = next(statements for name, statements in BENCH.items() if f"{name} says" in own)
            entries = [{"id": n, "thinking": "", "context": "retrieval"} for n in range(1, len(stars) + 1)]
            if "cites=" in own:
                cited = [(n, given) for n, (citations, given, _) in enumerate(stars, start=1) if citations]
                entries = [{"id": n, "thinking": "", "edits": [], "rating": given} for n, given in cited]
            reply = {"statements": entries}
        choice = {"message": {"content": json.dumps(reply)}, "finish_reason": "stop"}
        replies.append(read_reply(json.dumps({"model": "tiny-2", "choices": [choice]})))
    return replies


def test_the_main_table_of_citeeval_is_one_command(meta, hold_meta, bench_files, tmp_path):
    statements, people = bench_files
    read, replies = read_human_set([statements], human=people), tmp_path / "judge.jsonl"
    answers = [own.answer for own in read.answers]
    splits = [answer.split for answer in answers]
    results = evaluate(answers, splits, recording(ask, replies), Asking(model="t"), baselines=("lqac", "attrscore"))
    others = [1, 0.25, 0, 0.5, 0, 0.75, 0.5]
    places = [(own.answer.id, one) for own in read.answers for one in own.statements]
    scores = [
        {"answer": name, "start": one.start, "end": one.end, "value": value}
        for (name, one), value in zip(places, others, strict=True)
    ]
    scores = written(tmp_path / "others.jsonl", scores)
    asked = {"files": (statements,), "human": people, "scores": (scores,), "replay": replies}
    found = meta(**asked, pipelines=("autoais", "attrscore", "lqac", "citeeval"))
    hold_meta("meta-bench", found)
    records = {(one["scenario"], one["measure"], one["level"]): one for one in sheet(found, "citebench", "").records}
    for scenario in SCENARIOS:
        for measure in ("auto", "rating", "edits"):
            own = agreement(results, read.people, measure, scenario, resampling=Resampling(0))
            record = records[scenario, f"citeeval:{measure}", "statements"]
            assert record["pearson"] == own.statements["pearson"].value
            assert records[scenario, f"citeeval:{measure}", "responses"]["kendall"] == own.responses["kendall"].value
    # Rating, full: stars to quarters; the uncited lack a citation: 0. People: two of three have to rate; r1's third
    # takes its response's (0.75 + 0.25) / 2.
    rating = [0.75, 0.25, 0, 1, 0, 0, 0.5]
    theirs = [0.75, 0.25, 0.5, 1, 0.25 / 3, 0.25 / 3, 1.75 / 3]
    by_hand = {
        "citeeval:rating": rating,
        "lqac:recall": [1, 0.5, 1, 1, 1, 0, 0.5],  # full, partial, 1 for the uncited that needs none; full, 1; none ...
        "attrscore:strict": [1, 0, 0, 1, 0, 0, 0],  # the uncited are 0
        "attrscore:relaxed": [1, 0.5, 0, 1, 0, 0, 0.5],  # an Extrapolatory counts one half
    }
    for measure, ours in by_hand.items():
        for key, of in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr)):
            expected = pytest.approx(of(ours, theirs)[0], abs=1e-12)
            assert records["full", measure, "statements"][key] == expected, measure
    # Cited: people's rating of r2.2 is masked and takes r2's, which is 1. UnitValues other than CiteEval's stay, and a
    # baseline's response keeps all of its statements.
    expected = stats.pearsonr(others, [*theirs[:4], 1, *theirs[5:]])[0]
    assert records["cited", "scores:others", "statements"]["pearson"] == pytest.approx(expected, abs=1e-12)
    assert values(found, "responses", "attrscore:relaxed") == pytest.approx({"r1": 0.5, "r2": 0.5, "r3": 0.25})
    expected = stats.pearsonr([0.5, 0.5, 0.25], [0.5, 1, 1 / 3])[0]
    assert records["cited", "attrscore:relaxed", "responses"]["pearson"] == pytest.approx(expected, abs=1e-12)
    # Every uncited statement rests on the passages, and so lacks a citation without being asked what it rests on.
    unasked = meta("chat.uncited=fails", **asked, pipelines=("citeeval",), nli=())
    assert values(unasked, "statements", "citeeval:auto") == values(found, "statements", "citeeval:auto")
    assert "citebench-contexts" not in {table.name for table in meta_sheets(unasked)}
    alone = meta(**asked, pipelines=("lqac",), nli=())
    assert values(alone, "statements", "lqac:f1") == values(found, "statements", "lqac:f1")


def test_responses_without_judgements_are_left_out_and_counted(meta, hold_meta, bench_files):
    statements, people = bench_files
    content = json.loads(people.read_text())
    people.write_text(json.dumps({"r2": content["r2"]}))
    found = meta(files=(statements,), human=people, pipelines=("aliice", "autoais"))
    hold_meta("meta-one-response", found)
