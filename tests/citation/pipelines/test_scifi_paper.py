"""The tables of the SCiFi paper (arXiv 2406.06125) from made answers of models and strategies."""

import json
import re
from pathlib import Path

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
            "reference": {"claims": ["A Dane built it."], "n" * 40: 0},
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
    return cite.tables_scifi(MADE, trained=["tiny=tiny-lora"], interval={"resamples": 50, "fewest": 2}, **RUN)


def cells(table):
    return {
        (block.title, line.name): [(cell.number, cell.rank) for cell in line.cells]
        for block in table.blocks
        for line in block.lines
    }


def test_models_are_blocks_and_strategies_lines_with_the_papers_marks(tables, recorded, sheets):
    groups = {name: made(name)[f"by-{name}"] for name in ("topic", "views")}
    recorded.held("scifi-tables", sheets({**tables, **groups}), whole=True)
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
    # Samples, tokens, density, sentences, and the shares of these with several citations and with one inside.
    counted = [number for number, _ in cells(tables["table-1"])["systems", "gpt/two-stage"]]
    assert counted == ["4", "5.0", "1.25", "4", "25.0", "0.0", "–"]
    assert len(table.records) == 5 * 4


@pytest.mark.parametrize(
    ("system", "model", "strategy"),
    [
        ("meta/llama/two-stage", "meta/llama", "two-stage"),
        ("gpt-4/Summary/oracle", "gpt-4", "Summary/oracle"),
        ("meta/llama/truncated/10-snippet", "meta/llama", "truncated/10-snippet"),
        ("summary", "summary", "answers"),
        ("summary/oracle", "summary/oracle", "answers"),
        ("a/two-stage/b/c", "a/two-stage/b/c", "answers"),
        ("/summary", "/summary", "answers"),
    ],
)
def test_a_systems_name_has_a_model_and_a_strategy_with_its_condition(system, model, strategy):
    assert split_name(system) == (model, strategy)


def test_answers_to_positive_documents_keep_model_and_strategy():
    pytest.importorskip("spacy", reason="needs the extra 'citation'")
    rows = [
        *answers("gpt", "two-stage/oracle", [RIGHT, "A Dane built it [2][1]. It rained."]),
        *answers("tiny", "summary/oracle", [WRONG, WRONG]),
        *answers("gpt", "truncated/oracle", [RIGHT, WRONG]),
    ]
    table = cite.tables_scifi(rows, profile="paper", tokenizer="words", table=[2], **RUN)["table-2"]
    # The first: of three facts one is uncited, and one has the mark nearest to it, [2], which does not entail it.
    assert {key: line[2] for key, line in cells(table).items()} == {
        ("gpt", "truncated/oracle"): ("50.00", "best"),
        ("gpt", "two-stage/oracle"): ("33.33", ""),
        ("tiny", "summary/oracle"): ("0.00", ""),
    }
    assert list(dict.fromkeys((row["model"], row["strategy"]) for row in table.records)) == list(cells(table))
    assert [bool(cite.tables_scifi(rows[:n], table=[2], **RUN)["table-2"].legend) for n in (2, 4)] == [False, True]


def test_differences_after_training_are_paired(tables):
    (block,) = tables["table-3"].blocks
    assert block.title == "tiny to tiny-lora"
    (line,) = block.lines
    # 100 - 25, on four questions; the models share one strategy.
    assert (line.name, line.cells[2].number) == ("truncated", "+75.00")
    # By question the differences are 0, 1, 1, 1.
    assert compared(tables["table-3"], "entailment")["value"] == 0.75


def compared(table, measure):
    (record,) = [record for record in table.records if record["measure"] == measure]
    return record


