"""`metaeval.cite`: the same tables as the commands', in memory; answers as files and as objects; what is refused."""

import json

import pytest

import metaeval
from metaeval.errors import UserError

PASSAGES = [{"text": "The Oder is 840 kilometres long."}, {"text": "Barges carry coal."}]
ROWS = [
    {
        "id": "a",
        "group": "q1",
        "text": "The Oder is long [1]. Barges carry coal [2] and salt [1].",
        "passages": PASSAGES,
    },
    {"id": "b", "group": "q2", "text": "Barges carry coal [1].", "passages": PASSAGES},
]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


@pytest.fixture
def cite(tmp_path):
    """`metaeval.cite` with results in the test's folder."""

    def made(*args, **given):
        return metaeval.cite(*args, results=tmp_path / "results", **given)

    return made


def test_values_by_hand(cite):
    found = cite("alce", ROWS, nli=["overlap"], threshold=0.99, splitter="rules")
    rows = {row["answer"]: row for row in found.rows["answers:overlap"]}
    # a: the first sentence's content words are all in passage 1; of the second, "salt" is in none. b: none is.
    assert {name: row["recall"] for name, row in rows.items()} == {"a": 0.5, "b": 0.0}
    (value,) = [one["value"] for one in found["citation-scores"].records if one["measure"] == "recall"]
    assert value == 0.25
    assert len(found.rows["sentences:overlap"]) == 3
    assert [line["citation"] for line in found.rows["citations:overlap"]] == [1, 2, 1, 1]


@pytest.mark.parametrize("pipeline", ["alce", "aliice", "scifi"])
def test_files_objects_and_the_command_give_the_same_rows(cite, file, tmp_path, monkeypatch, pipeline):
    one, other = cite(pipeline, ROWS, nli=["overlap"]), cite(pipeline, [file], nli=["overlap"])
    read = [{name: [dict(row) for row in rows] for name, rows in each.rows.items()} for each in (one, other)]
    assert read[0] == read[1]
    from metaeval.cli.app import main

    argv = ["metaeval", "cite", pipeline, str(file), "--nli", "overlap", "--results", str(tmp_path / "typed"), "-q"]
    monkeypatch.setattr("sys.argv", argv)
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    folder = tmp_path / "typed" / "latest"
    for name, rows in one.rows.items():
        written = (folder / f"per-{name.replace(':', '-')}.jsonl").read_text().splitlines()
        assert [json.loads(line) for line in written] == [dict(row) for row in rows]


def test_the_tables_print_as_they_are_written(cite):
    found = cite("alce", ROWS, nli="overlap, rouge")
    assert str(found).startswith("Citation recall and precision")
    assert [name for name in found.rows if name.startswith("answers")] == ["answers:overlap", "answers:rouge"]
    assert "Ranks of the systems" not in str(found)  # one system


def test_options_are_those_of_the_command(cite):
    found = cite("scifi", ROWS, nli=["overlap"], uncited="fails", group="joint", interval={"resamples": 20})
    settings = found["scifi-scores"].settings
    assert "uncited=fails,group=joint" in settings["options"]
    assert settings["resamples"] == 20


@pytest.mark.parametrize(
    ("answers", "given", "says"),
    [
        (ROWS, {"pipeline": "scify"}, "Did you mean 'scifi'?"),
        (ROWS, {"pipeline": "alce", "model": "tiny"}, "Unknown setting 'model'"),
        ([{"txt": "Long."}], {"pipeline": "alce"}, "answers line 1: there is no field 'txt'"),
        ([*ROWS, "answers.jsonl"], {"pipeline": "alce"}, "contains files and objects"),
        ("gone.jsonl", {"pipeline": "alce"}, "gone.jsonl"),
        ([], {"pipeline": "alce"}, "No file of answers is given"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(cite, answers, given, says):
    with pytest.raises(UserError) as error:
        cite(given["pipeline"], answers, **{name: value for name, value in given.items() if name != "pipeline"})
    assert says in str(error.value)
    assert "/tmp" not in str(error.value) or "gone" in str(error.value)
