"""The explorer in a real browser: what a reader does on the page, and what a hostile text cannot do there."""

import csv
import io
import json
import re
import shutil

import numpy as np
import pytest
from scipy.stats import rankdata

from tests.cli.samples import lines_of, write_lines

QUICK = ("-s", "interval.resamples=20", "-s", "comparison.permutations=20")


@pytest.fixture(scope="module")
def left():
    """Tabs that tests have left, empty again: a new one takes a browser as long as a page in it."""
    return []


@pytest.fixture
def open_page(chromium, left):
    """Open a page from disk; at the end nothing was said in the console and nothing asked of a network."""
    said, asked, usual, others = [], [], [], []
    hears = {
        "console": lambda message: said.append(message.text),
        "pageerror": lambda error: said.append(str(error)),
        "dialog": lambda dialog: (said.append("a dialog"), dialog.dismiss()),
        "request": lambda request: asked.append(request.url),
    }

    def tab(width=1280, **settings):
        page = chromium.new_context(viewport={"width": width, "height": 900}, **settings).new_page()
        page.set_default_timeout(120_000)
        return page

    def opened(path, view="", **settings):
        page = left.pop() if left and not settings else tab(**settings)
        (others if settings else usual).append(page)
        for event, heard in hears.items():
            page.on(event, heard)
        page.goto(f"{path.as_uri()}#{view}")
        page.wait_for_selector("main > *")
        return page

    yield opened
    for page in others:
        page.context.close()
    for page in usual:
        page.evaluate("localStorage.clear()")
        page.goto("about:blank")
        for event, heard in hears.items():
            page.remove_listener(event, heard)
    left += usual
    assert not said
    assert {url.partition(":")[0] for url in asked} <= {"file", "blob"}
    assert all(".html" in url for url in asked if url.startswith("file"))


@pytest.fixture(scope="module")
def mini(scored_folder):
    """The folder of a job on the shipped corpus, and its explorer."""
    from metaeval.core.config import load_run
    from metaeval.explorer.page_data import View, view_page
    from metaeval.runs.evaluate import run
    from metaeval.runs.job import find_job, write_run

    folder = scored_folder("view")
    settings = {"interval": {"resamples": 20}, "comparison": {"permutations": 20}, "results": folder}
    config = load_run(None, {**settings, "metrics": ["overlap", "rouge"]})
    write_run(config, run(config))
    (folder / "view.html").write_text(view_page(["latest"], folder, folder / "view.html", View())[0])
    job = find_job(folder, "latest").folder
    rows = lines_of(job / "pairs.jsonl")
    return folder / "view.html", rows[0], rows[1:]


def state(page):
    """What stands in the address."""
    return dict(part.split("=", 1) for part in page.evaluate("location.hash").lstrip("#").split("&") if part)


def count(page):
    """The number of pairs in the list."""
    return int(page.locator(".scatter-panel p").first.inner_text().split(" ")[0].replace(",", ""))


@pytest.mark.slow
def test_the_overview_has_the_tables_numbers_and_sentences(open_page, mini):
    page = open_page(mini[0])
    assert page.locator(".findings li").count() >= 2
    written = json.loads(next(mini[0].parent.glob("*/classification.json")).read_text())
    values = {row["metric"]: row["values"]["fs_ns"]["value"] for row in written["rows"]}
    lines = [line for line in page.locator("tbody tr").all_text_contents() if line.startswith("rouge")]
    assert any(f"{100 * values['rouge']:.1f}" in line for line in lines)
    page.locator(".multiple button", has_text="rouge").click()
    assert state(page) == {"view": "pairs", "a": "rouge"}


def test_it_links_to_the_report_below_it_and_to_none_elsewhere(open_page, mini, ran, tmp_path):
    folder = tmp_path / "javascript:alert(1) #<b>"
    shutil.copytree(mini[0].parent, folder)
    ran("view", "--results", str(folder), "-o", str(folder / "view.html"))
    page = open_page(folder / "view.html")
    page.get_by_role("link", name="Report").click()
    page.wait_for_url("**/report.html")
    assert "Metrics against demo labels" in page.content()
    ran("view", "--results", str(folder), "-o", str(tmp_path / "elsewhere" / "view.html"))
    assert open_page(tmp_path / "elsewhere" / "view.html").get_by_role("link", name="Report").count() == 0


