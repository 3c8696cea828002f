"""The page of the reference results: rules of its answers by hand, and what Chromium shows of its cells."""

import json
import re
from pathlib import Path

import pytest

from metaeval.report.reference_answers import BUDGETS, TASKS, answers
from metaeval.report.reference_page import OF_SET, SHOWN, observatory
from metaeval.runs.reference_cells import OF_CELL, OF_TEST, read_cells
from tests.report.edges import shaded_edges

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "results" / "reference"


def cell(name, metric, value, **fields):
    """A cell of a metric among others, in English, unless the fields say more."""
    usual = {
        **{"set": name, "title": name.title(), "dataset": name, "split": "test", "unit": "page", "language": "en"},
        **{"measure": "ps_ns", "kind": "metric", "metric": metric, "pack": metric, "version": "1"},
        **{"value": str(value), "low": str(value - 0.05), "high": str(value + 0.05), "n": "90", "groups": "40"},
        **{"effective": "35", "common_rows": "90", "common_value": str(value), "best": "yes", "alone": "no"},
        **{"above_controls": "yes", "needs": "cpu", "seconds_per_1000": "1", "commercial": "yes", "licence": "MIT"},
        **{"rank_low": "1", "rank_high": "2", "date": "2026-01-02", "data": "0123456789abcdef", "metaeval": "0.1.0"},
    }
    return {**dict.fromkeys(OF_CELL, ""), **usual, **fields}


def test(name, one, other, difference, holm):
    fields = {"set": name, "measure": "ps_ns", "one": one, "other": other, "difference": difference, "holm": holm}
    return {**dict.fromkeys(OF_TEST, ""), **{key: str(value) for key, value in fields.items()}}


test.__test__ = False


def answer(cells, tests, budget="api", task="ps_ns", language="en"):
    (one,) = [
        each for each in answers(cells, tests) if (each.task, each.language, each.budget) == (task, language, budget)
    ]
    return one


def test_metrics_are_named_that_are_nowhere_significantly_worse_than_the_best_the_cheapest_first():
    cells = [
        *(cell("north", "slow", 0.9, seconds_per_1000="9"), cell("north", "fast", 0.8), cell("north", "poor", 0.6)),
        *(cell("south", "slow", 0.7, seconds_per_1000="9"), cell("south", "fast", 0.8), cell("south", "poor", 0.6)),
    ]
    tests = [
        *(test("north", "slow", "fast", 0.1, 0.2), test("north", "slow", "poor", 0.3, 0.01)),
        *(test("south", "slow", "fast", -0.1, 0.3), test("south", "poor", "fast", -0.2, 0.05)),
    ]

    one = answer(cells, tests)

    assert (one.metrics, one.headline) == (["fast", "slow"], "fast or slow")
    assert one.why[0] == (
        "In 2 columns of the table (North and South), fast and slow are never significantly worse than the best metric "
        "within this budget."
    )
    assert one.why[2:] == (
        "North: slow has the highest value; fast is not significantly different.",
        "South: fast has the highest value; slow is not significantly different.",
    )
    assert one.limits == ("Which metric is best on your data: label some of them.",)
    assert answer([each for each in cells if each["set"] == "north"], tests).limits[0] == (
        "For English, this task has one data set (North): others may give another answer."
    )


def test_a_budget_takes_the_others_away_before_the_best_is_sought():
    cells = [cell("north", "judge", 0.9, needs="api"), cell("north", "fast", 0.7), cell("north", "poor", 0.6)]
    tests = [test("north", "judge", other, 0.2, 0.001) for other in ("fast", "poor")]
    tests.append(test("north", "fast", "poor", 0.1, 0.04))

    assert [answer(cells, tests, budget).headline for budget in BUDGETS] == ["fast", "fast", "fast", "judge"]
    assert (
        answer(cells, tests).why[-1]
        == "North: judge has the highest value, and every other metric is significantly worse."
    )


def test_where_none_is_always_among_the_best_the_answer_says_how_often():
    cells = [
        cell(name, metric, value)
        for name, of in (("north", (0.9, 0.6)), ("south", (0.6, 0.9)))
        for metric, value in zip("ab", of, strict=True)
    ]
    tests = [test("north", "a", "b", 0.3, 0.01), test("south", "a", "b", -0.3, 0.01)]
    assert answer(cells, tests).why[0].endswith("no metric is always among the best; a and b most often (50 %).")


