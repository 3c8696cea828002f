"""`metaeval cite` and `metaeval thresholds --learn` as they are typed: from files to tables, and what is refused."""

import json

import pytest

from metaeval.citation.alce.correctness import mauve
from metaeval.core.errors import UserError
from tests.cli.samples import csv_rows, lines_of, write_lines

PASSAGES = [
    {"title": "Bridge", "text": "The mayor opened the stone bridge in May."},
    {"title": "River", "text": "The river froze in winter and ships stayed in port."},
]
ITEMS = [
    {
        "question": "What happened?",
        "output": "The mayor opened the bridge in May [1]. The river froze in winter [2][1].",
        "docs": PASSAGES,
        "qa_pairs": [{"question": "When?", "short_answers": ["in May"]}],
    },
    {
        "question": "And then?",
        "output": "The mayor froze in winter [1]. Ships stayed in port.",
        "docs": PASSAGES,
        "qa_pairs": [{"question": "Where?", "short_answers": ["in jail"]}],
    },
]
QUICK = ("--set", "interval.resamples=30")


@pytest.fixture
def write(tmp_path):
    """Write a value as a JSON file, text as it is."""

    def made(value, name="answers.json"):
        path = tmp_path / name
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        return path

    return made


def scores(folder, name="citation-scores"):
    sheet = json.loads((folder / f"{name}.json").read_text())
    return {(record["system"], record["backend"], record["measure"]): record["value"] for record in sheet["records"]}


@pytest.mark.parametrize("profile", ["paper", "released"])
def test_alce_from_file_to_tables(ran, write, tmp_path, profile, recorded):
    ended = ran("cite", "alce", write({"data": ITEMS}), "--nli", "overlap", "--profile", profile, *QUICK)
    folder = tmp_path / "results" / "latest"
    found = scores(folder)
    # Overlap counts content words. First item: both sentences have all of them in their passages, recall 1; second:
    # "mayor froze winter" has 1 of 3 in passage 1, below 0.63, and the other sentence cites nothing: recall 0.
    assert found["answers", "overlap", "recall"] == 0.5
    # First item: [1] holds; [2] holds alone, [1] does not and the rest does: 2/3. Second: 0.
    assert found["answers", "overlap", "precision"] == pytest.approx(1 / 3)
    texts = scores(folder, "answers")
    # "in May" stands in the first answer, "in jail" not in the second.
    assert texts["answers", "", "str_em"] == 0.5
    assert "supported from 0.63 on" in ended.out
    assert [row["recall"] for row in lines_of(folder / "per-answers-overlap.jsonl")] == [1.0, 0.0]
    assert [row["precision"] for row in lines_of(folder / "per-citations-overlap.jsonl")] == [1, 1, 0, 0, None]
    recorded.held(f"cited-alce-{profile}", recorded.sheets(folder))
    ran("results", "export")
    assert [row["claims_supported"] for row in csv_rows(folder / "per-sentences-overlap.csv")] == ["1", "1", "0", "0"]
    for suffix in ("json", "txt", "md", "tex", "csv"):
        assert (folder / f"citation-scores.{suffix}").stat().st_size > 0


def test_a_calibration_is_used_and_named(cli, ran, write, small, tmp_path):
    ended = ran("thresholds", "--learn", "rouge", "-s", "folds=3", *small)
    assert "Next: metaeval cite alce FILE --nli rouge -s calibration=" in ended.out
    file = next((tmp_path / "results" / "thresholds").rglob("calibration.json"))
    (record,) = json.loads(file.read_text())["records"]
    ended = cli("cite", "alce", write(ITEMS), "--nli", "rouge", "-s", f"calibration={file}", *QUICK)
    assert f"supported from {record['threshold']:g} on (calibrated on small/all, full support)" in " ".join(
        ended.out.split()
    )


@pytest.mark.parametrize("pipeline", ["alce", "aliice"])
@pytest.mark.parametrize(
    "output",
    ["", "...", "No mark.", "[1]", "[1][2][9][0] [", "A lone \ud800 half [1].", "قال إن الجسر مفتوح [1].", "Cut [1"],
)
def test_odd_answers_are_judged_or_counted(cli, write, tmp_path, pipeline, output):
    items = [{**ITEMS[0], "id": "odd \udfff", "output": output}]
    ended = cli("cite", pipeline, write(items), "--nli", "overlap", *QUICK)
    assert (ended.code, "Traceback" in ended.err) == (0, False)
    rows = lines_of(tmp_path / "results" / "latest" / "per-answers-overlap.jsonl")
    assert [row["answer"] for row in rows] == ["odd \\udfff"]


