"""`metaeval cite meta` as it is typed: on ratings of one's own, with a judge recorded and replayed, and refused."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.samples import lines_of, write_lines

pytestmark = pytest.mark.usefixtures("own_environment")

EXPERTQA = Path(__file__).parents[3] / "shared" / "data" / "expertqa"
PASSAGES = [{"title": "Oder", "text": "The Oder is 840 kilometres long."}, {"text": "Barges carry coal."}]
FEW = ("-s", "interval.resamples=10", "-s", "comparison.permutations=10", "-s", "controls=false")
QUICK = (*FEW, "-s", "splitter=rules")


def items(systems=2, groups=4):
    """Answers of two statements, the first right and rated so by two of three, the other uncited and unrated."""
    found = []
    for system in range(systems):
        for group in range(groups):
            first, second = f"The Oder is {840 + group * system} kilometres long [1].", "Barges sing songs [2]."
            found.append(
                {
                    "id": f"{system}-{group}",
                    "group": f"q{group}",
                    "system": f"system {system}",
                    "question": f"Question {group}?",
                    "passages": PASSAGES,
                    "text": f"{first} {second}",
                    "statements": [
                        {"start": 0, "end": len(first), "ratings": [1, None, 1 - group * system / 4]},
                        {"start": len(first) + 1, "end": len(first) + 1 + len(second), "ratings": [0.25, 0, 0]},
                    ],
                }
            )
    return found


@pytest.fixture
def rated(tmp_path):
    return write_lines(tmp_path / "rated.jsonl", items())


def test_ratings_of_ones_own(ran, contents, recorded, rated, tmp_path):
    ended = ran("cite", "meta", rated, "--nli", "overlap", "--threshold", "0.9", *QUICK)
    folder = tmp_path / "results" / "latest"
    written = {name: own for name, own in recorded.files(folder).items() if name.endswith("ratings.jsonl")}
    recorded.held("meta-own-ratings", written | {"said": recorded.said(ended.out)})
    tables = {
        "statements": ("correlation", "classification", "within-systems"),
        "responses": ("correlation", "classification", "within-systems", "systems"),
    }
    of_units = [f"{unit}/{name}" for unit, names in tables.items() for name in names]
    assert set(contents(folder)) == {
        *(f"{name}.json" for name in (*of_units, "measures", "annotators")),
        *(f"{unit}/ratings.jsonl" for unit in tables),
        "report.html",
    }
    ran("results", "export", "--format", "latex", "--output", "paper")
    wanted = {f"{name}.tex" for name in (*of_units, "measures", "annotators")}
    assert {path.relative_to("paper").as_posix() for path in Path("paper").rglob("*.*")} == wanted
    assert "Agreement between annotators (Krippendorff's alpha)" in ended.out
    assert "Systems as people and as measures rate them" in ended.out
    rows = [json.loads(line) for line in (folder / "statements" / "ratings.jsonl").read_text().splitlines()]
    assert len(rows) == 16
    # "843" is not in the passage: 3 of the 4 content words are, which is under 0.9; "sing songs" is not either.
    scores = {row["id"]: row["scores"]["alce:recall:overlap"] for row in rows}
    assert scores == {f"{s}-{g}#{n}": float(n == 1 and s * g == 0) for s in range(2) for g in range(4) for n in (1, 2)}
    assert {row["id"]: row["gold"] for row in rows}["1-3#1"] == pytest.approx(1 - 3 / 8)
    ran("results", "figures")
    (drawn,) = tmp_path.glob("results/figures/*/figure-forest.svg")
    # Statements and responses are told apart by the name of the data.
    assert all(f"(rated, {unit})" in drawn.read_text(encoding="utf-8") for unit in tables)


def test_cvcp_is_among_the_values_of_responses(ran, tmp_path):
    path, rows = tmp_path / "placed.jsonl", items()
    for number, row in enumerate(rows):
        # The second sentence of half the answers cites in two places: words 1, 2, group 3, word 4, group 5.
        row["text"] = row["text"].replace("Barges sing songs [2].", "Barges sing [1] songs [2]." if number % 2 else "")
        row["statements"] = row["statements"][:1]
    write_lines(path, rows)
    ran("cite", "meta", path, "--nli", "overlap", "--pipelines", "aliice", *QUICK)
    scored = lines_of(tmp_path / "results" / "latest" / "responses" / "ratings.jsonl")
    scores = {row["id"]: row["scores"] for row in scored}
    # Positions 3 and 5: mean 4, deviation 1; the first sentence has one group, 0; the mean of both is an eighth.
    assert scores["0-0"]["aliice:cvcp"] == 0
    assert scores["0-1"]["aliice:cvcp"] == pytest.approx(0.125)


def test_utility_of_answers_against_recall_and_precision(ran, tmp_path):
    """Section 7 of ALiiCE's paper: ratings of whole answers, with the pipeline's measures and people's.

    By hand: the first claim holds; of its marks [1] does, and [2] where there is one does not: precision 1/2.
    """
    rows, people, utility = items(1, 8), [], [0, 0.5, 1, 0, 0.5, 1, 1, 0.5]
    for number, row in enumerate(rows):
        text = f"The Oder is {840 if number % 3 else 700} kilometres long [1]{' [2]' * (number % 2)}."
        row |= {"text": text, "statements": [{"start": 0, "end": len(text), "ratings": [utility[number]]}]}
        people.append({"answer": row["id"], "value": number % 5, "measure": "recall by people"})
    rated, scores = write_lines(tmp_path / "rated.jsonl", rows), write_lines(tmp_path / "people.jsonl", people)
    wanted = ("--pipelines", "aliice", "--scores", scores)
    ran("cite", "meta", rated, "--nli", "overlap", "--threshold", "0.9", *wanted, *QUICK)
    found = json.loads((tmp_path / "results" / "latest" / "responses" / "correlation.json").read_text())["rows"]
    pearson = {row["metric"]: row["values"]["pearson"]["value"] for row in found if row["kind"] == "metric"}
    recall = [float(number % 3 > 0) for number in range(8)]
    precision = [of / (1 + number % 2) for number, of in enumerate(recall)]
    f1 = [2 * p * r / (p + r) if r else 0 for r, p in zip(recall, precision, strict=True)]
    expected = {"aliice:recall:overlap": recall, "aliice:precision:overlap": precision, "aliice:f1:overlap": f1}
    expected["scores:recall by people"] = [number % 5 for number in range(8)]
    for name, values in expected.items():
        assert pearson[name] == pytest.approx(np.corrcoef(values, utility)[0, 1])


def test_what_is_written_is_evaluated_to_the_same_digits(ran, rated, tmp_path):
    ran("cite", "meta", rated, "--nli", "overlap,rouge", "-q", *QUICK)
    own = (tmp_path / "results" / "latest").resolve() / "statements"
    again = ("evaluate", "-d", "ratings", "--data", own / "ratings.jsonl", "-p", "correlation", "-q", *FEW)
    ran(*again)
    found = [
        json.loads(path.read_text())["rows"]
        for path in (own / "correlation.json", tmp_path / "results" / "latest" / "correlation.json")
    ]
    values = [
        {row["metric"]: {key: (one["value"], one["low"]) for key, one in row["values"].items()} for row in rows}
        for rows in found
    ]
    assert values[0] == values[1]
    assert {name.rpartition(":")[2] for name in values[0] if ":" in name} == {"overlap", "rouge"}


def test_values_of_judges_come_through_faults(asked, contents, fake, rated, tmp_path):
    pytest.importorskip("openai", reason="needs the extra 'llm'")

    def judge(body):
        said = body["messages"][0]["content"]
        if "<passages>" not in said:  # a sentence to be cut into facts; one reply is of no use
            return "no" if "843" in said else json.dumps({"facts": ["The Oder is long."]})
        own = said.rpartition("</passages>")[2]
        if 'cites="' not in own:
            entries = [{"id": n, "thinking": "", "context": "retrieval"} for n in (1, 2)]
        elif "is 842" in own:
            return "I like it."
        else:
            entries = [{"id": n, "thinking": "", "edits": [], "rating": stars} for n, stars in ((1, 5), (2, 1))]
        return json.dumps({"statements": entries})

    names = ("--pipelines", "citeeval,alce,scifi", "-s", "facts=model")
    words = ("cite", "meta", rated, *names, "--nli", "overlap")
    asked(judge, *words, "-s", "chat.backoff=0.01", *QUICK, faults=0.3, kinds=fake.QUICK_FAULTS, seed=3)
    first = contents(tmp_path / "results" / "latest")
    rows = [json.loads(line) for line in first["statements/ratings.jsonl"].decode().splitlines()]
    expected = {f"{s}-{g}#{n}": float(n == 1) for s in range(2) for g in range(4) for n in (1, 2)}
    # Five stars are 1 and one star is 0; the reply about "842" holds nothing, and is no number.
    assert {row["id"]: row["scores"]["citeeval:rating"] for row in rows} == expected | {"1-2#1": None, "1-2#2": None}
    # "Oder" and "long" stand in the first passage and not in the second; the facts of one sentence are missing.
    assert {row["id"]: row["scores"]["scifi:entailment:overlap"] for row in rows} == expected | {"1-3#1": None}
    result = json.loads(first["statements/correlation.json"])
    measured = {row["metric"]: row for row in result["rows"] if row["kind"] == "metric"}
    rating, entailment = measured["citeeval:rating"], measured["scifi:entailment:overlap"]
    assert (rating["scored"], rating["statuses"], entailment["statuses"]) == (14, {"unparsed": 2}, {"unparsed": 1})
    assert rating["values"]["pearson"]["bounds"] is not None
    assert "|facts:model=tiny, temperature=0.0, max_tokens=1024, max_tokens_name" in entailment["signature"]
    assert "127.0.0.1" not in entailment["signature"]
    # Seven answers have 1/2, and the eighth, both of whose statements are missing, could have 0 to 1.
    open_ = json.loads(first["responses/could-be.json"])["records"]
    assert {one["answer"] for one in open_} == {"1-2", "1-3"}
    judged = {"answer": "1-2", "measure": "citeeval:rating", "value": None, "least": 0, "most": 1}
    assert judged in open_
    counted = json.loads(first["measures.json"])["records"]
    (rating,) = [one for one in counted if (one["level"], one["measure"]) == ("responses", "citeeval:rating")]
    assert (rating["mean"], rating["mean_least"], rating["mean_most"]) == (1 / 2, 3.5 / 8, 4.5 / 8)


def test_the_main_table_of_citeeval_with_prompts_that_ask_for_tags(asked, contents, citebench, tmp_path):
    pytest.importorskip("openai", reason="needs the extra 'llm'")
    # The ids of the published files name the system (`eval_pairs` of the released code takes the same beginnings).
    systems = ("gpt-4o_asqa_gtr_10_psgs", "llama3_8b_eli5_bm25_10_psgs")
    own = [([1, 2], ["2", "2", "1"], (1, 0.75, 1)), ([], ["4", "2", "4"], (None, 0, None))]
    files = citebench({f"{system}_{n}": own for system in systems for n in (1, 2)}, PASSAGES)
    people = json.loads(files[1].read_text())
    people[f"{systems[0]}_1"]["statements"]["1"]["edits"] = [{"delete-redundant": [2]}, {"add-credibility": [3]}, {}]
    people[f"{systems[1]}_2"]["statements"]["1"]["ratings"] = [0, 0, 0.25]
    files[1].write_text(json.dumps(people))
    prompt = tmp_path / "own.txt"
    prompt.write_text("{query}<passages>{passages}</passages>{statements}", encoding="utf-8")

    def judge(body):
        said = body["messages"][0]["content"].rpartition("</passages>")[2]
        if 'cites="' not in said:
            return '<category sentence_id="1"> 2 </category> <category sentence_id="2"> 4 </category>'
        edit = '<DELETE citation="1"> DELETE REASON 2 </DELETE>' if "psgs_1" in said else "N/A"
        stars = "" if "llama3_8b_eli5_bm25_10_psgs_1" in said else '<rating sentence_id="1"> 4 </rating>'
        return f'<thinking>t</thinking><editing sentence_id="1"> {edit} </editing>{stars}'

    words = ("cite", "meta", files[0], "--human", files[1], "--pipelines", "citeeval", *QUICK, "-s", "chat.output=text")
    named = [f"chat.{module}_file={prompt}" for module in ("attribution", "editing")]
    asked(judge, *words, "-s", named[0], "-s", named[1], "-s", "profile=released")
    found = contents(tmp_path / "results" / "latest")
    held = json.loads(found["citebench-statistics.json"])["records"]
    assert [(one["system"], one["responses"]) for one in held] == [(systems[0], 2), (systems[1], 2), ("all", 4)]
    said = {(one["of"], one["value"]): one for one in json.loads(found["citebench-distributions.json"])["records"]}
    counted = {key: (one["people"], one["judge"]) for key, one in said.items() if one["people"] or one["judge"]}
    assert counted == {
        ("contexts", "query"): (4, 0),
        ("contexts", "retrieval"): (8 + 4, 4),
        ("contexts", "model"): (8, 4),
        ("edits", "KEEP"): (1 + 2 + 2, 2),  # three people edited one statement; of N/A the released code stores nothing
        ("edits", "DELETE_2"): (0, 2),
        ("edits", "DELETE_3"): (1, 0),
        ("edits", "ADD_3"): (1, 0),
        ("ratings", "0.00"): (4 + 2, 0),
        ("ratings", "0.25"): (1, 0),
        ("ratings", "0.75"): (3, 3),  # four stars; one reply has no rating
        ("ratings", "1.00"): (6, 0),
    }
    assert said["edits", "KEEP"]["people_share"] == pytest.approx(5 / 7)
    # The one without a rating has full marks, as released; with the paper's definition it is missing.
    rated = [json.loads(line) for line in found["statements/ratings.jsonl"].decode().splitlines()]
    values = {row["id"]: row["scores"]["citeeval:rating"] for row in rated}
    assert values[f"{systems[1]}_1#1"] == 1
    footer = {note["label"]: note["text"] for note in json.loads(found["measures.json"])["footer"]}
    assert "statements given full marks unrated 1" in footer["judging"]
    asked(judge, *words, "-s", named[0], "-s", named[1])
    said = json.loads((tmp_path / "results" / "latest" / "citebench-distributions.json").read_text())["records"]
    assert [one["judge"] for one in said if one["value"] == "KEEP"] == [4 * 2 - 2]
    rated = lines_of(tmp_path / "results" / "latest" / "statements" / "ratings.jsonl")
    values = {row["id"]: row["scores"]["citeeval:rating"] for row in rated}
    assert values[f"{systems[1]}_1#1"] is None
    assert values[f"{systems[0]}_1#1"] == 0.75


@pytest.mark.slow
def test_all_of_expertqa(ran, tmp_path):
    if not EXPERTQA.is_dir():
        pytest.skip("no local copy of expertqa beside the repository")
    quick = ("-s", "interval.resamples=5", "-s", "comparison.permutations=0", "-s", "controls=false", "-q")
    ran("cite", "meta", *sorted(EXPERTQA.glob("*.jsonl")), "--pipelines", "alce", "--nli", "overlap", *quick)
    (folder,) = (tmp_path / "results" / "cite" / "meta").iterdir()
    found = json.loads((folder / "statements" / "correlation.json").read_text())
    assert found["data"]["statements"] == 1688
    assert found["data"]["levels"] == {"1": 1209, "0.5": 114, "0": 365}
    assert {row["scored"] for row in found["rows"]} == {1688}