def test_it_says_what_the_data_cannot_tell():
    fields = {"effective": "12", "above_controls": "no", "commercial": "no", "fitted_on": "north/dev"}
    cells = [cell("north", "a", 0.9, **fields), cell("north", "b", 0.8, **fields)]
    cells += [cell(name, metric, 0.8) for name in ("east", "west") for metric in "ac"]

    one = answer(cells, [])

    assert (one.metrics, one.headline) == (["a", "c"], "a or c")
    assert one.why[0] == (
        "In 3 columns of the table (North, East and West), no metric is significantly worse than the best: the data do "
        "not decide, and a is the cheapest."
    )
    decided = answer(cells, [test("north", "a", "b", 0.1, 0.01)]).why[0]
    assert decided.endswith(
        "a and c (scored in 2) are never significantly worse than the best metric within this budget; in 2 of them, no "
        "metric is."
    )
    assert one.limits == (
        "No metric is significantly worse than the best in North, East and West: these do not decide.",
        "Intervals rest on fewer than 30 effective groups, and may be too narrow: 12 in North.",
        "None of them is significantly better than every control, such as length or shared words, in North.",
        "a was fitted on other parts of some of these data.",
        "Compared in at most half of the columns, and not ranked here: b.",
        "Data or metrics behind North are not for commercial use (NC in the table).",
        "Which metric is best on your data: label some of them.",
    )


def test_one_metric_alone_and_stale_ones_answer_nothing():
    cells = [cell("north", "a", 0.9, alone="yes", best=""), cell("south", "b", 0.9, stale="other data", best="")]
    assert answer(cells, []).headline == "The data do not say."
    assert {one.task for one in answers(cells, [])} == set(TASKS)


def payload(page):
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    return json.loads(text)


def test_the_page_holds_the_cells_of_the_files_and_their_answers():
    kept = read_cells(KEPT)
    page = (KEPT / "index.html").read_text(encoding="utf-8")
    assert page == observatory(*kept), "type: metaeval results reference --data FOLDER"
    data = payload(page)
    assert data["cells"] == [[row[name] for name in SHOWN] for row in kept.cells]
    assert data["sets"] == {row["set"]: {name: row[name] for name in OF_SET} for row in kept.cells}
    assert "http:" not in re.sub("http://www.w3.org/2000/svg", "", page)
    assert "src=" not in page
    assert page.count('data-packs="packs/"') == 1, "docs/conf.py puts the packs beside its copy"