@pytest.mark.parametrize("parser", ["small", "stored:parses.json"])
@pytest.mark.parametrize(
    ("more", "reading", "cvcp"), [((), "marks", 8**0.5 / 13), (("-s", "cvcp=groups"), "groups", 1 / 4)]
)
def test_the_parser_and_the_reading_of_positions_are_signed(ran, write, tmp_path, parser, more, reading, cvcp):
    """A note names a better parser where the small one parses. By hand: positions 3, 5 and, by mark, 5 again."""
    tokens = [{"text": "Cups", "dep": "nsubj", "head": 1}, {"text": "break", "dep": "ROOT", "head": 1}]
    write({"Cups break ,": [*tokens, {"text": ",", "dep": "punct", "head": 1}]}, "parses.json")
    answers = write([{**ITEMS[0], "output": "Cups break[1], [2][1]"}])
    ran("cite", "aliice", answers, "--nli", "overlap", "--parser", parser, *more, *QUICK)
    folder = tmp_path / "results" / "latest"
    assert scores(folder, "answers")["answers", "", "cvcp"] == pytest.approx(cvcp)
    sheet = json.loads((folder / "answers.json").read_text())
    assert ("parser" in {note["label"] for note in sheet["footer"]}) == (parser == "small")
    assert f"|cvcp:{reading}|parser:{parser}" in sheet["signatures"][0]


def test_the_papers_tables(ran, write, tmp_path, recorded, printed):
    within = "The mayor opened the bridge in May [1] and the river froze in winter [2]."
    one, other = write([{**ITEMS[0], "output": within}, ITEMS[1]], "one.json"), write(ITEMS, "other.json")
    typed = ("cite", "tables", f"ASQA={one},{other}", "-c", "aliice", "--nli", "rouge", "--parser", "small", *QUICK)
    ended = ran(*typed, "-s", "interval.fewest=2")
    folder = tmp_path / "results" / "latest" / "ASQA"
    recorded.held("aliice-tables", printed(folder))
    records = json.loads((folder / "table-3.json").read_text())["records"]
    # Of the four answers, one cites within a sentence; the other system has none, and no value.
    assert {(record["system"], record["answers"]) for record in records} == {("one", 1), ("other", 0)}
    assert {record["value"] for record in records if record["system"] == "other"} == {None}
    shown = json.loads((folder / "table-1.json").read_text())["records"]
    values = {(record["system"], record["measure"]): record["value"] for record in shown}
    # Words without marks: 13 of the first answer and 9 of the second; "in May" stands in the first alone.
    assert (values["one", "length"], values["one", "str_em"]) == ((13 + 9) / 2, 0.5)
    assert "profile released" in ended.out
    assert {"Rec.", "Prec.", "F1", "CV_CP", "Correct.", "Length"} <= set(ended.out.split())


def test_answers_on_which_alce_and_aliice_differ_stand_side_by_side(ran, write, tmp_path, recorded, printed):
    """The second case of the paper's Figure 3: by sentence the second citation is needless, by claim it is not."""
    both = "The mayor opened the bridge in May [1] and the river froze in winter [2]. Ships sank."
    passages = [{"text": f"{PASSAGES[0]['text']} {PASSAGES[1]['text']}"}, PASSAGES[1]]
    odd = {**ITEMS[0], "id": "odd", "output": both, "docs": passages}
    less, more = both.replace("[2]", "[2][1]"), f"{both} Barges carry coal [2]."
    others = [{**odd, "id": name, "output": text} for name, text in (("less", less), ("more", more))]
    path = write([{**ITEMS[1], "id": "same"}, odd, *others])
    ended = ran("cite", "tables", path, "--nli", "overlap", *QUICK, "-s", "interval.fewest=2")
    folder = tmp_path / "results" / "latest" / "answers"
    recorded.held("aliice-tables-differ", printed(folder), whole=True)
    assert "ALCE [1][2] The mayor" in ended.out
    footers = [json.loads(file.read_text())["footer"] for file in folder.glob("*-*.json")]
    assert all("parser" in {note["label"] for note in footer} for footer in footers)
    # Where they agree on all answers there is nothing to show.
    ran("cite", "tables", write([ITEMS[1]]), "--nli", "overlap", *QUICK)
    assert not (tmp_path / "results" / "latest" / "answers" / "figure-3.json").exists()


def table(folder, name, data_set="answers"):
    """The values of a table of the paper, by system and measure."""
    records = json.loads((folder / data_set / f"{name}.json").read_text())["records"]
    return {(record["system"], record["measure"]): record for record in records}


