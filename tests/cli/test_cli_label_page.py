"""The page of drawn citations in a real browser: labelled by keys, saved, and read back by estimate."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from metaeval.report.table_files import load_table
from tests.cli.samples import csv_rows

pytestmark = pytest.mark.slow  # a browser


@pytest.fixture
def page(tmp_path, monkeypatch, ran, chromium, request):
    """A page of 20 of 60 citations, open in the system's Chromium; nothing is said in its console."""
    more = getattr(request, "param", ())
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"c{n}", "statement": f"<b>claim {n}</b>", "source": f"source {n}", "m": n / 60} for n in range(60)]
    Path("items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ran("label", "items.jsonl", "-n", "20", "--design", "stratified", "-m", "m", "-o", "to_label.html", *more)
    said = []
    with closing(chromium.new_context()) as context:
        opened = context.new_page()
        opened.set_default_timeout(120_000)
        opened.on("console", lambda message: said.append(message.text))
        opened.on("pageerror", lambda error: said.append(str(error)))
        opened.goto((tmp_path / "to_label.html").as_uri())
        opened.wait_for_selector("main > *")
        yield opened
    assert not said


def test_citations_are_labelled_by_keys_and_estimated(ran, page):
    assert "<b>claim" in page.text_content(".statement")
    assert "Pair 1 of 20, 0 labelled" in page.text_content("[role=status]")
    for number in range(18):
        page.keyboard.press("3" if number % 3 else "1")
    assert "18 labelled" in page.text_content("[role=status]")
    page.get_by_label("Your name").fill("A")
    save(page, "saved.csv")
    ended = ran("estimate", "items.jsonl", "--labels", "saved.csv", "-m", "m")
    assert "2 drawn items are blank" in " ".join(ended.out.split())
    assert "probabilities of the file; 18 items drawn" in " ".join(ended.out.split())
    found = {one["measure"]: one for one in load_table(Path("results/latest/estimate.json")).records}
    assert found["none"]["low"] < 1 / 3 < found["none"]["high"]


def test_a_label_is_undone_and_labels_are_there_again(page):
    first = page.text_content(".statement")
    page.keyboard.press("3")
    page.keyboard.press("1")
    page.keyboard.press("u")
    assert "Pair 2 of 20, 1 labelled" in page.text_content("[role=status]")
    page.keyboard.press("k")
    page.keyboard.press("2")  # another label in the place of the first ...
    page.keyboard.press("u")  # ... and back
    assert page.text_content(".statement") == first
    assert page.get_by_text("full support").get_attribute("aria-pressed") == "true"
    page.get_by_label("Your name").fill("A")
    page.get_by_label("Your name").press("Enter")
    page.reload()
    page.wait_for_selector("main > *")
    assert page.get_by_label("Your name").input_value() == "A"
    assert "Pair 2 of 20, 1 labelled" in page.text_content("[role=status]")
    assert page.get_by_role("button", name="Undo").is_disabled()


def save(page, name):
    with page.expect_download() as download:
        page.get_by_text("Save labels as CSV").click()
    download.value.save_as(name)


def test_two_annotators_are_blind_and_agree_in_the_end(ran, page):
    for who, turn in (("A", "1"), ("B", "3")):
        page.get_by_label("Your name").fill(who)
        page.get_by_label("Your name").press("Tab")
        assert "0 labelled" in page.text_content("[role=status]")
        page.locator("h1").click()  # keys are the panel's again
        for number in range(20):
            assert page.locator(".agreement").count() == 0
            page.keyboard.press("3" if number % 2 else turn if number < 10 else "1")
    assert page.text_content(".agreement") == "B and A agree on 15 of 20 (75 %)."
    save(page, "both.csv")
    ended = ran("estimate", "items.jsonl", "--labels", "both.csv", "-m", "m")
    assert "20 items judged twice or more, 15 of them alike; Krippendorff's alpha 0." in " ".join(ended.out.split())


@pytest.mark.parametrize("page", [("-s", "form=utility")], indirect=True)
def test_a_form_of_several_questions_is_answered_in_order(page):
    for key in "42":  # the answer: agree; the place of the citation: yes
        assert "Pair 1 of 20, 0 labelled" in page.text_content("[role=status]")
        page.keyboard.press(key)
    assert "Pair 2 of 20, 1 labelled" in page.text_content("[role=status]")
    page.keyboard.press("4")
    page.keyboard.press("u")
    assert page.locator("[aria-pressed=true]").count() == 0
    page.get_by_role("button", name="2 yes").click()
    page.reload()
    page.wait_for_selector("main > *")
    assert page.locator("[aria-pressed=true]").count() == 1
    assert page.get_by_text("Save labels as JSONL").count() == 0
    save(page, "saved.csv")
    answers = [(row["answer_utility"], row["citation_utility"]) for row in csv_rows(Path("saved.csv"))]
    assert answers[:3] == [("4", "1"), ("", "1"), ("", "")]
    page.evaluate("localStorage.clear()")
    page.reload()
    page.wait_for_selector("main > *")
    page.get_by_label("Load saved CSV").set_input_files("saved.csv")
    page.wait_for_selector("text=Loaded: 2 labels of saved.csv.")
    assert "Pair 2 of 20, 1 labelled" in page.text_content("[role=status]")


def test_labels_of_another_browser_are_loaded(page):
    for _ in range(4):
        page.keyboard.press("3")
    page.get_by_label("Your name").fill('=A, the "first"')
    save(page, "saved.csv")
    page.evaluate("localStorage.clear()")
    page.reload()
    page.wait_for_selector("main > *")
    assert "0 labelled" in page.text_content("[role=status]")
    page.get_by_label("Load saved CSV").set_input_files("saved.csv")
    page.wait_for_selector("text=Loaded: 4 labels of saved.csv.")
    page.get_by_label("Your name").fill('=A, the "first"')
    page.get_by_label("Your name").press("Tab")
    assert "Pair 5 of 20, 4 labelled" in page.text_content("[role=status]")
    Path("other.csv").write_text("x,y\n1,2\n")
    page.get_by_label("Load saved CSV").set_input_files("other.csv")
    page.wait_for_selector("text=holds no label of these items")


def test_what_is_read_around_a_citation_and_the_end(chromium, ran, tmp_path):
    """The question and the neighbours are shown, bullets not; marks without a passage are counted; comments stay."""
    text = "Why:\n- Air scatters light [1].\n- Blue most of all [1][7]."
    question, passages = "Why is the sky blue?", [{"text": "Air scatters light."}]
    answer = {"id": "a", "question": question, "text": text, "passages": passages}
    (tmp_path / "answers.jsonl").write_text(json.dumps(answer))
    ran("label", "answers.jsonl", "-n", "2", "-o", "page.html")
    with closing(chromium.new_context(viewport={"width": 390, "height": 500})) as context:
        page = context.new_page()
        page.goto((tmp_path / "page.html").as_uri())
        page.wait_for_selector("main > *")
        shown = page.text_content("main")
        assert all(words in shown for words in ("Why is the sky blue?", "Air scatters light."))
        assert "- " not in shown
        assert "1 mark that points at no passage" in page.text_content("#page")
        box = page.get_by_role("button", name="no support").bounding_box()
        assert box["y"] + box["height"] <= 500  # in sight, however long the source
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.get_by_label("Comment (optional)").fill("=which light?")
        page.get_by_role("button", name="no support").click()
        assert page.locator(".done").count() == 0
        page.get_by_role("button", name="full support").click()
        page.get_by_role("button", name="Previous").click()
        assert page.get_by_label("Comment (optional)").input_value() == "=which light?"
        assert "Done: all 2 are labelled." in page.text_content(".done")
        with page.expect_download() as download:
            page.locator(".done button").click()
        download.value.save_as("saved.csv")
    saved = csv_rows(Path("saved.csv"))
    assert [row["comment"] for row in saved] in (["'=which light?", ""], ["", "'=which light?"])
    ran("estimate", "answers.jsonl", "--labels", "saved.csv", "-m", "overlap")