HOSTILE = "</script><img src=x onerror=alert(1)>\u202e"


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Writes a page to disk: its address."""

    def write(cells, tests=()):
        path = tmp_path_factory.mktemp("page") / "index.html"
        path.write_text(observatory(cells, tests), encoding="utf-8")
        return path.as_uri()

    return write


@pytest.fixture
def opened(chromium):
    """Opens an address without a network, and fails on an error of the page."""
    contexts, errors = [], []

    def open_page(address, width=1200, height=900, **more):
        contexts.append(chromium.new_context(viewport={"width": width, "height": height}, offline=True, **more))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text))
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert errors == []


def test_a_phone_shows_the_answer_on_its_first_screen(opened):
    page = opened((KEPT / "index.html").as_uri(), 390, 844)
    answer_box, kept = page.locator("#answer"), read_cells(KEPT)
    assert answer_box.bounding_box()["y"] + answer_box.bounding_box()["height"] < 844
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator(".headline").inner_text() == answer(*kept).headline
    drawn = "document.querySelector('#plot svg')"
    assert page.evaluate(f"{drawn}.getBoundingClientRect().width / {drawn}.viewBox.baseVal.width") == 1, "small letters"
    page.select_option("#task", "kendall")
    page.select_option("#budget", "cpu")
    assert page.locator(".headline").inner_text() == answer(*kept, "cpu", "kendall").headline
    assert page.locator("#why").inner_text() == answer(*kept, "cpu", "kendall").why[0]


def test_the_table_is_shaded_where_more_follows(opened):
    page = opened((KEPT / "index.html").as_uri(), 390, 844, color_scheme="light")
    # The column of names stays at the left, over the shadow there.
    assert [right for _, right in shaded_edges(page, "#table")] == [True, False]


def test_the_table_shows_the_values_of_the_file(opened):
    page = opened((KEPT / "index.html").as_uri())
    kept = [
        row
        for row in read_cells(KEPT).cells
        if (row["measure"], row["kind"], row["language"]) == ("fs_ps", "metric", "en")
    ]
    page.select_option("#task", "fs_ps")
    assert page.locator("tbody tr").count() == len({row["metric"] for row in kept})
    assert page.locator("tbody td[aria-label]").count() == len(kept)
    labels = page.locator("tbody td[aria-label]").evaluate_all("all => all.map((one) => one.ariaLabel)")
    for row in kept:
        start = f"{row['metric']} on {row['title']}: {100 * float(row['value']):.1f} ("
        assert [label for label in labels if label.startswith(start)], start
    assert page.locator("tbody td.best").count() == sum(row["best"] == "yes" for row in kept)


def test_keys_move_sort_and_show_details(opened, pages):
    cells = [cell("north", "a", 0.9), cell("north", "b", 0.8), cell("south", "a", 0.5), cell("south", "b", 0.7)]
    page = opened(pages(cells), color_scheme="dark")
    page.locator("td[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    told = page.locator("#detail").inner_text()
    assert "b on South: 70.0 (95 % 65.0 to 75.0), 90 rows, 40 groups (35 effective)" in told
    assert "rank 1 to 2 on the 90 rows that all metrics scored; significantly better than every control" in told
    first = "tbody tr:first-child th"
    page.locator("#sort-south").focus()
    page.keyboard.press("Enter")
    assert page.locator(first).inner_text() == "b"
    assert page.locator("th[aria-sort=descending]").inner_text().startswith("South")
    page.keyboard.press("Enter")
    assert page.locator(first).inner_text() == "a"
    assert page.locator("#plot .rank").count() == 2
    assert page.locator("#plot .line").first.get_attribute("aria-label").endswith("(35 effective), rank 1 to 2")
    page.keyboard.press("Escape")
    assert page.locator("#detail").inner_text() == ""
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(23, 23, 26)"


def test_the_best_control_may_be_a_metric(opened, pages):
    cells = [
        *(cell("north", "a", 0.9), cell("north", "overlap", 0.813, control="lexical", above_controls="")),
        cell("north", "statement length", 0.621, kind="control", control="trivial", best=""),
    ]
    page = opened(pages(cells))
    assert page.locator("tfoot td").all_inner_texts() == ["81.3"]
    page.locator("td[aria-label^=overlap]").first.focus()
    assert "it is a control" in page.locator("#detail").inner_text()


def test_filters_and_marks(opened, pages):
    cells = [
        *(cell("north", "a", 0.9), cell("north", "b", 0.8, common_rows="70"), cell("south", "a", 0.5, commercial="no")),
        *(cell("alone", "c", 0.5, alone="yes", best=""), cell("north", "d", 0.4, stale="other data", best="")),
        cell("north", "e", 0.4, needs="api"),
    ]
    page = opened(pages(cells))
    assert page.locator("thead th").last.inner_text() == "Alone"
    assert page.locator("td.stale").count() == page.locator("td.alone").count() == 1
    assert page.locator("td sup").all_inner_texts() == ["NC", "†"]
    page.select_option("#licence", "yes")
    assert page.locator("thead th").all_inner_texts() == ["metric", "North", "Alone"]
    page.select_option("#budget", "cpu")
    page.locator("#name").fill("north")
    assert page.locator("tbody th").all_inner_texts() == ["a", "b", "d"]
    page.locator("#name").fill("nothing")
    assert "No value fits" in page.locator("#table").inner_text()


def test_time_and_needs_narrow_the_table_and_what_is_left_out_is_counted(opened, pages):
    cells = [
        *(cell("north", "a", 0.9, seconds_per_1000="30"), cell("north", "b", 0.8, needs="gpu", seconds_per_1000="600")),
        cell("north", "c", 0.7, needs="api", seconds_per_1000="unknown"),
    ]
    page = opened(pages(cells))
    page.select_option("#time", "60")
    assert page.locator("tbody th").all_inner_texts() == ["a"]
    assert page.locator("#count").inner_text() == "1 metric, 1 data column; 1 metric of unknown time left out."
    page.select_option("#time", "")
    page.select_option("#needs", "gpu")
    assert page.locator("tbody th").all_inner_texts() == ["b"]
    page.locator("#name").press("Enter")
    assert page.locator("tbody th").all_inner_texts() == ["b"], "Enter in the field does not load the page again"


def test_a_language_is_answered_with_its_own_task_and_marks_data_that_are_not_commercial(opened, pages):
    german = {"language": "de", "measure": "fs_ns", "commercial": "no", "data_licence": "CC-BY-NC-4.0"}
    cells = [
        *(cell("north", "a", 0.9), cell("north", "b", 0.8), cell("south", "b", 0.6, **german)),
        *(cell("south", "c", 0.7, **german), cell("south", "length", 0.5, kind="control", best="", **german)),
    ]
    page = opened(pages(cells))
    assert (page.input_value("#task"), page.input_value("#budget")) == ("ps_ns", "api")
    page.select_option("#language", "de")
    assert page.input_value("#task") == "fs_ns", "nobody has asked for another task"
    assert page.locator(".headline").inner_text() == "b or c"
    assert page.locator("thead sup").all_inner_texts() == ["NC"]
    page.locator("tbody td").first.focus()
    assert "the data are not for commercial use (CC-BY-NC-4.0)" in page.locator("#detail").inner_text()
    page.select_option("#task", "ps_ns")
    assert page.locator(".headline").inner_text() == "The data do not say."
    page.get_by_role("button", name="tell supported from unsupported").click()
    assert page.locator(".headline").inner_text() == "b or c"


@pytest.fixture
def with_pack(pages):
    """The address of a page with a published pack, one that is not, and a control."""
    cells = [
        cell("north", "a", 0.9, shipped="yes", pack="a b", file="north.csv.gz"),
        cell("north", "b", 0.8, shipped="no"),
        cell("north", "length", 0.5, kind="control", pack=""),
    ]
    address = pages(cells)
    folder = Path(address.removeprefix("file://")).parent / "packs" / "a b"
    folder.mkdir(parents=True)
    (folder / "card.yaml").write_text("metric: a\n", encoding="utf-8")
    (folder / "north.csv.gz").write_bytes(b"")
    return address


AGAIN = "metaeval results reference north --packs FOLDER"
PAIRS = (
    "metaeval evaluate 'results/reference/packs/a b/north.csv.gz' -d north --split test -u page && metaeval view --open"
)


def test_a_click_shows_the_pack_and_the_commands_until_it_is_closed(opened, with_pack):
    page = opened(with_pack)
    page.locator("tbody td").first.click()
    assert page.locator("#detail code").all_inner_texts() == [AGAIN, PAIRS]
    page.locator("tbody td").last.hover()
    assert page.locator("#detail strong").inner_text().startswith("a on North"), "the pointer passes other values"
    links = page.locator("#detail a")
    assert links.evaluate_all("all => all.map((one) => one.getAttribute('href'))") == [
        "packs/a%20b/",
        "packs/a%20b/north.csv.gz",
    ]
    with page.expect_popup() as popup:
        links.first.click()
    popup.value.get_by_text("card.yaml").wait_for()
    page.locator("tbody td").last.click()
    assert "The pack is not published" in page.locator("#detail").inner_text()
    assert page.locator("#detail code").all_inner_texts() == [AGAIN]
    page.locator("tfoot td").click()
    assert page.locator("#detail a").count() == 0, "a control has no pack"
    assert page.locator("#detail code").all_inner_texts() == [AGAIN]
    page.get_by_role("button", name="Close").click()
    assert page.locator("#detail code").count() == 0


def test_enter_shows_the_pack_and_escape_leads_back(opened, with_pack):
    page = opened(with_pack)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("td[tabindex='0']").focus()
    assert page.locator("#detail code").count() == 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.textContent") == "Folder of the pack"
    for _ in range(3):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("getSelection().toString()") == PAIRS
    assert page.evaluate("navigator.clipboard.readText()") == PAIRS
    page.keyboard.press("Escape")
    assert page.locator("#detail").inner_text() == ""
    assert page.evaluate("document.activeElement.ariaLabel").startswith("a on North")
    page.keyboard.press("ArrowDown")
    assert page.locator("#detail strong").inner_text().startswith("b on North")
    page.locator("#plot .line").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("#detail code").all_inner_texts() == [AGAIN, PAIRS]


def test_a_touch_shows_the_pack_and_the_commands(opened, with_pack):
    phone = opened(with_pack, 390, 844, has_touch=True)
    phone.locator("#plot .line").first.tap()
    assert phone.locator("#detail code").all_inner_texts() == [AGAIN, PAIRS]
    assert phone.get_by_role("link", name="Scores").get_attribute("href") == "packs/a%20b/north.csv.gz"
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    phone.evaluate("document.documentElement.dataset.packs = ''")
    phone.locator("tbody td").first.tap()
    assert phone.locator("#detail a").count() == 0
    assert phone.locator("#detail code").all_inner_texts() == [AGAIN, PAIRS]


def test_the_files_behind_the_values_are_there():
    shipped = [row for row in read_cells(KEPT).cells if row["shipped"] == "yes"]
    assert shipped
    assert all((KEPT / "packs" / row["pack"] / row["file"]).is_file() for row in shipped)


def test_texts_of_the_data_are_no_markup(opened, pages):
    cells = [cell("north", metric, 0.9, title=HOSTILE, licence=HOSTILE, version=HOSTILE) for metric in (HOSTILE, "b")]
    page = opened(pages(cells))
    assert page.locator("img").count() == 0
    page.locator("tbody td").first.focus()
    assert "onerror" in page.locator("#detail").inner_text()
    assert "\u202e" not in page.content()


def test_five_thousand_cells_are_drawn(opened, pages):
    cells = [cell(f"set{at}", f"metric{number}", 0.5 + number / 500) for at in range(50) for number in range(100)]
    page = opened(pages(cells))
    assert page.locator("tbody td[aria-label]").count() == 5000
