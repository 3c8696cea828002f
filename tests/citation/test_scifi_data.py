"""Samples made of a small corpus of wikitext and fetched pages, and training samples made of them."""

import bz2
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from metaeval import cite, data
from metaeval.citation.data_model import Answer, Passage
from metaeval.citation.pipelines.build_and_export_samples import BUILD_PIPELINE
from metaeval.citation.pipelines.run_pipeline import prepare
from metaeval.citation.readers.answer_files import read_answers
from metaeval.citation.readers.answers_jsonl import own_lines
from metaeval.citation.scifi.samples import ScifiSample, candidates, draw_densest, split
from metaeval.citation.scifi.wikitext import Paragraph, extra_needed, key_of, paragraphs_of, read_articles, read_pages
from metaeval.cli.app import app
from metaeval.errors import UserError

HERE = Path(__file__).parent / "wikipedia"
NEWS, HOLM, STEEL = "https://news.test/opening", "https://holm.test/life/", "http://steel.test/works#bridge"
GONE = "https://gone.test/page"


@pytest.fixture
def wiki():
    return pytest.importorskip("mwparserfromhell", reason="needs the extra 'wikipedia'")


@pytest.fixture
def built(wiki, tmp_path, monkeypatch):
    """What `data build` was given, with replies to what it asks; the second of them is no query."""
    pytest.importorskip("trafilatura", reason="needs the extra 'wikipedia'")
    monkeypatch.chdir(tmp_path)
    folders = {"wikitext": HERE / "articles", "pages": HERE / "pages", "output": Path("built")}
    run = prepare(BUILD_PIPELINE, BUILD_PIPELINE.options(name="scifi", model="tiny", top=1, **folders), {})
    bodies = [request.body for request in BUILD_PIPELINE.read(run).requests]
    replies = ["Question: What is Elm Bridge?", "I would ask:\nWhen?", "Where does the Elm rise?", "Who uses the Elm?"]
    lines = [
        {"request": body, "sample": 0, "reply": {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}}
        for body, text in zip(bodies, replies, strict=True)
    ]
    Path("replies.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return bodies


BUILD = [
    *("data", "build", "scifi", "--wikitext", str(HERE / "articles"), "--pages", str(HERE / "pages")),
    *("--replay", "replies.jsonl", "-o", "built"),
]


def test_an_article_is_cut_into_paragraphs_with_the_places_of_its_citations(wiki):
    text = (HERE / "articles" / "Elm_Bridge.wikitext").read_text()
    first, second, history, floods = paragraphs_of("Elm Bridge", text)
    assert first.text == "Elm Bridge is a bridge of steel, built by Ada Holm over the river Elm. It has two lanes."
    # "Elm Bridge is a bridge of steel," has 32 characters, and so on; the last stands behind the full stop.
    assert first.citations == ((32, STEEL), (50, HOLM), (70, NEWS), (88, HOLM))
    assert (second.text, second.citations) == ("Few people use it.", ((18, ""),))
    assert (history.section, floods.section) == ("History", "Floods")
    assert history.text == "Holm drew it in 1899. It opened in 1902, and closed in 1950. It was raised in 1951."
    assert history.citations == ((21, HOLM), (21, NEWS), (40, NEWS), (51, GONE), (83, NEWS))


def test_a_dump_is_read_like_a_folder(wiki, tmp_path):
    pages = "".join(
        f"<page><title>{title}</title><ns>{ns}</ns>{more}<revision><text>{text}</text></revision></page>"
        for title, ns, more, text in (
            ("A &amp; B", 0, "", "One.&lt;ref&gt;[http://x.test x]&lt;/ref&gt;"),
            ("Talk", 1, "", "Two."),
            ("C", 0, '<redirect title="A"/>', "#REDIRECT"),
        )
    )
    dump = f'<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/">{pages}</mediawiki>'.encode()
    (tmp_path / "dump.xml").write_bytes(dump)
    (tmp_path / "dump.xml.bz2").write_bytes(bz2.compress(dump))
    for name in ("dump.xml", "dump.xml.bz2"):
        ((title, text),) = read_articles(tmp_path / name)
        assert (title, text) == ("A & B", "One.<ref>[http://x.test x]</ref>")
    assert [each.citations for each in paragraphs_of(title, text)] == [((4, "http://x.test"),)]
    (tmp_path / "cut.xml").write_bytes(dump[:-20])
    with pytest.raises(UserError, match="not a readable MediaWiki XML dump"):
        list(read_articles(tmp_path / "cut.xml"))


def test_pages_are_found_by_address_and_read_without_their_frames():
    pytest.importorskip("trafilatura", reason="needs the extra 'wikipedia'")
    pages = read_pages(HERE / "pages")
    assert set(pages) == {"news.test/opening", "holm.test/life", "steel.test/works", "river.test"}
    assert pages[key_of(STEEL)].title == "The works"
    assert "opened on a rainy day in May 1902" in pages[key_of(NEWS)].text
    assert "All rights" not in pages[key_of(NEWS)].text
    assert pages[key_of(NEWS)].title == "The opening of Elm Bridge"


def test_what_is_left_out_is_counted(wiki):
    pages = {key_of(address): Passage("x") for address in (NEWS, HOLM, STEEL, "https://river.test")}
    samples, counts = candidates(read_articles(HERE / "articles"), pages)
    # Citations per sentence: 4 / 2, 4 / 3 (one of five has no text), 3 / 2, 3 / 3.
    assert {sample.id: sample.density for sample in samples} == {
        "Elm Bridge#1": 2.0,
        "Elm Bridge#3": 4 / 3,
        "River Elm#1": 1.5,
        "River Elm#3": 1.0,
    }
    assert counts == {
        "articles": 3,
        "paragraphs": 8,
        "citations": 4 + 1 + 5 + 2 + 3 + 3 + 3,
        "citations of sources without a text": 2,
        "paragraphs left out: fewer than 3 citations": 3,
        "paragraphs left out: brackets that read like marks": 1,
    }
    assert samples[1].answer.text.startswith("Holm drew it in 1899.[2][3] It opened in 1902,[3] and closed in 1950.")


def made(number, density):
    return ScifiSample(f"p{number:02}", Paragraph("p", "", "x", ()), (), (), density)


def test_samples_are_drawn_from_the_densest_quarter_and_split():
    samples = [made(number, number / 10) for number in range(40)]
    assert [sample.density for sample in draw_densest(samples)] == [number / 10 for number in range(30, 40)]
    drawn = draw_densest(samples, most=4, seed=1)
    assert drawn == draw_densest(samples[::-1], most=4, seed=1) != draw_densest(samples, most=4, seed=2)
    assert len(drawn) == 4
    assert min(sample.density for sample in drawn) >= 3
    # A quarter of five is two, for it is rounded up.
    assert len(draw_densest(samples[:5])) == 2
    parts = split(samples, 0.1, seed=3)
    assert {name: len(part) for name, part in parts.items()} == {"train": 36, "test": 4}
    assert sorted(sample.id for part in parts.values() for sample in part) == [sample.id for sample in samples]
    assert split(samples, 0.1, seed=3) == parts != split(samples, 0.1, seed=4)


def test_the_command_builds_samples_that_the_pipelines_read(built):
    ended = CliRunner().invoke(app, [*BUILD, "-s", "top=1", "-s", "test=0.4"])
    assert ended.exit_code == 0, (ended.output, ended.exception)
    rows = {
        name: [json.loads(line) for line in Path(f"built/{name}.jsonl").read_text().splitlines()]
        for name in ("train", "test")
    }
    assert {name: len(part) for name, part in rows.items()} == {"train": 2, "test": 1}
    by_id = {row["id"]: row for part in rows.values() for row in part}
    assert by_id["Elm Bridge#1"]["query"] == "What is Elm Bridge?"
    assert by_id["Elm Bridge#1"]["citations"][0] == {"position": 32, "document": "1"}
    assert "Elm Bridge#3" not in by_id
    assert "samples left out: query unparsed: 1" in " ".join(ended.output.split())
    answers = [answer for name in rows for answer in read_answers(Path(f"built/{name}.jsonl"))]
    assert {answer.group for answer in answers} == {"Elm Bridge", "River Elm"}
    (table,) = cite.tables_scifi(["built/train.jsonl", "built/test.jsonl"], table=1).tables.values()
    assert len(table.lines) == 1  # all are of the system "reference"
    assert any(record["measure"] == "samples" and record["value"] == 3 for record in table.records)


def test_the_prompt_shows_title_section_and_paragraph_and_can_be_replaced(built, tmp_path):
    text = built[0]["messages"][0]["content"]
    assert "Title: Elm Bridge\nSection: \nParagraph: Elm Bridge is a bridge of steel, built" in text
    assert "[1]" not in text
    (tmp_path / "q.txt").write_text("Ask.")
    ended = CliRunner().invoke(app, [*BUILD, "-s", "query_file=q.txt"])
    assert isinstance(ended.exception, UserError)
    assert "the prompt lacks {paragraph}" in str(ended.exception)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["-s", "citations=9"], "None of 8 paragraphs has 9 citations"),
        (["--wikitext", "none.xml"], "neither a folder of .wikitext files nor an XML dump"),
        (["--pages", "."], "lacks pages.jsonl"),
        (["-s", "top=0"], "greater than 0"),
    ],
)
def test_what_is_wrong_is_one_sentence(built, words, sentence):
    ended = CliRunner().invoke(app, [*BUILD, *words])
    assert isinstance(ended.exception, UserError), ended.output
    assert sentence in str(ended.exception)