@pytest.mark.slow
def test_filters_presets_search_and_the_permalink(open_page, mini):
    _, head, rows = mini
    page = open_page(mini[0], "view=pairs")
    assert count(page) == len(rows)
    page.get_by_role("checkbox", name="none").uncheck()
    supported = [row for row in rows if row["level"] != 0]
    assert count(page) == len(supported)
    # Thresholds of the cards: overlap 0.63, rouge 0.48; supported is full support.
    a, b = (head["columns"].index(name) for name in ("overlap", "rouge"))
    page.get_by_label("Show", exact=True).select_option("a-right")
    expected = [
        row
        for row in supported
        if ((row["scores"][a] >= 0.63) == (row["level"] == 2)) and ((row["scores"][b] >= 0.48) != (row["level"] == 2))
    ]
    assert count(page) == len(expected) < len(supported)
    page.get_by_label("Show", exact=True).select_option("full-low")
    lowest = min(row["scores"][a] for row in rows if row["level"] == 2)
    assert f"A {lowest:.3f}" in page.locator(".row").first.inner_text()
    word = page.locator(".statement").inner_text().split()[-1].strip(".")
    page.get_by_label("Search").fill(word)
    found = count(page)
    assert 0 < found < len(supported)
    assert all(word.lower() in text.lower() for text in page.locator(".reader .text").all_inner_texts()[:1])
    link = page.url
    other = open_page(mini[0], link.partition("#")[2])
    assert count(other) == found
    assert other.locator(".statement").inner_text() == page.locator(".statement").inner_text()


@pytest.mark.slow
def test_it_opens_on_disagreement_with_one_pair_of_each_statement(open_page, mini):
    _, head, rows = mini
    page = open_page(mini[0], "view=pairs")
    assert page.get_by_label("Show", exact=True).input_value() == "apart"
    page.wait_for_selector(".row")
    shown = [
        int(name.removeprefix("pair-")) for name in page.locator(".row").evaluate_all("all => all.map(one => one.id)")
    ]
    a, b = (rankdata([row["scores"][head["columns"].index(name)] for row in rows]) for name in ("overlap", "rouge"))
    order = sorted(range(len(rows)), key=lambda row: -abs(a[row] - b[row]))
    first = list({rows[row]["statement"]: row for row in reversed(order)}.values())
    assert shown == sorted(first, key=order.index)[: len(shown)]
    # The others of the statement that is read are below its text.
    others = sum(row["statement"] == rows[shown[0]]["statement"] for row in rows) - 1
    assert f"More of this statement ({others})" in page.locator(".reader summary").all_inner_texts()
    page.locator(".list").focus()
    page.keyboard.press("End")
    assert count(page) == len(rows)
    partial = next(row for row in rows if row["level"] == 1)
    read = open_page(mini[0], f"view=pairs&pair={partial['id']}")
    assert "labelled partial" in read.inner_text(".scores >> nth=0")
    assert "against the label" not in read.inner_text(".scores >> nth=0")


@pytest.mark.slow
def test_brushing_and_the_threshold(open_page, mini):
    _, head, rows = mini
    page = open_page(mini[0], "view=pairs")
    frame = page.locator("canvas").bounding_box()
    x, y, width, height = (frame[key] for key in ("x", "y", "width", "height"))
    page.mouse.move(x + 47, y + 36)
    page.mouse.down()
    page.mouse.move(x + width * 0.5, y + height * 0.8, steps=3)
    page.mouse.up()
    low_a, high_a, low_b, high_b = map(float, state(page)["box"].replace("%2C", ",").split(","))
    a, b = (head["columns"].index(name) for name in ("overlap", "rouge"))
    inside = [row for row in rows if low_a <= row["scores"][a] <= high_a and low_b <= row["scores"][b] <= high_b]
    assert count(page) == len(inside) < len(rows)
    page.get_by_role("button", name="Clear the box").click()
    page.get_by_label("Threshold of A").fill("0.3")
    cells = page.locator(".reading").first.locator("td").all_inner_texts()[1:]
    said = [(row["scores"][a] >= 0.3, row["level"] == 2) for row in rows]
    expected = [said.count(pair) for pair in ((True, True), (True, False), (False, True), (False, False))]
    assert [int(cell.replace(",", "")) for cell in cells] == expected


