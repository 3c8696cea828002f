"""The tables of the SCiFi paper (arXiv 2406.06125) from made answers of models and strategies."""

import json
from collections import Counter

import numpy as np
import pytest
from typer.testing import CliRunner

from metaeval import cite
from metaeval.citation.data_model import Answer, Passage
from metaeval.citation.pipelines.scifi_paper import split_name
from metaeval.citation.scifi.text_statistics import citation_counts, shares_of
from metaeval.cli.app import app
from metaeval.core.errors import UserError
from metaeval.report.table_files import table_text

PASSAGES = [{"text": "A Dane built it."}, {"text": "It opened in May."}]
RIGHT, WRONG = "A Dane built it [1].", "A Dane built it [2]."
RUN = {"nli": "overlap", "threshold": "overlap=0.9"}


def answers(model, strategy, texts):
    return [
        {
            "id": f"{model} {strategy} {number}",
            "question": f"Question {number}?",
            "text": text,
            "passages": PASSAGES,
            "system": f"{model}/{strategy}",
            "reference": {"claims": ["A Dane built it."]},
        }
        for number, text in enumerate(texts)
    ]


MADE = [
    # Entailment 3/4, density 1; entailment 1, density (1 + 1 + 1 + 2) / 4.
    *answers("gpt", "truncated", [RIGHT, RIGHT, RIGHT, WRONG]),
    *answers("gpt", "two-stage", [RIGHT, RIGHT, RIGHT, "A Dane built it [1][1]."]),
    # Entailment 1/4 and 1/2.
    *answers("tiny", "truncated", [RIGHT, WRONG, WRONG, WRONG]),
    *answers("tiny", "summary", [RIGHT, RIGHT, WRONG, WRONG]),
    *answers("tiny-lora", "truncated", [RIGHT, RIGHT, RIGHT, RIGHT]),
]


@pytest.fixture(scope="module")
def tables():
    pytest.importorskip("spacy", reason="needs the extra 'citation'")
    return cite.tables_scifi(MADE, trained=["tiny=tiny-lora"], **RUN)


def cells(table):
    return {
        (block.title, line.name): [(cell.number, cell.rank) for cell in line.cells]
        for block in table.blocks
        for line in block.lines
    }


def test_models_are_blocks_and_strategies_lines_with_the_papers_marks(tables):
    table = tables["table-2"]
    assert table.headings == ("Density", "Density (sub)", "Citation Ent.", "Cover.")
    assert cells(table) == {
        ("gpt", "truncated"): [("1.00", ""), ("0.00", "best"), ("75.00", ""), ("100.00", "best")],
        # 5 marks in 4 sentences; the best of all is bold and not underlined.
        ("gpt", "two-stage"): [("1.25", "best"), ("0.00", "best"), ("100.00", "best"), ("100.00", "best")],
        ("tiny", "truncated"): [("1.00", "second"), ("0.00", "best"), ("25.00", ""), ("100.00", "best")],
        ("tiny", "summary"): [("1.00", "second"), ("0.00", "best"), ("50.00", "second"), ("100.00", "best")],
        ("tiny-lora", "truncated"): [("1.00", ""), ("0.00", "best"), ("100.00", "best"), ("100.00", "best")],
    }
    assert table.legend == "Bold: best of all; underlined: best strategy of its model."
    assert len(table.records) == 5 * 4


def test_differences_after_training_are_paired(tables):
    (block,) = tables["table-3"].blocks
    assert block.title == "tiny to tiny-lora"
    (line,) = block.lines
    # 100 - 25, on four questions; the models share one strategy.
    assert (line.name, line.cells[2].number) == ("truncated", "+75.00")
    (record,) = [r for r in tables["table-3"].records if r["measure"] == "entailment"]
    # By question the differences are 0, 1, 1, 1.
    assert record["value"] == 0.75


