"""estimate as typed: from a file of answers and a spreadsheet of labels to a table, with its files and refusals."""

import json
import random
from pathlib import Path

import pytest

from metaeval.files import csv_text
from metaeval.report.sheet import load_sheet
from metaeval.tables import read_table

LEVELS = ("full", "partial", "none")


@pytest.fixture
def answers(empty_folder):
    """60 answers of two citations each; some say what their source says."""
    chance = random.Random(4)
    labels = []
    with open("answers.jsonl", "w") as file:
        for number in range(60):
            kinds = [chance.choice(LEVELS) for _ in range(2)]
            texts = [
                {"full": f"Town {number} has a bridge.", "partial": "Town has a mill.", "none": "Cats sleep."}[kind]
                for kind in kinds
            ]
            text = f"Town {number} has a bridge [1]. Town {number} has a bridge [2]."
            passages = [{"text": one} for one in texts]
            file.write(json.dumps({"id": f"a{number}", "text": text, "passages": passages}) + "\n")
            labels += [(f"a{number}/{place + 1}[{place + 1}]", kind) for place, kind in enumerate(kinds)]
    Path("labels.csv").write_text(csv_text([("Item", "Verdict"), *random.Random(2).sample(labels, 40)]))
    return dict(labels)


@pytest.fixture
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_an_estimate_is_printed_and_written(cli, answers):
    ended = cli("estimate", "answers.jsonl", "--labels", "labels.csv", "-m", "overlap")

    assert ended.code == 0, ended.err
    sheet = load_sheet(Path("results/latest/estimate.json"))
    found = {record["measure"]: record for record in sheet.records}
    truth = sum(level == "full" for level in answers.values()) / len(answers)
    assert found["full"]["low"] < truth < found["full"]["high"]
    assert found["full"]["labels_saved"] > 10
    assert found["full"]["labels"] == 40
    assert "no support" in ended.out
    assert "simple random sample of 40 items of 120" in " ".join(ended.out.split())
    assert "Written: results/estimate/answers-" in ended.out
    assert Path("results/latest/manifest.json").is_file()


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["-l", "labels.csv", "--estimand", "all"], "--estimand is 'all'; allowed: set"),
        (["-l", "nowhere.csv"], "Cannot read nowhere.csv"),
        (["-l", "labels.csv", "--map", "level=Urteil"], 'has no column "Urteil"'),
        (["-l", "labels.csv", "-m", "overlop"], "Did you mean 'overlap'?"),
        ([], "answers holds no levels: give labels with --labels"),
    ],
)
def test_what_cannot_be_estimated_ends_in_one_sentence(cli, answers, typed, said):
    ended = cli("estimate", "answers.jsonl", *typed)

    assert ended.code == 2
    assert said in ended.err
    assert "Traceback" not in ended.err
    assert not Path("results/estimate").exists()


def test_two_files_are_compared(cli, answers):
    lines = [json.loads(line) for line in Path("answers.jsonl").read_text().splitlines()]
    Path("other.jsonl").write_text("".join(json.dumps({**one, "id": f"b{one['id']}"}) + "\n" for one in lines))
    rows = [line.split(",") for line in Path("labels.csv").read_text().split()]
    Path("both.csv").write_text(csv_text([*rows, *([f"b{item}", level] for item, level in rows[1:])]))
    ended = cli("estimate", "answers.jsonl", "other.jsonl", "-l", "both.csv", "-q")

    assert ended.code == 0, ended.err
    sheet = load_sheet(Path("results/latest/estimate.json"))
    (full,) = [one for one in sheet.records if one["measure"] == "full" and "less" in one["system"]]
    assert full["value"] == pytest.approx(0)
    assert full["low"] < 0 < full["high"]


def fill(path, truth):
    """Judge a sheet as a person would: the level beside each id."""
    table = read_table(Path(path))
    rows = [[row.text(name) for name in table.headings] for row in table.rows]
    place = table.headings.index("level")
    for row in rows:
        row[place] = truth[row[0]]
    Path("filled.csv").write_text(csv_text([table.headings, *rows]))