@pytest.mark.slow
def test_keys_go_through_the_pairs_and_marks_are_where_the_words_are(open_page, mini):
    page = open_page(mini[0], "view=pairs&preset=full-low&marks=overlap")
    first = page.locator(".statement").inner_text()
    page.keyboard.press("j")
    second = page.locator(".row[aria-selected=true]")
    assert second.get_attribute("aria-posinset") == "2"
    page.keyboard.press("k")
    assert page.locator(".statement").inner_text() == first
    page.locator(".list").focus()
    page.keyboard.press("End")
    last = page.locator(".row[aria-selected=true]")
    assert last.get_attribute("aria-posinset") == last.get_attribute("aria-setsize")
    statement = {word.lower() for word in page.locator(".statement .used").all_inner_texts()}
    source = {word.lower() for word in page.locator(".text:not(.statement) .used").all_inner_texts()}
    assert statement == source != set()
    assert page.locator(".evidence").count() > 0


@pytest.mark.slow
def test_blind_labels_are_a_corpus_that_a_run_takes(open_page, mini, ran, tmp_path):
    page = open_page(mini[0], "view=label")
    shown = page.locator(".labelling").inner_text()
    assert not any(name in shown for name in ("overlap", "rouge"))
    texts = []
    for key in "3213":
        texts.append(page.locator(".text").all_inner_texts())
        page.keyboard.press(key)
    page.keyboard.press("k")
    page.keyboard.press("0")
    assert "3 labelled" in page.get_by_role("status").inner_text()
    page.get_by_label("Your name").fill("=a")
    saved = {}
    for kind in ("JSONL", "CSV"):
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Save labels as {kind}").click()
        download.value.save_as(tmp_path / f"labels.{kind.lower()}")
        saved[kind] = (tmp_path / f"labels.{kind.lower()}").read_text()
    rows = [json.loads(line) for line in saved["JSONL"].splitlines()]
    by_id = {row["id"]: row for row in rows[1:]}
    levels = [
        (by_id[row["statement"]]["text"], by_id[row["document"]]["text"], row["level"])
        for row in rows
        if row["type"] == "citation"
    ]
    assert sorted(levels) == sorted(
        (statement, source, level)
        for (statement, source), level in zip(texts, ("full", "partial", "none"), strict=False)
    )
    assert [row[2] for row in csv.reader(io.StringIO(saved["CSV"]))] == ["labelled_by", *["'=a"] * 3]
    ran("data", "validate", tmp_path / "labels.jsonl")