def test_samples_of_a_system_give_means_and_deviations(ran, tmp_path, recorded, printed):
    passages = [{"text": "The mayor opened the bridge in May."}, {"text": "The river froze in winter."}]
    shared = {"passages": passages, "reference": {"qa_pairs": [{"question": "When?", "short_answers": ["in May"]}]}}
    texts = ["The mayor opened the bridge in May [1].", "The mayor opened the bridge in May [2].", "A river froze [2]."]
    rows = [{"id": "q1", "question": "?", "sample": n, "text": text, **shared} for n, text in enumerate(texts)]
    two = [rows[0] | {"id": "q2", "system": "two"}, rows[2] | {"id": "q2", "system": "two", "reference": {}}]
    path = write_lines(tmp_path / "answers.jsonl", rows + two)
    ended = ran("cite", "tables", path, "--nli", "overlap", "--parser", "small", *QUICK)
    recorded.held("aliice-tables-samples", printed(tmp_path / "results" / "latest"))
    found = table(tmp_path / "results" / "latest", "table-1")["answers", "recall"]
    # The samples' recalls are 1, 0 and 1: mean 2/3, standard deviation sqrt((1/9 + 4/9 + 1/9) / 2) = sqrt(1/3).
    assert (found["samples"], found["mean"]) == (3, pytest.approx(2 / 3))
    assert found["sd"] == pytest.approx((1 / 3) ** 0.5)
    assert ended.out.count("66.7 (57.7)") >= 2  # EM recall too: 1, 1 and 0
    # One sample alone has an interval, and no deviation.
    write_lines(path, rows[:1])
    ran("cite", "tables", path, "--nli", "overlap", "--parser", "small", *QUICK)
    found = table(tmp_path / "results" / "latest", "table-1")["answers", "recall"]
    assert (found["samples"], found["sd"]) == (1, None)


STAND_IN = """
def compute_mauve(p_text, q_text, featurize_model_name, **settings):
    compute_mauve.mauve = len(q_text) / 10 * ([*settings.values()] == [-1, 512, 8, 25, False])
    return compute_mauve
"""


def test_fluency_is_mauve_where_the_package_is_installed(cli, ran, write, tmp_path, monkeypatch):
    # A package in its place, which says how many answers it was given: two, so .2; and a model folder of any content.
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "mauve.py").write_text(STAND_IN)
    monkeypatch.syspath_prepend(str(tmp_path / "package"))
    model = tmp_path / "tiny-gpt2"
    model.mkdir()
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        (model / name).write_text("{}")
    referenced = write([{**item, "answer": "The mayor did."} for item in ITEMS])
    typed = ("cite", "tables", referenced, "--nli", "overlap", "--parser", "small", *QUICK)
    texts = (("ab", ["", ""]), (["", ""], "ab"), ("ab", "ab"), ("aa", "aa"), ("aa", "bb"))
    assert [mauve(["", ""], *both, str(model)) for both in texts] == [None, None, 0.2, None, 0.2]
    with pytest.raises(UserError, match="gpt2 or bert"):
        mauve(["q"], ["a"], ["b"], model="models/large")
    ended = ran(*typed, "-s", f"mauve_model={model}")
    assert table(tmp_path / "results" / "latest", "table-1")["answers", "mauve"]["value"] == 0.2
    assert "Fluency" in ended.out.split("reading")[0]
    # Without a model at hand the column is left out, unless one was named.
    ended = ran(*typed)
    assert "Fluency" not in ended.out.split("reading")[0]
    assert "Fluency: MAUVE, which needs the package mauve-text with its model" in " ".join(ended.out.split())
    assert "absent-gpt2" in cli(*typed, "-s", "mauve_model=absent-gpt2").err


LABELLED = """id,system,question,u1,u2,u3,aliice
1,a,q1,5,5,4,1
2,a,q2,1,1,1,0
3,b,q1,4,4,4,1
4,b,q2,2,3,2,0
"""


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("alce answers.json --nli bertscore", "The metric 'bertscore' needs a threshold"),
        ("alce answers.json --nli overlap --threshold high", "--threshold is 'high'; allowed: a number, soft"),
        ("alce answers.json --nli overlap -s calibration=none.json", "none.json"),
        ("alce answers.json --nli overlap -s premise=best", "Unknown premise 'best'"),
        ("alce lacking.json --nli overlap", "looks like alce and lacks the field docs"),
        ("alce empty.json --nli overlap", "has passages"),
        ("alce broken.json --nli overlap", "broken.json"),
        ("agreement labels.csv --labels utility=u1,u4", 'no column "u4"'),
        ("agreement labels.csv", "name these with --labels"),
        ("tables answers.json -c alice", "Did you mean 'aliice'"),
        ("tables answers.json --nli rouge,overlap", "use one metric, and 2 are given as nli"),
        ("tables answers.json --nli rouge -s bound=10", "bound"),
    ],
)
def test_wrong_input_is_one_sentence(refused, write, typed, says):
    files = {"answers": ITEMS, "lacking": [{"question": "Q", "output": "A [1]."}], "broken": "{broken"}
    for name, value in {**files, "empty": [{**ITEMS[0], "docs": []}]}.items():
        write(value, f"{name}.json")
    write(LABELLED, "labels.csv")
    assert says in refused("cite", *typed.split())