@pytest.mark.parametrize("design", ["random", "stratified", "uncertain"])
@pytest.mark.parametrize("ending", ["csv", "tsv", "xlsx", "jsonl"])
def test_drawn_items_come_back_as_labels(cli, answers, design, ending):
    if ending == "xlsx":
        pytest.importorskip("openpyxl")
    name = f"to_label.{ending}"
    ended = cli("label", "answers.jsonl", "-n", "40", "--design", design, "-o", name)
    assert ended.code == 0, ended.err
    assert "40 of 120 citations to judge" in ended.out
    fill(name, answers)
    ended = cli("estimate", "answers.jsonl", "-l", "filled.csv")
    assert ended.code == 0, ended.err
    assert "probabilities of the file; 40 items drawn" in " ".join(ended.out.split())
    found = {one["measure"]: one for one in load_sheet(Path("results/latest/estimate.json")).records}
    truth = sum(level == "none" for level in answers.values()) / len(answers)
    assert found["none"]["low"] - 0.05 < truth < found["none"]["high"] + 0.05


def test_whole_answers_are_drawn_and_known_as_such(cli, answers):
    assert cli("label", "answers.jsonl", "-n", "40", "--unit", "answer", "-o", "to_label.csv").code == 0
    fill("to_label.csv", answers)
    ended = cli("estimate", "answers.jsonl", "-l", "filled.csv")
    assert "20 whole answers drawn" in " ".join(ended.out.split())


def test_labels_that_there_are_go_into_the_next_sheet(cli, answers):
    ended = cli(
        "label", "answers.jsonl", "-n", "20", "--besides", "labels.csv", "--design", "uncertain", "-o", "more.csv"
    )
    assert ended.code == 0, ended.err
    rows = read_table(Path("more.csv")).rows
    assert len(rows) == 60
    assert sum(row.text("level") == "" for row in rows) == 20
    # Together they are a draw of 60 of 120: the probabilities of all items add up to that.
    assert sum(1 / float(row.text("probability")) for row in rows) == pytest.approx(120, rel=0.1)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["-n", "500", "-o", "a.csv"], "-n is 500; allowed: 2 to 120"),
        (["-o", "a.pdf"], "allowed: a file that ends in .csv"),
        (["-o", "labels.csv"], "labels.csv is there already and may hold labels"),
        (["-o", "a.csv", "--design", "randon"], "Did you mean 'random'?"),
        (["-o", "a.csv", "--unit", "answer", "--design", "uncertain"], "Whole answers are drawn at random"),
    ],
)
def test_what_cannot_be_drawn_ends_in_one_sentence(cli, answers, typed, said):
    ended = cli("label", "answers.jsonl", *typed)

    assert ended.code == 2
    assert said in ended.err


def test_a_formula_in_an_answer_stays_text(cli, empty_folder):
    openpyxl = pytest.importorskip("openpyxl")
    rows = [{"id": f"={number}+1", "statement": "=HYPERLINK(1)", "passage": "+2"} for number in range(4)]
    Path("items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert cli("label", "items.jsonl", "-n", "3", "-o", "a.xlsx").code == 0
    sheet = openpyxl.load_workbook("a.xlsx").active
    assert {cell.data_type for row in sheet.iter_rows(min_row=2) for cell in row} <= {"s", "n", "inlineStr"}
    assert [row.text("id")[0] for row in read_table(Path("a.xlsx")).rows] == ["="] * 3


def test_power_says_how_many_labels_an_interval_takes(cli):
    ended = cli("power", "--interval", "0.1", "--share", "0.5")
    # Wilson at one half: 1.96^2 (1/4 - 0.01) / 0.01 = 92.2.
    assert ended.out.split("\n")[1].split() == ["0.5", "93"]
    assert cli("power", "--interval", "0.1", "--share", "0.5", "--items", "400").out.split("\n")[1].split()[1] == "75"
    assert "above 0 and below 0.5" in cli("power", "--interval", "2").err