@pytest.mark.slow
@pytest.mark.parametrize("view", ["overview", "pairs", "pools", "label"])
def test_on_a_telephone_in_the_dark_and_on_paper(open_page, mini, view):
    page = open_page(mini[0], f"view={view}", width=390, color_scheme="dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(ground) == "rgb(23, 23, 26)"
    page.emulate_media(media="print")
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    assert not page.locator("nav").is_visible()


def test_hostile_texts_are_texts(open_page, hostile, ran, named_corpus, tmp_path):
    data = ("-d", "jsonl", "--data", named_corpus(f"{hostile.TOGETHER} <img src=x onerror=alert(1)>"))
    ran("run", "-m", "overlap,rouge", *QUICK, *data, "-s", "chunk.size=7")
    ran("view", "latest")
    for view in ("overview", "pairs", "pools", "label"):
        page = open_page(tmp_path / "view.html", f"view={view}")
        shown = page.locator("body").inner_text()
        hostile.check_stream(shown.replace("\nforged line", ""))
        assert page.locator("img").count() == 0
        links = page.locator("a[href]").evaluate_all("links => links.map((one) => one.getAttribute('href'))")
        (report,) = tmp_path.glob("results/*-*/report.html")
        assert links == [f"./{report.relative_to(tmp_path)}"]
        assert page.evaluate("[...document.scripts].filter(one => !one.type).length") == 1
    assert "<script>alert(1)</script>" in shown


PASSAGES = [{"title": "Oder", "text": "The Oder is long. 🙂"}, {"title": "Rhine", "text": "The Rhine is deep."}]
ANSWER = {
    **{"id": "a<b>", "system": "s", "question": "Rivers?", "passages": PASSAGES},
    "text": "🙂 The Oder is long [1]. The Rhine is shallow and cold [2]. Nobody swims.",
}


def test_answers_are_coloured_by_each_backends_verdicts(open_page, ran, refused, tmp_path):
    write_lines(tmp_path / "answers.jsonl", [ANSWER])
    ran("cite", "alce", "answers.jsonl", "--nli", "overlap,rouge", "-q")
    ended = ran("view")
    assert ": 1 answer\n" in ended.out
    page = open_page(tmp_path / "view.html")
    body = page.locator(".reader .text").nth(1)
    assert body.inner_text() == ANSWER["text"]
    # Overlap finds oder and long in the first passage, and of rhine, shallow and cold one word in the second.
    assert body.locator(".claim-supported").first.inner_text() == "🙂 The Oder is long "
    assert body.locator(".claim-not").first.inner_text() == "The Rhine is shallow and cold "
    assert body.locator(".claim-uncited").inner_text() == "Nobody swims."
    assert body.locator(".mark.precise").inner_text() == "[1]"
    body.locator(".mark.precise").click()
    assert page.locator("#passage-1 .text").inner_text() == PASSAGES[0]["text"]
    assert page.locator(".claims tbody tr").count() == 3
    (tmp_path / "answers.jsonl").unlink()
    assert "answers.jsonl are missing: restore the file" in refused("view")


def test_facts_and_rated_statements_are_coloured_with_what_the_judge_replied(
    open_page, fake, hostile, ran, own_environment, tmp_path
):
    write_lines(tmp_path / "answers.jsonl", [ANSWER])
    ran("cite", "scifi", "answers.jsonl", "--nli", "overlap,rouge", "-q")
    ran("view")
    page = open_page(tmp_path / "view.html")
    body = page.locator(".reader .text").nth(1)
    assert body.inner_text() == ANSWER["text"]
    rows = lines_of(next(tmp_path.rglob("per-facts-overlap.jsonl")))
    verdicts = page.locator(".claims tbody tr td:nth-of-type(2) > span").all_inner_texts()
    expected = {None: "○ without a citation", True: "✓ supported", False: "✗ not supported"}
    assert verdicts == [expected[None if row["value"] is None else row["value"] >= 0.5] for row in rows]
    assert {verdict[0] for verdict in verdicts} == {"✓", "✗", "○"}
    body.locator(".mark").nth(1).click()
    assert page.locator("#passage-2 .text").inner_text() == PASSAGES[1]["text"]

    def judge(body):
        if "cites=" not in body["messages"][0]["content"].rpartition("</passages>")[2]:
            entries = [{"id": n, "thinking": hostile.TOGETHER, "context": "retrieval"} for n in (1, 2, 3)]
        else:
            edits = [{"action": "delete", "citation": 2, "reason": "misleading"}]
            entries = [{"id": n, "thinking": "", "edits": edits if n == 2 else [], "rating": 7 - 3 * n} for n in (1, 2)]
        return json.dumps({"statements": entries})

    with fake.ChatServer(answer=judge) as server:
        asked = ("--model", "tiny", "--base-url", server.url, "-s", "chat.backoff=0.01", "--nli", "overlap")
        ran("cite", "citeeval", "answers.jsonl", *asked, "-q")
    ran("view")
    page = open_page(tmp_path / "view.html")
    assert page.get_by_label("Verdicts of").locator("option").all_inner_texts() == ["CiteEval", "AutoAIS, overlap"]
    cells = page.locator(".claims tbody tr").nth(1).locator("td").all_inner_texts()
    assert cells[0] == "[2]"
    assert "✗ not supported" in cells[1]
    assert "1 of 5 stars" in cells[1]
    replies = page.locator(".reply")
    assert replies.count() == 2
    assert '"rating": 4' in "".join(replies.all_text_contents())
    hostile.check_stream(page.locator("body").inner_text().replace("\nforged line", ""))


def test_ratings_are_held_against_the_humans(open_page, hostile, ran, tmp_path):
    rows = [
        {
            **{"id": f"r{place}{system}", "group": f"g{place}", "system": system, "gold": gold, "annotator_a": gold},
            **{"source": f"The tower is {place} m tall.", "claim": f"It is {place} m.", "note": hostile.TOGETHER},
            **{"mine": mine, **other},
        }
        for place in range(8)
        for system, gold, mine, other in (
            ("one", 1 + place % 2, place / 20, {}),
            ("two", 3, 0.5, {"other": 0.4}),
            ("three", 5, 0.9 + place / 100, {"other": 0.2}),
        )
    ]
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert ", view " in ran("evaluate", "-d", "ratings", "--data", "mine.jsonl", *QUICK).out
    (tmp_path / "mine.jsonl").rename(tmp_path / "moved.jsonl")
    ended = ran("view", "latest", "--data", "moved.jsonl")
    assert ended.out.startswith("moved, all, ratings: 24 ratings\n")
    assert "What was judged" not in ended.err
    page = open_page(tmp_path / "view.html", "view=pairs")
    shown = page.inner_text(".confusions")
    # No threshold of its own: that of best F1 on these data. The eight rated 5 score from 0.90, the others to 0.5.
    assert "from 0.900\t8\t0" in shown
    assert "best F1 on these data" in page.inner_text(".sliders")
    assert "AUC of this selection: high : low 100.0, high : middle 100.0" in shown
    assert page.inner_text(".filters .levels").startswith("Human rating (low: below 2.33, high: above 3.67)")
    page.get_by_label("Show").select_option("none-high")
    assert count(page) == 8
    read = page.inner_text(".reader")
    for words in ("low", "r7one", "rated 2", "It is 7 m.", "Source, group g7", "The tower is 7 m tall.", "annotator_a"):
        assert words in read
    hostile.check_stream(read.replace("\nforged line", ""))
    page.get_by_label("Show").select_option("unscored")
    assert count(page) == 0
    page.locator(".filters select").first.select_option("other")
    assert count(page) == 8
    pools = open_page(tmp_path / "view.html", "view=pools")
    assert pools.locator(".pools .pool").count() == 8
    first, *_ = pools.locator(".orders li button").all_inner_texts()
    assert first.splitlines() == ["high", " gain 5, three"]


def test_a_judges_replies_stand_beside_its_scores(open_page, fake, ran, own_environment, write_corpus, tmp_path):
    with fake.ChatServer(answer=lambda body: f"<b>Because</b>.\n{fake.judge(body)}") as server:
        asked = ("-s", f"metric_options.llm-discrete.base_url={server.url}", "-s", "chunk.size=7")
        ran("run", "-m", "llm-discrete", *QUICK, *asked, "-d", "jsonl", "--data", write_corpus())
    ran("view", "-s", "trust_config=true")  # the manifest names an address, which is not asked
    page = open_page(tmp_path / "view.html", "view=pairs")
    reply = page.locator(".reply")
    reply.wait_for()
    level = page.locator(".score b").first.inner_text()
    assert reply.inner_text().startswith("<b>Because</b>.\nThe citation holds ")
    assert float(reply.inner_text().rpartition("Prediction: ")[2]) == float(level)


def test_python_writes_the_page_that_the_command_writes(mini, ran, refused, tmp_path):
    import metaeval
    from metaeval.core.errors import UserError

    job = next(mini[0].parent.glob("mini-*"))
    ran("view", job, "--max-pairs", 40, "--explain", "overlap", "-o", "typed.html")
    path = metaeval.view(str(job), output=tmp_path / "made.html", max_pairs=40, explain="overlap")
    assert path.read_bytes() == (tmp_path / "typed.html").read_bytes()
    with pytest.raises(UserError, match=r"^max_pairs is 0"):
        metaeval.view(str(job), max_pairs=0)
    assert "Unknown metric of the job 'half'" in refused("view", job, "--explain", "half")
    assert "results has no job yet" in refused("view")


def test_a_model_explains_pairs_together_as_it_does_alone_and_says_how_far_it_is(ran, write_corpus, tmp_path):
    pytest.importorskip("torch", reason="needs the extra 'models'")
    from metaeval.explorer.page_data import View, view_page
    from metrics_zoo.minilm import MiniLMBERTScore

    told = []
    data = ("-d", "jsonl", "--data", write_corpus(), "-s", "chunk.size=7")
    ran("run", "-m", "minilm-bertscore", *QUICK, *data)
    wanted = View(explain=("minilm-bertscore",), progress=lambda *given: told.append(given))
    view_page(["latest"], tmp_path / "results", tmp_path / "view.html", wanted)
    assert told == [("explaining minilm-bertscore", 0, 27), ("explaining minilm-bertscore", 27, 27)]
    metric = MiniLMBERTScore()
    pairs = [("The river was quiet.", "It was loud."), ("Ships carry coal to the sea.", "Coal."), ("-", "")]
    for together, (source, statement) in zip(metric.explain_all(pairs), pairs, strict=True):
        alone = metric.explain(source, statement)
        assert [span[:3] for span in together] == [span[:3] for span in alone]
        assert [span.weight for span in together] == pytest.approx([span.weight for span in alone], abs=1e-5)


OWN = """
from metaeval import Metric, MetricCard, PairScore, Status


class Half(Metric):
    card = MetricCard(name="half", family="lexical", summary="reads half", paper="none", licence="mine", low=0)

    def score(self, sources, statements):
        return [self.one(source) for source in sources]

    def one(self, source):
        if len(source) % 2:
            return PairScore(None, Status.TOO_LONG)
        return PairScore(float(len(source)), tokens=len(source), cut=len(source) // 2)
"""


def test_what_was_cut_or_has_no_score_is_shown_of_a_metric_of_ones_own(open_page, ran, write_corpus, tmp_path):
    (tmp_path / "own_half.py").write_text(OWN)
    ran("run", "-m", "own_half:Half", *QUICK, "-d", "jsonl", "--data", write_corpus(), "-s", "chunk.size=7")
    ran("view")
    rows = lines_of(next(tmp_path.rglob("pairs.jsonl")))[1:]
    cut = [row["cut"]["own_half:Half"] for row in rows if "cut" in row]
    page = open_page(tmp_path / "view.html", "view=pairs&preset=cut")
    assert count(page) == len(cut) > 0
    assert f"{max(cut)} tokens cut" in page.locator(".score").first.inner_text()
    other = open_page(tmp_path / "view.html", "view=pairs&preset=unscored")
    assert count(other) == sum("missing" in row for row in rows) > 0
    assert "no score: too long" in other.locator(".score").first.inner_text()
    # Where a candidate has no score there is no NDCG, and no difference of two: such statements stand last.
    pools = open_page(tmp_path / "view.html", "view=pools")
    gaps = [text.split()[0] for text in pools.locator(".pools .pool").all_inner_texts()]
    assert "–" in gaps
    assert gaps == sorted(gaps, key=lambda gap: -1 if gap == "–" else abs(float(gap)), reverse=True)


def test_every_run_of_a_folder_is_on_one_page(open_page, mini, ran, tmp_path):
    shutil.copytree(mini[0].parent, tmp_path / "r")
    words = ("run", "-m", "overlap", "-p", "correlation", "-s", "controls=false", "-s", "interval.resamples=20", "-q")
    ran(*words, "--results", str(tmp_path / "r"))
    ran("view", "--all", "--results", str(tmp_path / "r"), "-o", str(tmp_path / "all.html"))

    page = open_page(tmp_path / "all.html")
    folders = sorted(path.parent.name for path in (tmp_path / "r").glob("mini-*/pairs.jsonl"))
    assert len(folders) == 2
    names = page.locator("header select").first.locator("option").all_text_contents()
    assert sorted(names) == [f"mini, all, chunk pairs ({folder})" for folder in folders]

    lines = page.locator("section[aria-label=Runs] tr")
    cells = {line.locator("th").first.inner_text(): line.locator("td").all_inner_texts() for line in lines.all()}
    assert lines.first.locator("button").all_inner_texts() == [name.partition("(")[2].rstrip(")") for name in names]
    assert [sorted(cells[key]) for key in ("controls", "metrics")] == [["False", "True"], ["overlap", "overlap, rouge"]]
    assert cells["rows"] == [f"{len(mini[2]):,}"] * 2
    assert "interval.seed" not in cells, "both runs have it"
    for measure in ("Pearson", "mean ROC-AUC"):
        page.get_by_label("Measure").select_option(measure)
        line = lines.filter(has=page.get_by_role("rowheader", name="overlap", exact=True))
        values = [text.split("\n")[0] for text in line.locator("td").all_inner_texts()]
        assert values.count("–") == 1, f"the other run has no {measure}"
        assert re.fullmatch(r"[0-9.]+", min(values))


@pytest.mark.slow
def test_a_named_slice_is_kept_compared_between_runs_and_taken_to_another_page(open_page, mini, tmp_path):
    from sklearn.metrics import roc_auc_score

    page = open_page(mini[0], "view=pairs")
    page.locator(".filters summary", has_text="More").click()
    page.get_by_label("Fewest words of the statement").fill("18")
    page.get_by_label("Name of a slice").fill("<b>long</b>")
    page.get_by_role("button", name="Save as a slice").click()
    kept = count(page)
    page.get_by_role("tab", name="Slices").click()
    table = page.locator("section[aria-label=Slices] table")
    table.wait_for()
    lines = {
        line.locator("th").first.inner_text(): [text.split("\n")[0] for text in line.locator("td").all_inner_texts()]
        for line in table.locator("tr").all()
    }
    assert table.locator("thead th").all_inner_texts() == ["", "<b>long</b>", "all pairs"]
    assert lines["pairs"] == [f"{kept:,}", f"{len(mini[2]):,}"]
    assert 0 < kept < len(mini[2])
    scores = [row["scores"][mini[1]["columns"].index("overlap")] for row in mini[2]]
    assert lines["overlap"][1] == f"{roc_auc_score([row['level'] == 2 for row in mini[2]], scores):.3f}"
    full = sum(row["level"] == 2 for row in mini[2])
    assert lines["full"][1] == f"{100 * full / len(mini[2]):.1f} %"

    with page.expect_download() as saved:
        page.get_by_role("button", name="Save the slices as JSON").click()
    saved.value.save_as(tmp_path / "slices.json")
    assert json.loads((tmp_path / "slices.json").read_text()) == [{"name": "<b>long</b>", "least": "18"}]
    page.get_by_role("button", name="Delete").click()
    assert page.locator(".slices li").count() == 0
    (tmp_path / "wrong.json").write_text('[{"names": 1}]')
    page.get_by_label("Read slices from a file").set_input_files(tmp_path / "wrong.json")
    page.locator("section[aria-label=Slices] [role=alert]", has_text="holds no slices").wait_for()
    page.get_by_label("Read slices from a file").set_input_files(tmp_path / "slices.json")
    page.get_by_role("button", name="Show").click()
    assert count(page) == kept


def test_a_judges_false_passes_and_fails_are_slices(open_page, ran, tmp_path):
    people, judge = (np.random.default_rng(seed).random(60) < 0.5 for seed in (1, 2))
    lines = [["id", "statement", "label", "judge"]]
    words = np.where(people, "pass", "fail"), np.where(judge, "yes", "no")
    lines += [[n, f"text {n}", *row] for n, row in enumerate(zip(*words, strict=True))]
    (tmp_path / "mine.csv").write_text("".join(",".join(map(str, line)) + "\n" for line in lines))
    ran("evaluate", "-d", "ratings", "--data", "mine.csv", "-p", "verdicts", *QUICK)
    ran("view", "-o", "view.html")
    page = open_page(tmp_path / "view.html", "view=slices")
    names = page.locator(".slices b").all_inner_texts()
    assert names == ["false passes of judge", "false fails of judge"]
    for name, wrong in zip(names, (judge & ~people, people & ~judge), strict=True):
        page.get_by_role("tab", name="Slices").click()
        page.locator(".slices li", has_text=name).get_by_role("button", name="Show").click()
        assert count(page) == wrong.sum()
