"""Label forms: each question is a column of the sheet, with the choices of its declaration."""

import json

import pytest

import metaeval
from metaeval.core.errors import UserError
from metaeval.decisions.citation_items import items_of
from metaeval.decisions.label_forms import FORMS

ROWS = [{"id": f"c{n}", "statement": f"claim {n}", "source": f"source {n} é"} for n in range(6)]


@pytest.fixture
def items(tmp_path):
    path = tmp_path / "items.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


@pytest.mark.parametrize(
    ("form", "columns"),
    [
        ("support", ["level"]),
        ("errors", ["error_type"]),
        ("utility", ["answer_utility", "citation_utility"]),
    ],
)
def test_a_sheet_has_the_columns_of_its_form(items, tmp_path, form, columns):
    assert [question["column"] for question in FORMS[form]] == columns
    for question in FORMS[form]:
        keys, values = ({choice[name] for choice in question["choices"]} for name in ("key", "value"))
        assert len(keys) == len(values) == len(question["choices"])
        assert keys <= set("123456789"), "0 takes a label back"
    output = tmp_path / "sheet.jsonl"
    records = metaeval.label(items, n=4, form=form, output=output)
    wanted = ["id", "group", "statement", "passage", *columns, "probability", "stratum", "unit"]
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    assert [list(row) for row in rows] == [wanted] * 4
    assert {row[name] for row in rows for name in columns} == {""}
    assert (len(records), output.read_text().count("é")) == (4, 4)


def test_a_sheet_of_answers_has_their_questions_and_whole_texts(tmp_path):
    answers = [
        {"question": f"What is {word}?", "output": f"It is {word} [1]. It is so [2].", "docs": [{"text": word}] * 2}
        for word in ("air", "ice")
    ]
    path, sheet = tmp_path / "answers.json", tmp_path / "sheet.csv"
    path.write_text(json.dumps(answers))
    records = metaeval.label(path, n=4, output=sheet)
    texts = {(answer["question"], answer["output"]) for answer in answers}
    assert {(record["question"], record["answer"]) for record in records} == texts
    # The sheet itself is a table of citations, whose groups are the questions.
    assert items_of(sheet).clusters == ("What is air?", "What is ice?")


def test_wrong_forms_are_one_sentence(items, tmp_path):
    with pytest.raises(UserError, match="Did you mean 'utility'"):
        metaeval.label(items, n=4, form="utilty", output=tmp_path / "a.csv")
    labels = [{"id": "c1", "level": "full"}]
    with pytest.raises(UserError, match="in the form support: leave out --existing-labels, or --form utility"):
        metaeval.label(items, n=4, form="utility", existing_labels=labels, output=tmp_path / "a.csv")
