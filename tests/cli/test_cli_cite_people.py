"""Table 4 and Figure 4 of the ALiiCE paper from answers and a table of people's labels, counted by hand."""

import json

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

import metaeval
from metaeval.citation.data_model import Answer
from metaeval.citation.pipelines.aliice_human_labels import answers_of, read_people
from metaeval.citation.pipelines.figures import bars_of
from metaeval.core.errors import UserError
from metaeval.report.table_files import load_table

BRIDGE, RIVER = "The mayor opened the bridge in May", "the river froze in winter"
PASSAGES = [{"text": f"{BRIDGE}."}, {"text": f"The {RIVER[4:]}."}]
TEXTS = {
    ("A", "q1"): f"{BRIDGE} [1] and {RIVER} [2].",  # both claims hold
    ("A", "q2"): f"{BRIDGE} [2] and {RIVER} [2].",  # one of two
    ("A", "q3"): f"{BRIDGE} [1].",  # at the end: not within a sentence
    ("B", "q1"): f"{BRIDGE} [2] and {RIVER} [1].",  # none
}
LABELS = """id,system,u1,u2,r1,r2
q1,A,4,4,1,1
q2,A,2,4,0,1
q3,A,5,5,1,1
q1,B,1,1,0,0
q9,A,5,5,1,1
"""


