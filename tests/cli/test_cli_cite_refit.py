"""`metaeval cite refit` as it is typed: recorded with faults, replayed, used, and what is refused."""

import json

import pytest

from tests.cli.samples import lines_of, write_lines

pytest.importorskip("openai", reason="needs the extra 'llm'")

pytestmark = pytest.mark.usefixtures("own_environment")

QUICK = ("-s", "interval.resamples=30", "-s", "chat.backoff=0.01", "-s", "chat.retries=20")
PASSAGES = [{"text": "The Oder is long."}, {"text": "Barges carry coal."}]


def judge(body):
    """The citation of a statement about ships goes as misleading, every other one stays."""
    statements = body["messages"][0]["content"].rpartition("</passages>")[2]
    delete = {"action": "delete", "citation": 1, "reason": "misleading"}
    edits = [[delete] if "Ships" in part else [] for part in statements.split("<statement ")[1:]]
    entries = [{"id": n, "thinking": "", "edits": own, "rating": 3} for n, own in enumerate(edits, start=1)]
    return json.dumps({"statements": entries})


@pytest.fixture
def rated(tmp_path):
    """Ten answers to five questions, of two statements: people rate the first, on ships, 0.2, and the other one 0.8."""
    text = "Ships sail fast [1]. The Oder is long [1]."
    rows = [
        {
            "id": f"a{number}",
            "question": f"Question {number % 5}?",
            "text": f"{text} Number {number}.",
            "passages": PASSAGES,
            "statements": [
                {"start": 0, "end": 20, "ratings": [0.2, 0.2, None]},
                {"start": 21, "end": 43, "ratings": [0.8, 1.0, 0.6]},
            ],
        }
        for number in range(10)
    ]
    return write_lines(tmp_path / "rated.jsonl", rows)


def test_coefficients_are_fitted_through_faults_and_used(asked, ran, contents, recorded, rated, tmp_path):
    asked(judge, "cite", "refit", rated, *QUICK, faults=0.4, kinds=("429", "500", "closed"), seed=2)
    folder = (tmp_path / "results" / "latest").resolve()
    recorded.held("refit-judge", recorded.sheets(folder))
    made = json.loads((folder / "fitted.json").read_text())["made"]
    assert (made["judge"], made["profile"], made["index_shift"]) == ("tiny-2", "paper", False)
    assert (made["statements"], made["groups"]) == (20, 5)
    rows = ({name: row[name] for name in ("id", "text", "passages")} for row in lines_of(rated))
    answers = write_lines(tmp_path / "answers.jsonl", rows)
    own = ("--coefficients", folder / "fitted.json", "--nli", "overlap")
    ended, _ = asked(judge, "cite", "citeeval", answers, *own, *QUICK)
    sheet = json.loads((tmp_path / "results" / "latest" / "citeeval.json").read_text())
    (value,) = [one["value"] for one in sheet["records"] if one["measure"] == "edits"]
    # Ships 0.2 by the new coefficients; the Oder has no edits, and is 1; "Number 3." cites nothing, and the judge, who
    # was not asked what it rests on in this form, leaves it open.
    assert value == pytest.approx((0.2 + 1) / 2)
    assert "|coefficients:refitted@" in sheet["signatures"][0]
    for job in (folder, (tmp_path / "results" / "latest").resolve()):
        ran("results", "figures", job.relative_to(tmp_path / "results"))
    assert len(list(tmp_path.glob("results/figures/*/figure-pipelines.svg"))) == 2
    assert ", coefficients refitted@" in " ".join(ended.out.split())
    assert len(contents(folder)) == 4  # two tables, their page, and the coefficients


@pytest.mark.parametrize(
    ("useful", "said"),
    [
        # A judge of whom nothing can be read is not blamed on the data.
        ("Number 99.", "of 10 requests about their citations 10 malformed; the first reply begins 'I like it.'"),
        # Nine answers of two statements with citations each.
        ("Number 3.", "Left out: requests unparsed 9, statements not edited by the judge 18."),
    ],
)
def test_too_little_to_learn_from_says_what_was_left_out(asked, rated, tmp_path, useful, said):
    def some(body):
        return judge(body) if useful in body["messages"][0]["content"] else "I like it."

    ended, _ = asked(some, "cite", "refit", rated, *QUICK, code=2)
    assert said in ended.err
    assert not (tmp_path / "results").exists()


def test_the_signature_tells_options_and_ratings_apart(asked, rated, tmp_path):
    def signature(*given):
        asked(judge, "cite", "refit", rated, *QUICK, *given)
        sheet = tmp_path / "results" / "latest" / "refit.json"
        return json.loads(sheet.read_text())["signatures"][0]

    plain = signature()
    assert "seed=3" in signature("-s", "chat.seed=3") != plain
    rated.write_text(rated.read_text().replace("[0.2, 0.2, null]", "[0.2, 0.4, null]"))
    assert signature() != plain
