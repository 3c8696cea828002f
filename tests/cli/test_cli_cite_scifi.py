"""`metaeval cite scifi` as it is typed: offline, asked of a server with faults, recorded, replayed, and refused."""

import json

import pytest

from tests.cli.samples import RIVERS, csv_rows, lines_of, write_lines

pytestmark = pytest.mark.usefixtures("own_environment")

QUICK = ("--nli", "overlap", "-s", "splitter=rules", "-s", "interval.resamples=30")

# Two samples with a model's output, and the first one's reference paragraph as an answer of its own.
GEESE = {
    "id": "geese",
    "group": "q2",
    "system": "m",
    "query": "What do geese do?",
    "paragraph": "Geese fly south.",
    "citations": [{"position": 15, "document": 1}],
    "documents": [{"text": "Geese fly south."}],
    "output": "Geese fly south [1]. Geese sing [7]. Geese eat grass [1].",
}
SAMPLES = [
    RIVERS | {"output": "Dams store water [1]. Barges carry wood [2]. Rivers flow."},
    GEESE,
    RIVERS | {"id": "people", "system": "people"},
]
# With several citations in a sentence, for the model to tell apart.
CLAUSES = [RIVERS | {"output": "Dams store water [1] and barges carry wood [2]. Rivers flow."}, *SAMPLES[1:]]


@pytest.fixture
def write(tmp_path):
    """Write samples."""

    def made(rows=SAMPLES, name="samples.jsonl"):
        return write_lines(tmp_path / name, rows)

    return made


def values(folder, name="scifi-scores"):
    records = json.loads((folder / f"{name}.json").read_text())["records"]
    return {(record["system"], record["measure"]): record["value"] for record in records}


def test_offline_from_samples_to_the_tables(ran, write, tmp_path):
    ended = ran("cite", "scifi", write(), *QUICK)
    folder = tmp_path / "results" / "latest"
    found = values(folder)
    # Overlap: the share of a fact's content words that its passage has. Rivers: 3 of 3; "wood" is missing, 2 of 3; the
    # third sentence cites nothing. Geese: 3 of 3; [7] cites nothing, 0; "eat" and "grass" are missing, 1 of 3.
    assert found["m", "entailment_facts"] == pytest.approx((1 + 2 / 3 + 1 + 0 + 1 / 3) / 5)
    assert found["m", "entailment_answers"] == pytest.approx(((1 + 2 / 3) / 2 + (1 + 0 + 1 / 3) / 3) / 2)
    # "Dams store water." is there, of "Barges carry coal." 2 of 3 words; "Geese fly south." is there.
    assert found["m", "coverage_facts"] == pytest.approx((1 + 2 / 3 + 1) / 3)
    assert found["m", "coverage_answers"] == pytest.approx(((1 + 2 / 3) / 2 + 1) / 2)
    # The paragraph itself, with its citations written in, is what can be reached.
    assert (found["people", "entailment_facts"], found["people", "coverage_facts"]) == (1, 1)
    texts = values(folder, "scifi-answers")
    assert (texts["m", "density"], texts["m", "uncited"], texts["people", "density"]) == (5 / 6, 1 / 6, 1)
    printed = " ".join(ended.out.split())
    for part in ("3 answers of 2 systems, 2 groups; 8 sentences, 8 facts, 7 citation marks", "problem: out of range 1"):
        assert part in printed
    ran("results", "export")
    rows = csv_rows(folder / "per-facts-overlap.csv")
    assert [(row["fact"], row["citations"], row["value"], row["state"]) for row in rows][2:5] == [
        ("Rivers flow.", "", "", "uncited"),
        ("Geese fly south.", "1", "1.0", "judged"),
        ("Geese sing.", "7", "0.0", "fails"),
    ]
    references = lines_of(folder / "per-reference-facts-overlap.jsonl")
    assert [row["fact"] for row in references] == [
        *("Dams store water.", "Barges carry coal.", "Geese fly south.", "Dams store water.", "Barges carry coal.")
    ]
    ran("results", "figures")
    assert len(list(tmp_path.glob("results/figures/*/figure-pipelines.svg"))) == 1


def test_facts_come_through_faults(asked, contents, fake, write, tmp_path, caplog):
    answers = write(CLAUSES)
    words = ("cite", "scifi", answers, "-s", "chat.backoff=0.01", *QUICK)
    _, server = asked(fake.facts, *words, faults=0.4, kinds=fake.QUICK_FAULTS, seed=3)
    # Seven sentences: the two and three of the outputs, and the references' three, of which one is among them. And one
    # request for each of the two facts of the sentence with two citations.
    assert sorted(server.completed.values()) == [1] * (7 + 2)
    assert "tiny: 9 replies asked for" in caplog.text
    first = contents(tmp_path / "results" / "latest")
    assert set(first) == {
        *("report.html", "scifi-scores.json", "scifi-answers.json"),
        *(f"per-{name}-overlap.jsonl" for name in ("answers", "facts", "reference-facts")),
    }
    # As offline: the facts are the same, now two of one sentence; each goes to the citation behind it.
    found = values(tmp_path / "results" / "latest")
    assert found["m", "entailment_facts"] == pytest.approx((1 + 2 / 3 + 1 + 0 + 1 / 3) / 5)
    lines = [json.loads(line) for line in first["per-facts-overlap.jsonl"].splitlines()]
    assert [(line["segment"], line["citations"], line["made_by"]) for line in lines[:2]] == [
        ("Dams store water", "1", "model"),
        ("barges carry wood", "2", "model"),
    ]
