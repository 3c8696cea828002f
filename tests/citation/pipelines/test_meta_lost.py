"""Missing facts and missing scores in a meta-evaluation: missing or in part, never "no value", never full marks."""

import json
from dataclasses import replace

import pytest

from metaeval.citation.data_model import Verdict
from metaeval.citation.human.rated_statements import MetaOptions, alignment, response_level, statement_level
from metaeval.citation.pipelines.meta.data_model import MetaCommand
from metaeval.citation.pipelines.meta.run import META, read_facts, scifi_measure
from metaeval.citation.pipelines.meta.tables import could_be
from metaeval.citation.pipelines.metric_verdicts import Backend
from metaeval.citation.pipelines.run_pipeline import judge
from metaeval.citation.pipelines.run_pipeline import prepare as prepared_run
from metaeval.citation.scifi.facts import read_with_model
from metaeval.corpus.sentences import SentenceSplitter
from metaeval.llm.endpoint import Cause
from metaeval.llm.messages import Failure, read_reply
from metaeval.runs.verdict_cutoffs import Cutoff

# Of each answer the first two statements cite. Sentences with "Lost" are not decomposed.
TEXTS = {
    "whole": "Dams store water [1]. Coal is black [1]. They are old.",
    "part": "Dams store water [1]. Lost coal is black [1]. They are old.",
    "none": "Lost dams store water [1]. Lost coal is black [1]. They are old.",
    "uncited": "Lost dams store water. Coal is black. They are old.",
}


def ask(requests):
    replies = []
    for request in requests:
        text = json.loads(request.body["messages"][0]["content"].splitlines()[-1].removeprefix("Sentence: "))
        if text.startswith("Lost"):
            replies.append(Failure(Cause.REFUSED, "not this one"))
        else:
            choice = {"message": {"content": json.dumps({"facts": [text]})}, "finish_reason": "stop"}
            replies.append(read_reply(json.dumps({"model": "tiny", "choices": [choice]})))
    return replies


BACKEND = Backend(
    "half", Cutoff(None, "as it is"), {"backend": "half"}, lambda pairs: [Verdict(None, 0.5) for _ in pairs], {}
)


@pytest.fixture
def prepare(tmp_path, rated_row):
    """A run on rated answers, before anything is asked."""

    def made(*overrides, texts=TEXTS, **asked):
        passages = [{"text": "A dam. Of coal."}]
        rows = [
            rated_row(text, [(1,), (0.5,), (number / 4,)], id=name, passages=passages)
            for number, (name, text) in enumerate(texts.items())
        ]
        path = tmp_path / "rated.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        given = {"pipelines": ("scifi",), "nli": ("overlap",), **asked}
        quick = ("interval.resamples=20", "comparison.permutations=0", "controls=false", "splitter=rules")
        settings = {"results": tmp_path / "results"}
        return prepared_run(META, MetaCommand(files=(path,), **given), settings, [*quick, *overrides])

    return made


@pytest.fixture
def lost(prepare):
    """Levels of SCiFi by a model that does not decompose everything, by the rules of `MetaOptions`."""
    prepared = META.read(prepare("facts=model", model="tiny"))
    facts = read_with_model(prepared.answers, prepared.scifi, ask, prepared.chat, prepared.splitter)
    measure = scifi_measure(prepared, facts, {}, BACKEND)

    def made(**rules):
        values = {measure.name: measure.values}
        how = "d", prepared.human, values, alignment(prepared.human, values), MetaOptions(**rules)
        return measure, response_level(*how), statement_level(*how)

    return made


def said(level):
    (own,) = level.values.values()
    return {row.id: (one.value, one.state) for row, one in zip(level.ratings.rows, own, strict=True)}


def in_part(level):
    (own,) = level.values.values()
    return {row.id for row, one in zip(level.ratings.rows, own, strict=True) if one.in_part}


@pytest.mark.parametrize("unrated", ["left out", "full marks"])
def test_an_answer_whose_facts_are_lost_is_missing_and_not_without_a_value(lost, unrated):
    measure, level, _ = lost(unrated=unrated)
    assert said(level) == {
        "whole": (0.5, "valued"),
        "part": (0.5, "valued"),
        "none": (None, "missing"),
        # Its lost sentence does not cite: no fact of it would count.
        "uncited": (1.0, "valued") if unrated == "full marks" else (None, "no value"),
    }
    assert in_part(level) == {"part"}
    # With one fact in each lost sentence: 0.5 and one more of two, both of two.
    assert {name: one.ends for name, one in level.open[measure.name].items()} == {
        "part": (0.25, 0.75),
        "none": (0.0, 1.0),
    }
    assert measure.assumed == "if each of 3 sentences without facts states one"


def test_a_statement_that_would_take_a_missing_value_is_missing(lost):
    _, _, level = lost(none="response", unrated="full marks")
    assert {name: one for name, one in said(level).items() if name.endswith("#3")} == {
        "whole#3": (0.5, "valued"),
        "part#3": (0.5, "valued"),  # of what is known; counted as in part
        "none#3": (None, "missing"),
        "uncited#3": (1.0, "valued"),
    }
    assert said(level)["part#2"] == said(level)["none#1"] == (None, "missing")
    assert in_part(level) == {"part#3"}
    assert in_part(lost(none="left out")[2]) == set()


def test_passages_are_cut_by_the_splitter_of_the_run(prepare):
    prepared = META.read(prepare("window=2", texts={"whole": TEXTS["whole"]}))
    lines_in = []

    def entails(pairs):
        lines_in.extend(premise for premise, _ in pairs)
        return [Verdict(None, 0.5) for _ in pairs]

    backend = Backend("seen", Cutoff(None, "as it is"), {"backend": "seen"}, entails, {})
    read, fields = read_facts(prepared, None)
    scifi_measure(prepared, read, fields, backend)
    assert {*lines_in} == {"A dam.", "Of coal."}
    lines_in.clear()
    whole = SentenceSplitter("whole", lambda text: [text])
    scifi_measure(replace(prepared, splitter=whole), read, fields, backend)
    assert {*lines_in} == {"A dam. Of coal."}


def test_scores_made_elsewhere_that_leave_out_sentences_are_values_in_part(prepare, tmp_path):
    path = tmp_path / "theirs.jsonl"
    given = [("whole", 0, 21, 0.4), ("whole", 22, 40, 0.8), ("part", 0, 21, 0.4), ("part", 22, 45, None)]
    rows = [{"answer": name, "start": start, "end": end, "value": value} for name, start, end, value in given]
    # An answer with a score of its own needs none of its sentences'.
    rows += [{"answer": "none", "start": 0, "end": 26, "value": None}, {"answer": "none", "start": 27, "end": 50}]
    rows[-1]["value"] = 0.5
    rows.append({"answer": "none", "value": 0.9})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = judge(prepare(pipelines=(), nli=(), scores=(path,)))
    level = next(one for one in found.levels if one.unit == "responses")
    assert in_part(level) == {"part"}
    ((name, text),) = could_be(found)
    assert name == "scores:theirs"
    # (0.6 + 0.4 + 0.9) / 3, and scores may be anything.
    assert text == "mean 0.633; its range is not known (1 of 4 responses)"
