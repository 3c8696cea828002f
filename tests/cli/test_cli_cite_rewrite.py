"""`metaeval cite rewrite` as it is typed: live with faults, from the store, estimated, and refused."""

import json

import pytest

from tests.cli.samples import csv_rows, lines_of

pytest.importorskip("openai", reason="needs the extra 'llm'")

pytestmark = pytest.mark.usefixtures("own_environment")


def passage(text):
    return {"title": text.split()[-1].rstrip("."), "text": text}


def item(question, output, *texts):
    return {"question": question, "output": output, "docs": [passage(text) for text in texts]}


VICTORIA = "Queen Victoria became Queen of the United Kingdom on 20 June 1837"
TEA = ("Tea is grown in Kenya.", "Coffee is grown in Brazil.", "In India tea is grown.", "Rain fell.")
PLASTIC = ("Cups can be made of glass.", "Cups are made of plastic.")
ITEMS = [
    item("Who?", f"{VICTORIA} [1], at the age of 18 [2].", f"{VICTORIA}.", "At the age of 18 she left."),
    item("Of what?", "Cups can be made of glass [1] or plastic [2].", *PLASTIC),
    item("Where?", "Tea is grown in Kenya [1], Sri Lanka [2] and India [3]. Rain fell [4].", *TEA),
]
FEW = "--set interval.resamples=30 --set interval.fewest=2 --set chat.backoff=0.01"
QUICK = ("--nli", "overlap", *FEW.split())


@pytest.fixture
def answers(tmp_path):
    """The items in a file."""
    path = tmp_path / "answers.json"
    path.write_text(json.dumps(ITEMS))
    return path


def by_rule(body):
    """A model that mends the cut claims, by name or by a full stop, and does not keep to the form for one."""
    claim = json.loads(body["messages"][-1]["content"].splitlines()[-1].partition(": ")[2])
    if claim == "Tea is grown in India":
        return "It reads well."
    loose = claim.removesuffix(" or").removesuffix(" ,").removesuffix(" and")
    whole = {"at the age of 18": "Victoria became Queen at the age of 18"}.get(claim, loose)
    return json.dumps({"claim": f"{whole}."})


def sheet(folder, name):
    return {record["measure"]: record for record in json.loads((folder / f"{name}.json").read_text())["records"]}


def test_from_answers_over_a_faulty_endpoint_to_what_changed(asked, ran, answers, fake, tmp_path, recorded):
    # With this seed four of the first seven attempts meet a fault, each another one.
    faults = {"faults": 0.4, "kinds": fake.QUICK_FAULTS, "seed": 16}
    ended, server = asked(by_rule, "cite", "rewrite", answers, *QUICK, **faults)
    assert sorted(server.completed.values()) == [1] * 7
    assert len(server.faulted) >= 4
    folder = tmp_path / "results" / "latest"
    found = sheet(folder, "rewriting")
    # Seven claims are cut, two of Victoria, two of cups, three of tea; "Rain fell" is a whole sentence. One reply has
    # no claim. Of the six others, "at the age of 18" loses its support: overlap counts content words, and of victoria,
    # became, queen, age and 18 its passage has 2 of 5, below 0.63. Sri Lanka has none before or after.
    sent = [(found[name]["value"], found[name]["claims"]) for name in ("rewritten", "unparsed", "no reply")]
    assert sent == [(6 / 7, 7), (1 / 7, 7), (0, 7)]
    assert (found["same verdict"]["value"], found["same verdict"]["claims"]) == (5 / 6, 6)
    assert found["same verdict"]["low"] < 5 / 6 < found["same verdict"]["high"]
    # Before 5 of 6 are supported, after 4: expected agreement (5 x 4 + 1 x 2) / 36, kappa (30 - 22) / (36 - 22).
    assert found["kappa"]["value"] == pytest.approx(8 / 14)
    assert (found["support lost"]["value"], found["support gained"]["value"]) == (1 / 6, 0)
    scores = sheet(folder, "rewriting-scores")
    # Without India, which has no new wording: before (1 + 1 + 2/3) / 3, after (1/2 + 1 + 2/3) / 3; one mark a claim.
    for measure in ("recall", "precision", "f1"):
        assert scores[measure]["before"] == pytest.approx(8 / 9)
        assert scores[measure]["after"] == pytest.approx(13 / 18)
        assert scores[measure]["change"] == pytest.approx(-1 / 6)
    assert scores["recall"]["change_low"] < -1 / 6 < scores["recall"]["change_high"]
    # With India: 5 or 6 of 7 verdicts; (1/2 + 1 + 2/4) / 3 or (1/2 + 1 + 3/4) / 3.
    said = " ".join(ended.out.split())
    assert "same verdict is from 71.4 to 85.7, recall after is from 66.7 to 75.0" in said
    (changed,) = [json.loads(line) for line in (folder / "per-changed-overlap.jsonl").read_text().splitlines()]
    assert (changed["claim"], changed["rewritten"]) == ("at the age of 18", "Victoria became Queen at the age of 18.")
    assert changed["sentence"] == ITEMS[0]["output"].replace(" [1]", "").replace(" [2]", "")
    assert (changed["joint_before"], changed["joint_after"]) == (True, False)
    assert (changed["score_before"], changed["score_after"]) == (1.0, 0.4)
    recorded.held("cited-rewrite", recorded.sheets(folder))
    ran("results", "export")
    rows = csv_rows(folder / "per-rewritings-overlap.csv")
    assert [row["state"] for row in rows] == ["rewritten"] * 6 + ["unparsed"]
    # What is missing stays missing: the claim that was not written again has no second verdict.
    assert [rows[-1][name] for name in ("rewritten", "joint_before", "joint_after", "score_after")] == ["", "1", "", ""]