def test_a_difference_that_is_the_same_in_every_question_has_no_width():
    pytest.importorskip("spacy", reason="needs the extra 'citation'")
    before, after = ([WRONG, RIGHT] * 10, [f"{text} It opened in May." for text in [WRONG, RIGHT] * 10])
    made = [*answers("a", "summary", before), *answers("b", "summary", after)]
    table = cite.tables_scifi(made, trained=["a=b"], table=[3], **RUN)["table-3"]
    (density,) = [r for r in table.records if r["measure"] == "density"]
    # 20 marks in 20 sentences, then in 40: -0.5 in every resample, for they are paired.
    assert np.allclose([density["value"], density["low"], density["high"]], -0.5)


def test_only_questions_that_both_answered_are_compared():
    pytest.importorskip("spacy", reason="needs the extra 'citation'")
    made = [*answers("a", "summary", [RIGHT, WRONG]), *answers("b", "summary", [RIGHT, RIGHT, WRONG, WRONG, WRONG])]
    table = cite.tables_scifi(made, trained=["a=b"], **RUN)["table-3"]
    (record,) = [r for r in table.records if r["measure"] == "entailment"]
    assert record["value"] == 0.5
    assert any("3 answers to questions that only one" in note.text for note in table.footer)


def test_statistics_are_counted_by_hand():
    texts = [
        "He swam [1] in May [2]. It rained.",  # 5 tokens and 3; 2 marks, one inside and free
        "She ran, [1] then sat [2][3].",  # 6 tokens; 3 marks, one inside at a comma
        "They left.",  # 3 tokens
    ]
    counted = citation_counts([Answer(str(n), text, (Passage("x"),)) for n, text in enumerate(texts)])
    assert counted - Counter(tokens=17) == Counter(
        samples=3, sentences=4, cited=2, several=2, marks=5, inside=2, free=1
    )
    assert shares_of(counted) == {
        "tokens": (5 + 3 + 6 + 3) / 3,
        "density": 5 / 2,
        "density_all": 5 / 4,
        "several": 2 / 4,
        "inside": 2 / 5,
        "free": 1 / 2,
    }


def test_tokens_are_whole_words_in_hindi_too_or_those_of_a_tokenizer(letters):
    counted = citation_counts([Answer("a", "नदी [1] में पानी बढ़ा। फिर रुका।", (Passage("x"),))])
    assert counted["tokens"] == 5 + 3  # four words and a danda; two words and a danda
    assert (counted["inside"], counted["free"]) == (1, 1)
    one = [{"id": "a", "question": "Who?", "text": "A Dane built it [1].", "passages": [{"text": "A Dane."}]}]
    for unit, tokens, says in (
        ("words", 5, "words and punctuation marks"),  # A, Dane, built, it and the stop
        (letters, 13, f"those of the tokenizer {letters}"),  # 1 + 4 + 5 + 2 letters and the stop
    ):
        table = cite.tables_scifi(one, table=1, tokenizer=unit)["table-1"]
        assert {row["measure"]: row["value"] for row in table.records}["tokens"] == tokens
        assert any(f"Tokens: {says}" in note.text for note in table.footer)
        assert f"|tokenizer:{unit}|" in table.signatures[0]


def test_nothing_is_judged_for_statistics_alone():
    result = cite.tables_scifi(MADE, table=1)
    assert list(result) == ["table-1"]
    assert len(result["table-1"].lines) == 5
    assert set(shares_of(citation_counts([])).values()) == {None}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"table": [7]}, "Unknown table '7'"),
        ({"table": [3]}, "Table 3 compares models before and after training"),
        ({"trained": ["tiny"]}, "write BEFORE=AFTER"),
        ({"trained": ["tiny=none"]}, "Unknown model in --trained 'none'"),
        ({"trained": ["gpt=other"]}, "no strategy in common"),
    ],
)
def test_what_is_wrong_is_one_sentence(options, sentence):
    pytest.importorskip("spacy", reason="needs the extra 'citation'")
    with pytest.raises(UserError, match=sentence):
        cite.tables_scifi([*MADE, *answers("other", "summary", [RIGHT])], **RUN, **options)