def test_only_questions_that_both_answered_are_compared():
    pytest.importorskip("spacy", reason="needs the extra 'citation'")
    made = [*answers("a", "summary", [RIGHT, WRONG]), *answers("b", "summary", [RIGHT, RIGHT, WRONG, WRONG, WRONG])]
    table = cite.tables_scifi(made, trained=["a=b"], **RUN)["table-3"]
    assert compared(table, "entailment")["value"] == 0.5
    assert any("3 answers to questions that only one" in note.text for note in table.footer)
    before, after = ([WRONG, RIGHT] * 10, [f"{text} It opened in May." for text in [WRONG, RIGHT] * 10])
    made = [*answers("a", "summary", before), *answers("b", "summary", after)]
    table = cite.tables_scifi(made, trained=["a=b"], table=[3], **RUN)["table-3"]
    density = compared(table, "density")
    # 20 marks in 20 sentences, then in 40: -0.5 in every resample, for they are paired.
    assert np.allclose([density["value"], density["low"], density["high"]], -0.5)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"table": [7]}, "'7'"),
        ({"table": [3]}, "Table 3"),
        ({"trained": ["tiny"]}, "BEFORE=AFTER"),
        ({"trained": ["tiny=tiny-lora"], "table": [1, 2]}, "add --table 3"),
        ({"trained": ["gpt=other"]}, "no strategy in common"),
        ({"table": [1], "by": ["topics"]}, '"topics".*"claims", "n{28}…'),
    ],
)
def test_what_is_wrong_is_one_sentence(options, says):
    pytest.importorskip("spacy", reason="needs the extra 'citation'")
    with pytest.raises(UserError, match=says):
        cite.tables_scifi([*MADE, *answers("other", "summary", [RIGHT])], **RUN, **options)


def test_a_wrong_model_is_refused_before_anything_is_judged():
    pytest.importorskip("spacy", reason="needs the extra 'citation'")
    asked = []

    def judge(source, claim):
        asked.append(claim)
        return 1.0

    with pytest.raises(UserError, match="'none'"):
        cite.tables_scifi(MADE, nli=judge, threshold="0.5", trained=["tiny=none"])
    assert asked == []


@pytest.mark.parametrize("words", [["tables", "scifi"], ["tables-scifi"]])
def test_the_command_is_typed_as_two_words_or_one_and_judges_nothing_for_statistics(tmp_path, words):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in MADE))
    ended = CliRunner().invoke(app, ["cite", *words, str(path), "--table", "1", "--results", str(tmp_path / "r")])
    assert ended.exit_code == 0, ended.output
    assert "Statistics of the texts" in ended.output
    assert set(shares_of(citation_counts([])).values()) == {None}


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
        {"id": f"a{number}", "question": f"{number}?", "text": text, "passages": PASSAGES}
        | {"reference": {name: own for name, own in (("topic", topics), ("views", views)) if own is not None}}
        for number, (text, topics, views) in enumerate(records)
    ]
    return cite.tables_scifi(answers, table=[1], by=[by])


def values(table):
    return {(record["system"], record["measure"]): record["value"] for record in table.records}


def test_texts_by_page_views_are_cut_into_bins_of_equal_size():
    # 41 texts in 20 bins: 19 of two and one of three.
    many = values(made("views", [(INSIDE if number > 30 else END, None, number) for number in range(41)])["by-views"])
    sizes = [v for (_, measure), v in many.items() if measure == "samples"]
    assert (len(sizes), sorted(sizes)) == (20, [2] * 19 + [3])
    featuring = [v for (_, measure), v in many.items() if measure == "featuring"]
    assert featuring == sorted(featuring)
    # SCiFi's own samples can have both fields.
    sample = {"query": "Q?", "paragraph": "A Dane.", "citations": [], "documents": [{"text": "A Dane."}]}
    of = cite.tables_scifi([{**sample, "topic": ["A", "B"], "views": 3}], table=[1], by=["topic", "views"])
    assert {row["system"] for by in ("topic", "views") for row in of[f"by-{by}"]} == {"A", "B", "01: 3 to 3"}
    # Of topics, the ten most frequent have a line.
    table = made("topic", [(END, [f"t{number}", "all"], 1) for number in range(12)])["by-topic"]
    assert len({record["system"] for record in table.records}) == 10
    assert re.findall(r"(\d+)(?: \w+){1,2} without", " ".join(table_text(table, "text").split())) == ["3"]