def test_a_page_outside_its_folder_is_not_read(tmp_path):
    (tmp_path / "pages").mkdir()
    (tmp_path / "secret.txt").write_text("x")
    (tmp_path / "pages" / "pages.jsonl").write_text('{"url": "http://a.test", "file": "../secret.txt"}\n')
    with pytest.raises(UserError, match="the name of a file in"):
        read_pages(tmp_path / "pages")


def test_a_missing_library_is_named_with_its_extra():
    with pytest.raises(UserError, match=r"needs no_such_library, .*wikipedia"), extra_needed():
        import no_such_library  # noqa: F401


PASSAGES = tuple(Passage(f"Text {number}.") for number in range(1, 9))


def test_training_samples_are_messages(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answers = [Answer("a", "Text 2 [2].", PASSAGES, "Which?"), Answer("b", "x", PASSAGES)]
    Path("a.jsonl").write_text(own_lines(answers))
    Path("b.jsonl").write_text(own_lines(answers[1:]))
    Path("c.jsonl").write_text(own_lines([Answer("b", "x", PASSAGES, "Which?")]))
    ended = CliRunner().invoke(app, "data export a.jsonl --form chat --negatives 1 -o chat.jsonl".split())
    assert ended.exit_code == 0, ended.output
    assert "Left out without a question or a text: 1 answer." in ended.output
    (row,) = map(json.loads, Path("chat.jsonl").read_text().splitlines())
    user, assistant = row["messages"]
    assert (user["role"], assistant["role"]) == ("user", "assistant")
    assert "Which?" in user["content"]
    assert user["content"].count("Text ") == 2
    assert "Text 2." in user["content"]
    assert assistant["content"] in ("Text 2 [1].", "Text 2 [2].")
    with pytest.raises(UserError, match='"b" has no text that cites one of its documents'):
        data.export("c.jsonl", negatives=1, output="out.jsonl")
    with pytest.raises(UserError, match="A training sample needs a question"):
        data.export("b.jsonl", output="out.jsonl")


SUMMARISED = tuple(Passage(f"Text {number}.", summary=f"Short {number}.") for number in range(1, 4))
WRITTEN = "One [1]. Nothing cited. Two [3]."


def messages(strategy, text=WRITTEN, passages=SUMMARISED):
    Path("a.jsonl").write_text(own_lines([Answer("a", text, passages, "Which?")]))
    rows = data.export("a.jsonl", strategy=strategy, output="chat.jsonl")
    return [tuple(message["content"] for message in row["messages"]) for row in rows]


def test_two_stage_teaches_choices_sentences_and_the_end(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    taught = messages("two-stage")
    # Two sentences with a mark, each a choice and a sentence, then the end; the one without a mark is only written.
    assert [reply for _, reply in taught] == [
        '{"documents": [1]}',
        "One [1].",
        '{"documents": [3]}',
        "Two [3].",
        '{"documents": []}',
    ]
    choices, sentences = [taught[n][0] for n in (0, 2, 4)], [taught[n][0] for n in (1, 3)]
    assert all("Short 2." in choice and "Text 2." not in choice for choice in choices)
    # A sentence is written from the texts of what was chosen for it alone, and is told the answer so far.
    assert "Text 1." in sentences[0]
    assert "Text 3." not in sentences[0]
    assert "Text 3." in sentences[1]
    assert "Text 1." not in sentences[1]
    assert "One [1]. Nothing cited." in sentences[1]
    assert WRITTEN in choices[2]


def test_the_other_strategies_teach_what_they_ask(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ((summaries, reply),) = messages("summary")
    assert reply == WRITTEN
    assert "Short 1." in summaries
    assert "Text 1." not in summaries
    (selection, chosen), (answer, written) = messages("select-then-write")
    assert (chosen, written) == ('{"documents": [1, 3]}', WRITTEN)
    assert "Text 2." in selection
    assert "Text 2." not in answer
    with pytest.raises(UserError, match='Passage 1 of answer "a" has no summary, which the strategy summary shows'):
        messages("summary", passages=PASSAGES)
