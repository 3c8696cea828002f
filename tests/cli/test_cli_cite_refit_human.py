"""`metaeval cite refit -s edits=human`: coefficients fitted to people's own edits, solved by hand."""

import json

import numpy as np
import pytest

from metaeval.citation.citeeval.citation_edits import PUBLISHED
from metaeval.citation.data_model import Answer
from metaeval.citation.human.rated_statements import HumanAnswer, HumanStatement
from metaeval.citation.human.refitting import human_edited
from metaeval.core.errors import UserError
from tests.cli.samples import write_rated_answers

QUICK = ("-s", "interval.resamples=30")
BOTH, ADDED = {"delete-misleading": ["1", "2"]}, {"add-evidence": ["3"]}


@pytest.fixture
def bench(citebench):
    """Six queries; each with a statement of two citations and one without. Three people edit and rate."""
    r = "retrieval"
    files = citebench(
        {f"q{n}": [([1, 2], [r] * 3, [1, 0.5, 0]), ([], [r] * 3, [0] * 3)] for n in range(6)}, [{"text": "x"}] * 3
    )
    people = json.loads(files[1].read_text())
    for number, name in enumerate(people):
        first, second = people[name]["statements"].values()
        first["edits"] = [{}, {"delete-misleading": ["2"], "add-evidence": []}, BOTH]
        second["edits"] = [ADDED] * 3
        if number == 0:
            first["edits"][0], first["ratings"][0] = ADDED, 0.75
    files[1].write_text(json.dumps(people))
    return files


def test_the_coefficients_solve_people_s_ratings(ran, recorded, bench, tmp_path):
    planned = ran("cite", "refit", bench[0], "--human", bench[1], "-s", "edits=human", "--dry-run").out
    assert ("nothing is paid" in planned, (tmp_path / "results").exists()) == (True, False)
    out = ran("cite", "refit", bench[0], "--human", bench[1], "-s", "edits=human", *QUICK).out
    assert "18 judgements with citations, edits and a rating, in 6 answers of 6 groups" in " ".join(out.split())
    recorded.held("refit-human", recorded.sheets(tmp_path / "results" / "latest"))
    fitted = json.loads((tmp_path / "results" / "latest" / "fitted.json").read_text())
    b = PUBLISHED.intercept
    # Ratings 1, 1/2 and 0 of two kept, one kept and one deleted, two deleted: KEEP + b = 1, DELETE_1 + b = 0, and the
    # mean of both is 1/2. Two kept and one added is 3/4: (2 KEEP + ADD_1) / 3 + b = 3/4, so that ADD_1 = 1/4 - b.
    known = {"KEEP": 1 - b, "DELETE_1": -b, "ADD_1": 0.25 - b}
    assert fitted["action"] == pytest.approx({**PUBLISHED.action, **known}, abs=1e-9)
    assert (fitted["made"]["edits"], fitted["made"]["statements"], fitted["made"]["groups"]) == ("human", 18, 6)


def statement(edits, ratings=(1.0, 1.0, 1.0), citations=(4,)):
    return HumanStatement("1", citations, (2, 2, 2), ratings, edits)


def edited(*statements):
    human = HumanAnswer(Answer("a", "", (), ""), ())
    return human_edited([human], {"a": statements}, np.zeros(1, dtype=np.int64))


def test_what_is_left_out_is_counted():
    rows, left_out = edited(
        statement(({}, None, {"delete-redundant": [4], "add-credibility": [1, 2]}), (0.5, 1.0, 0.25)),
        statement(({"delete-redundant": [4, 5]}, {}, []), (0.5, None, 0.25)),
        statement((), citations=(1,)),
        statement(({}, {}, {}), citations=()),  # cites nothing: not of the fit
    )
    assert [(row.rating, [f"{edit.name}:{edit.citation}" for edit in row.edits]) for row in rows] == [
        (0.5, []),
        (0.25, ["DELETE_3:1", "ADD_3:2", "ADD_3:3"]),
    ]
    assert left_out == {"not edited by people": 1 + 1 + 3, "edits that cannot be": 1, "not rated by people": 1}


def test_edits_of_another_form_are_one_sentence():
    with pytest.raises(UserError, match=r"^Response 'a', statement '1': the edits add-evidence of the judgements"):
        edited(statement(({"add-evidence": 3}, {}, {})))


@pytest.mark.parametrize(
    ("more", "error"),
    [
        (("--model", "m"), "edits=human fits people's edits, and no model is asked"),
        (("-s", "edits=people"), "Unknown edits 'people'. Known: human, judge."),
    ],
)
def test_wrong_options_are_one_sentence(refused, bench, more, error):
    assert error in refused("cite", "refit", bench[0], "--human", bench[1], "-s", "edits=human", *more)


def test_other_files_hold_no_edits(refused, tmp_path):
    write_rated_answers(tmp_path)
    said = refused("cite", "refit", tmp_path / "rated.jsonl", "-s", "edits=human")
    assert "edits=human needs people's edits, which CiteBench holds" in said