@pytest.fixture
def typed(tmp_path, monkeypatch):
    """Write the answers of two systems and the labels; returns the options of the table."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": name, "system": system, "question": name, "text": text, "passages": PASSAGES}
        for (system, name), text in TEXTS.items()
    ]
    for system in "AB":
        lines = (json.dumps(row) for row in rows if row["system"] == system)
        (tmp_path / f"{system}.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "labels.csv").write_text(LABELS)
    return (
        "cite tables A.jsonl B.jsonl --nli overlap --parser small -s interval.resamples=30 -s interval.fewest=2".split()
    )


def records(tmp_path, name):
    return json.loads((tmp_path / "results" / "latest" / "answers" / f"{name}.json").read_text())["records"]


def test_table_4_has_people_beside_aliice_on_the_same_answers(ran, typed, tmp_path, recorded, printed):
    labels = ("utility=u1,u2", "recall=r1,r2", "precision=r2,u1,r1", "citation_utility=u2,r1")
    ended = ran(*typed, "--human", "labels.csv", *(word for own in labels for word in ("--labels", own)))
    rows = records(tmp_path, "table-4")
    recorded.held("aliice-people", printed(tmp_path / "results" / "latest"))
    value = {(row["system"], row["measure"]): row["value"] for row in rows}
    assert {(row["system"], row["answers"], row["within"], row["labelled"]) for row in rows} == {
        ("A", 3, 2, 2),
        ("B", 1, 1, 1),
        ("all systems", 4, 3, 3),
    }
    # A's answers with a citation within: q1 (4, 4) and q2 (2, 4): the mean of 4 and 3. q3 cites at its end alone.
    assert value["A", "people_utility"] == pytest.approx(3.5)
    # Recall by people: q1 1, q2 the mean of 0 and 1. ALiiCE: q1 2/2 and q2 1/2.
    assert value["A", "people_recall"] == pytest.approx(0.75)
    assert value["A", "aliice_recall"] == pytest.approx(0.75)
    assert (value["B", "people_recall"], value["B", "aliice_recall"]) == (0, 0)
    # All hold? ALiiCE says yes, no, no; the readers yes, no, no and yes, yes, no: kappas 1 and 0.4, whose mean is .7.
    kappas = [cohen_kappa_score([1, 0, 0], reader) for reader in ([1, 0, 0], [1, 1, 0])]
    assert kappas == [1, pytest.approx(0.4)]
    assert value["all systems", "kappa_recall"] == pytest.approx(np.mean(kappas))
    # Fleiss of (1, 1), (0, 1), (0, 0): agreement 2/3, by chance 1/2.
    assert value["all systems", "fleiss_recall"] == pytest.approx((2 / 3 - 1 / 2) / (1 / 2))
    # A's utilities (4, 4), (2, 4): agreement 1/2, by chance (3/4)^2 + (1/4)^2; of one answer there is no kappa; with
    # (1, 1): agreement 2/3, by chance (3^2 + 1 + 2^2) / 6^2.
    table = load_table(tmp_path / "results" / "latest" / "answers" / "table-4.json")
    assert [line.cells[2].number for line in table.lines] == ["3.5 (-0.33)", "1.0", "2.7 (0.45)"]
    assert "2 label rows left out" in " ".join(ended.out.split())  # q3 and q9
    ran(*(word for word in typed if word != "A.jsonl"), "--human", "labels.csv", "--labels", "utility=u1,u2")
    assert {row["system"] for row in records(tmp_path, "table-4")} == {"B"}


def test_readers_agree_as_scikit_learn_says(ran, recorded, typed, tmp_path):
    (tmp_path / "odd.csv").write_text(LABELS.replace("q9,A,5,5,1,1", "q9,A,,5,1,"))
    words = "--labels utility=u1,u2,r1 --labels recall=r1,r2 -s interval.resamples=50 -s interval.fewest=2"
    ran(*f"cite agreement odd.csv {words}".split())
    recorded.held("human-readers", recorded.sheets(tmp_path / "results" / "latest"))
    ran(*"cite agreement labels.csv --labels utility=u1,u2 --labels recall=r1,r2 -s interval.resamples=0".split())
    assert [row["metrics"] for row in metaeval.results.list(results=tmp_path / "results").records] == [""] * 2
    table = load_table(tmp_path / "results" / "latest" / "agreement.json")
    printed = {(block.title, line.name): line.cells for block in table.blocks for line in block.lines}
    # The columns of the labels; 4 of 5 are equal in both.
    readers = {"utility": ([4, 2, 5, 1, 5], [4, 4, 5, 1, 5]), "recall": ([1, 0, 1, 0, 1], [1, 1, 1, 0, 1])}
    for (name, pair), short in zip(readers.items(), "ur", strict=True):
        numbers = [cell.number for cell in printed[name, f"{short}1 and {short}2"]]
        assert numbers == ["0.80", f"{cohen_kappa_score(*pair):.2f}", *"–––", "5"]
    # Fleiss of recall: agreement 4/5, by chance (7^2 + 3^2) / 10^2; Krippendorff's alpha: 1 - 9 x 2 / (2 x 7 x 3).
    fleiss, alpha = (cell.number for cell in printed["recall", "all"][2:4])
    assert (fleiss, alpha) == (f"{(0.8 - 0.58) / 0.42:.2f}", f"{1 - 18 / 42:.2f}")


def test_figure_4_has_both_pipelines_in_one_figure(ran, typed, tmp_path, recorded):
    ran(*typed, "-s", "interval.level=0.9")
    rows = {(row["line"], row["pipeline"], row["measure"]): row["value"] for row in records(tmp_path, "figure-4")}
    # ALiiCE's recall: A has 2/2, 1/2 and 1/1; ALCE: of a sentence whose passages together are read, 1, 0 and 1.
    assert rows["A", "ALiiCE", "recall"] == pytest.approx((1 + 1 / 2 + 1) / 3)
    assert {key[:2] for key in rows} == {(system, name) for system in "AB" for name in ("ALiiCE", "ALCE")}
    bars, level = bars_of([tmp_path / "results" / "latest"])
    recorded.held("aliice-figure-4", {"bars": [[*bar.values()] for bar in bars], "level": level})
    ended = ran("results", "figures", "latest")
    assert "figure-pipelines" in ended.out + ended.err
    # A's answers have 13, 13 and 7 words without marks: mean 11, deviation sqrt((4 + 4 + 16) / 2).
    of = {(row["system"], row["measure"]): row["value"] for row in records(tmp_path, "table-1")}
    assert of["A", "length_sd"] == pytest.approx(12**0.5)


def test_labels_find_their_answers_by_id_and_by_the_ids_of_label_sheets(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("id,a,b\nq1/1[1],1,1\nq2,1,0\nq/3,0,0\nx,1,1\n")
    people = read_people([path], ["recall=a,b"])
    answers = [Answer(name, "", (), system="S") for name in ("q1", "q2", "q/3")]
    assert answers_of(people, answers).tolist() == [0, 1, 2, -1]
    # Of several files ids begin with the file's name, which labels may leave out.
    files = [Answer(name, "", (), system="S") for name in ("f/q1", "g/q2", "f/q/3")]
    assert answers_of(people, files).tolist() == [0, 1, 2, -1]
    with pytest.raises(UserError, match=r"Several answers have the id 'q2': say whose"):
        answers_of(people, [*files, Answer("h/q2", "", (), system="T")])


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--human", "labels.csv"], "Table 4 needs both"),
        (["--labels", "utility=u1,u2"], "Table 4 needs both"),
        (["--human", "labels.csv", "--labels", "use=u1,u2"], "Unknown kind of label 'use'"),
        (["--human", "labels.csv", "--labels", "utility=system,u1"], "should be numbers"),
        (["--human", "other.csv", "--labels", "utility=u1,u2"], "No row of other.csv is of one of these answers"),
        (["--human", "none.csv", "--labels", "utility=u1,u2"], "none.csv has no column of ids"),
    ],
)
def test_labels_that_cannot_be_used_are_one_sentence(refused, typed, tmp_path, more, says):
    (tmp_path / "other.csv").write_text("id,u1,u2\nz,1,1\n")
    (tmp_path / "none.csv").write_text("u1,u2\n1,1\n")
    assert says in refused(*typed, *more)