def test_the_last_part_of_a_systems_name_is_its_strategy():
    assert split_name("meta/llama/two-stage") == ("meta/llama", "two-stage")
    assert split_name("meta/llama") == ("meta/llama", "answers")
    assert split_name("summary") == ("summary", "answers")


@pytest.mark.parametrize("words", [["tables", "scifi"], ["tables-scifi"]])
def test_the_command_is_typed_as_two_words_or_one(tmp_path, words):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in MADE))
    ended = CliRunner().invoke(app, ["cite", *words, str(path), "--table", "1", "--results", str(tmp_path / "r")])
    assert ended.exit_code == 0, ended.output
    assert "Statistics of the texts" in ended.output


INSIDE, END, PLAIN = "A Dane [1] built it [2].", "A Dane built it [1].", "A Dane built it."
TEXTS = [
    (INSIDE, ["Culture", "Europe"], 900),
    (END, ["Culture"], 10),
    (PLAIN, ["Europe", "Culture"], 20),
    (INSIDE, ["Sport"], 30),
    (END, None, None),
]


def made(by, records=TEXTS):
    answers = [
        {
            "id": f"a{number}",
            "question": f"{number}?",
            "text": text,
            "passages": PASSAGES,
            "reference": {name: value for name, value in (("topic", topics), ("views", views)) if value is not None},
        }
        for number, (text, topics, views) in enumerate(records)
    ]
    return cite.tables_scifi(answers, table=[1], by=[by])[f"by-{by}"]


def values(table):
    return {(record["system"], record["measure"]): record["value"] for record in table.records}


def test_texts_by_topic_are_counted_in_each_of_their_topics():
    table = made("topic")
    value = values(table)
    assert list(dict.fromkeys(name for name, _ in value)) == ["Culture", "Europe", "Sport"]  # 3, 2 and 1 texts
    assert [value[name, "samples"] for name in ("Culture", "Europe", "Sport")] == [3, 2, 1]
    # Of the four texts with topics.
    assert [value[name, "share"] for name in ("Culture", "Europe", "Sport")] == [3 / 4, 2 / 4, 1 / 4]
    # Culture: one of three texts has a citation inside, one of three citations; Europe: one of two, one of two.
    assert [value["Culture", name] for name in ("featuring", "inside")] == pytest.approx([1 / 3, 1 / 3])
    assert (value["Europe", "featuring"], value["Europe", "inside"]) == (1 / 2, 1 / 2)
    assert value["Culture", "density"] == pytest.approx((2 + 1) / 2)  # two sentences with a citation
    assert "1 text without it left out" in " ".join(table_text(table, "text").split())


def test_texts_by_page_views_are_cut_into_bins_of_equal_size():
    value = values(made("views"))
    # Four texts, one a bin, the least viewed first.
    assert [name for name, measure in value if measure == "featuring"] == [
        "01: 10 to 10",
        "02: 20 to 20",
        "03: 30 to 30",
        "04: 900 to 900",
    ]
    assert [v for (_, measure), v in value.items() if measure == "featuring"] == [0, 0, 1, 1]
    # 41 texts in 20 bins: 19 of two and one of three.
    many = values(made("views", [(INSIDE if number > 30 else END, None, number) for number in range(41)]))
    sizes = [v for (_, measure), v in many.items() if measure == "samples"]
    assert (len(sizes), sorted(sizes)) == (20, [2] * 19 + [3])
    featuring = [v for (_, measure), v in many.items() if measure == "featuring"]
    assert featuring == sorted(featuring)


def test_only_the_ten_most_frequent_topics_have_a_line():
    table = made("topic", [(END, [f"t{number}", "all"], 1) for number in range(12)])
    assert len({record["system"] for record in table.records}) == 10
    assert "3 further values without a line" in " ".join(table_text(table, "text").split())


def test_a_field_that_no_text_has_is_one_sentence():
    with pytest.raises(UserError, match=r"No text has \"topics\" in its 'reference'\. Did you mean 'topic'\?"):
        made("topics")