def claim_of_wice(name, sets, claim="It opened in May."):
    meta = {"id": name, "claim_title": "Bridge", "claim_section": "", "claim_context": ""}
    return {
        "claim": claim,
        "evidence": ["It opened.", "In May.", "A Dane."],
        "supporting_sentences": sets,
        "meta": meta,
    }


def judged_by_experts(system, *evidence):
    claims = [{"claim_string": f"Claim {n}.", "evidence": texts, "support": None} for n, texts in enumerate(evidence)]
    answer = {"answer_string": "", "claims": claims}
    return {"question": f"{system}?", "annotator_id": "a", "metadata": {}, "answers": {system: answer}}


URL, TEXT = "[1] https://a.example/x", "[2] https://a.example/y\n\nA text."
PUBLISHED = {
    # The first set that is not empty is cited: 2, 1 and no sentences; 5 tokens with the full stop.
    "wice.jsonl": [claim_of_wice("1", [[0, 1], [2]]), claim_of_wice("2", [[], [2]]), claim_of_wice("3", [])],
    # Evidence without a text counts: 2 and 1 citations of two claims; 3 tokens a claim, 9 in all.
    "expertqa.jsonl": [judged_by_experts("gpt4", [URL, TEXT, URL], [TEXT]), judged_by_experts("bing_chat", [URL])],
}
COUNTED = {
    ("data set", "wice"): (3, 5, 3 / 2),
    ("data set", "expertqa"): (2, 9 / 2, 4 / 3),
    ("system", "wice"): (3, 5, 3 / 2),
    ("system", "gpt4"): (1, 6, 3 / 2),
    ("system", "bing_chat"): (1, 3, 1),
}


def table_1(files):
    table = cite.tables_scifi([str(file) for file in files], table=[1])["table-1"]
    value = {(row["of"], row["system"], row["measure"]): row["value"] for row in table.records}
    lines = dict.fromkeys((of, name) for of, name, _ in value)
    return {line: tuple(value[*line, name] for name in ("samples", "tokens", "density")) for line in lines}


def test_statistics_of_published_data_sets_count_every_citation(tmp_path):
    for name, rows in PUBLISHED.items():
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert table_1([tmp_path / name for name in PUBLISHED]) == COUNTED
    # Where the data sets are the systems they have one line each.
    assert table_1([tmp_path / "wice.jsonl"]) == {("system", "wice"): COUNTED["data set", "wice"]}
    with pytest.raises(UserError, match="no known format"):
        cite.tables_scifi(str(tmp_path / "wice.jsonl"), table=[2])
    (tmp_path / "wrong.jsonl").write_text(json.dumps(claim_of_wice("1", [[3]])) + "\n")
    with pytest.raises(UserError, match="supporting_sentences"):
        table_1([tmp_path / "wrong.jsonl"])


DATA = Path(__file__).parents[4] / "shared" / "data"


@pytest.mark.skipif(not DATA.is_dir(), reason="the published files are not in ../shared/data")
def test_statistics_of_the_published_files():
    rows = [json.loads(line) for line in (DATA / "wice" / "dev.jsonl").read_text().splitlines()]
    cited = [len(next(filter(None, row["supporting_sentences"]), [])) for row in rows]
    questions = [json.loads(line) for line in (DATA / "expertqa" / "rand_test.jsonl").read_text().splitlines()]
    claims = [claim for row in questions for answer in row["answers"].values() for claim in answer["claims"]]
    evidence = [len({*claim["evidence"]}) for claim in claims]
    found = table_1([DATA / "wice" / "dev.jsonl", DATA / "expertqa" / "rand_test.jsonl"])
    assert found["data set", "dev"][::2] == (349, sum(cited) / sum(map(bool, cited)))
    samples, _, density = found["data set", "rand_test"]
    assert samples == 219
    # Some claims are two sentences or have no word, and some pieces of evidence have one text under two addresses.
    assert density == pytest.approx(sum(evidence) / sum(map(bool, evidence)), abs=0.01)
    # Printed by arXiv 2406.06125, of all splits of WiCE and 2,177 answers of ExpertQA: 1.88 and 1.27.
    assert (round(found["data set", "dev"][2], 2), round(density, 2)) == (1.98, 1.18)
