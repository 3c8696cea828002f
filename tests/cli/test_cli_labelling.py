"""estimate as typed: from a file of answers and a spreadsheet of labels to a table, with its files and refusals."""

import json
import random
from pathlib import Path

import pytest

from metaeval.files import csv_text
from metaeval.report.sheet import load_sheet

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