def test_a_model_that_never_keeps_to_the_form_leaves_everything_undefined(asked, answers, tmp_path):
    long = (400, {"error": {"message": "too many tokens", "code": "context_length_exceeded"}})
    asked(lambda body: long if "Kenya" in str(body) else "As it is.", "cite", "rewrite", answers, *QUICK)
    folder = tmp_path / "results" / "latest"
    found = sheet(folder, "rewriting")
    assert [found[name]["value"] for name in ("unparsed", "rewritten", "no reply")] == [4 / 7, 0, 3 / 7]
    for name in ("same verdict", "kappa", "supported after", "support lost", "left as it was"):
        assert (found[name]["value"], found[name]["claims"]) == (None, 0)
    # "Rain fell" alone is left to compare.
    assert [sheet(folder, "rewriting-scores")["recall"][name] for name in ("before", "after", "change")] == [1, 1, 0]
    assert (folder / "per-changed-overlap.jsonl").read_text() == ""


def test_answers_of_which_no_claim_was_cut_are_refused_before_anything_is_asked(refused, tmp_path):
    path = tmp_path / "plain.json"
    path.write_text(json.dumps([{**ITEMS[1], "output": "Cups can be made of glass [1]."}]))
    assert "Every claim in plain is a whole sentence" in refused("cite", "rewrite", path, *QUICK)


def in_text(body):
    """A model that answers in plain text, as the paper's prompt is answered, and talks on for one claim."""
    claim = json.loads(body["messages"][-1]["content"].splitlines()[-1].partition(": ")[2])
    line = f"Modified sentence: {claim.removesuffix(' or').removesuffix(' ,').removesuffix(' and')}."
    return f"{line}\nI kept every fact." if claim == "Tea is grown in India" else line


def test_replies_in_plain_text_are_read_by_a_named_rule(asked, answers, tmp_path):
    kept = tmp_path / "kept.jsonl"
    quick = (*QUICK, "-s", "chat.output=text")
    answers.write_text(json.dumps([*ITEMS, {**ITEMS[1], "output": ITEMS[1]["output"].replace("[2]", "[9]")}]))
    ended, _ = asked(in_text, "cite", "rewrite", answers, *quick, "--record", kept)
    requests = [one["request"] for one in lines_of(kept)]
    # No schema is sent, and the prompt asks for one line.
    assert not any("response_format" in request for request in requests)
    assert all("on one line, and with nothing else" in request["messages"][-1]["content"] for request in requests)
    found = sheet(tmp_path / "results" / "latest", "rewriting")
    # Nine claims are sent; the reply of two lines is unparsed, and a claim that cites no passage lacks no verdict.
    assert (found["rewritten"]["value"], found["unparsed"]["value"]) == (8 / 9, 1 / 9)
    said = ("replies in plain text: their only line", "same verdict is from 87.5 to 100.0")
    assert all(words in " ".join(ended.out.split()) for words in said)
