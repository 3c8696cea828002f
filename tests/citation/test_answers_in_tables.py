"""Tables of answers: columns are found in many languages, numbered passages stand where their number says."""

import logging

import pytest

from metaeval.citation.readers.answer_files import read_answers
from metaeval.cli.app import retyped_command
from metaeval.decisions.citation_items import items_of
from metaeval.decisions.item_labels import labels_of
from metaeval.errors import ColumnsError, UserError
from metaeval.files import csv_text

TEXT = "Die Mühle ist alt [1]. Der Damm ist neu [2][3]. Der Steg ist lang [5]."
ROW = {"Nr": 7, "Frage": "Was steht da?", "Antwort (Bot)": TEXT} | {f"Quelle {n}": f"Q{n}" for n in range(1, 6)}
CITED = [("Die Mühle ist alt.", "Q1"), ("Der Damm ist neu.", "Q2"), ("Der Damm ist neu.", "Q3")]
CITED += [("Der Steg ist lang.", "Q5")]


def sources_of(rows, columns=None):
    return [(row.statement, row.source) for row in items_of(rows, columns).rows]


def renamed(sources, **names):
    numbered = {f"Quelle {n}": sources.format(n) for n in range(6)}
    return {{**numbered, **names}.get(heading, heading): value for heading, value in ROW.items()}


@pytest.mark.parametrize(
    "row",
    [
        ROW,
        renamed("source_{}", Frage="Question", **{"Antwort (Bot)": "Réponse"}),
        renamed("Fuente#{}", **{"Antwort (Bot)": "Respuesta [modelo]"}),
        renamed("passage_{:02}"),
        dict(reversed(ROW.items())),
        {heading: value for heading, value in ROW.items() if heading != "Quelle 4"},
        {**{name: ROW[name] for name in ("Nr", "Frage", "Antwort (Bot)")}, "Quellen": ["Q1", "Q2", "Q3", "Q4", "Q5"]},
    ],
)
@pytest.mark.parametrize(
    "columns", [{}, {"answer": "Antwort (Bot)"}, {"passages": "Quelle 1", "text": "Antwort (Bot)"}]
)
def test_a_spreadsheet_of_answers_is_read_as_it_is(row, columns, caplog):
    known = {role: heading for role, heading in columns.items() if heading in row}
    assert sources_of([row], known) == CITED
    assert "is read so: " in caplog.text
    assert "(--map ROLE=COLUMN decides)" in caplog.text


def test_the_pipelines_read_tables_too(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(csv_text([list(ROW), list(ROW.values())]))
    (answer,) = read_answers(path)
    assert (answer.id, answer.question, answer.text) == ("7", "Was steht da?", TEXT)
    assert [passage.text for passage in answer.passages] == ["Q1", "Q2", "Q3", "Q4", "Q5"]
    path.write_text("statement,source\nA mill.,B\n")
    with pytest.raises(UserError, match=r'a table with a statement in each row \(column "statement"\)'):
        read_answers(path)


def test_the_question_is_the_group_unless_the_file_names_one():
    def groups(**more):
        row = {"answer_id": "a1", "question": "Q?", "answer": "A mill [1].", "passages": ["Mill."], **more}
        return [item.group for item in items_of([row]).rows]

    assert groups() == ["Q?"]
    assert groups(group="g") == ["g"]
    cited = {"id": "c", "statement": "A mill.", "source": "Mill.", "answer_id": "a1"}
    assert [item.group for item in items_of([cited]).rows] == ["a1"]
    cited["question"] = "Q?"
    assert [item.group for item in items_of([cited]).rows] == ["Q?"]
    assert [item.group for item in items_of([cited], {"answer": "answer_id"}).rows] == ["a1"]


def test_a_mapped_statement_with_marks_looks_like_an_answer():
    columns = {"statement": "Antwort (Bot)", "source": "Quelle 1", "id": "Nr"}
    with pytest.raises(ColumnsError, match=r'row 1, column "Antwort \(Bot\)" is mapped as a statement') as error:
        items_of([ROW], columns)
    right = error.value.columns
    assert sources_of([ROW], right) == CITED
    words = ["label", "a b.csv", "--map", "statement=Antwort (Bot)", "-n", "4", "--map=source=Quelle 1"]
    assert retyped_command(words, right) == (
        "metaeval label 'a b.csv' -n 4 --map id=Nr --map 'answer=Antwort (Bot)' --map 'passages=Quelle 1'"
    )


def test_a_metric_with_a_bad_cell_is_refused_where_it_is_named():
    rows = [{"id": n, "statement": "A", "source": "B", "m": n / 3, "k": n} for n in range(4)]
    rows[2]["m"] = "0,5"
    items = items_of(rows)
    assert list(items.scores) == ["k"]
    assert 'row 3, column "m" is "0,5", in a column of numbers' in str(items.unread["m"])


@pytest.mark.parametrize(
    ("other", "level", "says"),
    [("full", "no\x07ne", "control character 0x07"), ("1", "٢", "is not a level"), ("1", "1_0", "is not a level")],
)
def test_a_level_of_other_characters_is_refused(other, level, says):
    items = items_of([{"id": n, "statement": f"A{n}", "source": "B"} for n in range(3)])
    with pytest.raises(UserError, match=f"row 2, .*{says}"):
        labels_of({"0": other, "2": level}, items)


def test_two_levels_of_one_statement_and_source_are_said(caplog):
    items = items_of([{"id": n, "statement": "A", "source": "B"} for n in range(3)])
    with caplog.at_level(logging.WARNING, "metaeval"):
        labels_of({"0": "full", "1": "full"}, items)
        assert "two levels" not in caplog.text
        labels_of({"0": "full", "1": "full", "2": "none"}, items)
    assert "one source of a statement has two levels, which both count: 1 times" in caplog.text
