"""AttrScore: labels by a chat model or by a metric, and what they are worth."""

import json
from functools import partial

import pytest

from metaeval.citation.chat_models import chat_request
from metaeval.citation.citeeval import baselines
from metaeval.citation.citeeval.baselines import NO_PASSAGE, UNREAD, Open, attrscore, attrscore_inquiries, known
from metaeval.citation.citeeval.judge import Asking
from metaeval.citation.citeeval.options_and_values import baseline_options, citeeval_options
from metaeval.citation.citeeval.splitting import split_response
from metaeval.citation.data_model import Answer, Passage
from metaeval.errors import UserError
from metaeval.llm.endpoint import Cause
from metaeval.llm.messages import Failure, read_reply

PASSAGES = (Passage("It is 840 km long.", "Oder"), Passage("Barges carry coal."))


def says(label):
    text = json.dumps({"thinking": "", "label": label})
    return read_reply(json.dumps({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}))


def asked(text, **options):
    response = Answer("a", text, PASSAGES, "How long is it?")
    split = split_response(response, citeeval_options(**options))
    return [response], [split]


def labels(text, *answers, **options):
    responses, splits = asked(text, **options)
    inquiries = attrscore_inquiries(responses, splits, partial(chat_request, Asking(model="tiny")))
    (found,) = baselines.attrscore_by_model(splits, list(zip(inquiries, answers, strict=True)))
    return found


def test_strict_and_relaxed_by_hand():
    three = ("Attributable", "Extrapolatory", "Contradictory")
    assert attrscore(three) == known(1 / 3)  # (1 + 0 + 0) / 3
    assert attrscore(three, "relaxed") == known(0.5)  # (1 + 0.5 + 0) / 3
    assert attrscore(()) == attrscore((), "relaxed") == known(0.0)  # no citation stands as Contradictory does
    assert attrscore((NO_PASSAGE, "Attributable"), "relaxed", "attributable") == known(0.5)


def test_any_other_label_is_missing_or_as_released_full_support():
    assert attrscore(("Contradictory", UNREAD)) == Open(None, 0.0, 0.5)
    assert attrscore(("Contradictory", "No idea"), otherwise="attributable") == known(0.5)
    # A label that never came is none that could be taken for another.
    assert attrscore(("Contradictory", None), otherwise="attributable") == Open(None, 0.0, 0.5)
    assert (baseline_options("paper").otherwise, baseline_options("released").otherwise) == ("missing", "attributable")
    assert baseline_options("released", otherwise="missing").otherwise == "missing"
    with pytest.raises(UserError, match="Did you mean 'released'"):
        baseline_options("relaesed")


def test_a_chat_model_is_asked_once_for_each_citation():
    responses, splits = asked("It is long [1][2]. It is a river. Barges sing [2].")
    inquiries = attrscore_inquiries(responses, splits, partial(chat_request, Asking(model="tiny")))
    assert [(one.statement, one.citation) for one in inquiries] == [(0, 0), (0, 1), (2, 0)]
    first = inquiries[0].request.body
    assert first["response_format"]["json_schema"]["name"] == "attrscore"
    text = first["messages"][0]["content"]
    assert text.endswith(
        "<claim>It is long.</claim>\n\n<reference>\n<passage><title>Oder</title><text>It is 840 km long.</text>"
        "</passage>\n</reference>"
    )
    found = labels(
        "It is long [1][2]. It is a river. Barges sing [2].",
        *(says(one) for one in ("Attributable", "Extrapolatory", "Contradictory")),
    )
    assert [one.labels for one in found] == [("Attributable", "Extrapolatory"), (), ("Contradictory",)]
    assert [attrscore(one.labels, "relaxed") for one in found] == [known(0.75), known(0.0), known(0.0)]


def test_replies_without_a_label_and_requests_without_a_reply_are_told_apart():
    found = labels("It is long [1][2].", says("attributable"), Failure(Cause.SERVER_ERROR, "x"))
    assert found[0].labels == (UNREAD, None)  # a label is a label to the letter
    assert found[0].states == {"unparsed": 1, "failed": 1}
    assert attrscore(found[0].labels) == Open(None, 0.0, 1.0)
    assert attrscore(found[0].labels, otherwise="attributable") == Open(None, 0.5, 1.0)


def test_a_citation_of_no_passage_is_worth_nothing_and_not_asked():
    found = labels("It is long [9][1].", says("Attributable"), highest=10)
    assert (found[0].labels, attrscore(found[0].labels)) == ((NO_PASSAGE, "Attributable"), known(0.5))
    assert attrscore(labels("No answer was found.")[0].labels) == known(0.0)


def test_a_metric_labels_each_pair_once():
    batches = []

    def label(pairs):
        batches.append(list(pairs))
        return [{"It is long.": "Attributable", "It is deep.": None}[claim] for _, claim in pairs]

    responses, splits = asked("It is long [1]. It is deep [1]. It is long [1].")
    (found,) = baselines.attrscore_by_metric(responses, splits, label)
    reference = "Title: Oder\nIt is 840 km long."
    assert batches == [[(reference, "It is long."), (reference, "It is deep.")]]
    assert [one.labels for one in found] == [("Attributable",), (None,), ("Attributable",)]
    assert [attrscore(one.labels) for one in found] == [known(1.0), Open(None, 0.0, 1.0), known(1.0)]
    uncited = asked("It is long.")
    assert attrscore(baselines.attrscore_by_metric(*uncited, label)[0][0].labels) == known(0.0)
    assert len(batches) == 1  # nothing to label, nothing asked
