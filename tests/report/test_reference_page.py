"""The page of the reference results: rules of its answers by hand, and what Chromium shows of its cells."""

import re
from pathlib import Path

import pytest

from benchmarks.reference.answers import BUDGETS, answer
from benchmarks.reference.cells import OF_CELL, OF_TEST, CellTables, read_cells
from benchmarks.reference.page import page
from tests.report.edges import read_html

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


def answered(cells, tests=(), budget="api", task="ps_ns"):
    return answer(CellTables(cells, tests), task, "en", budget)


def test_metrics_are_named_that_are_nowhere_significantly_worse_than_the_best_the_cheapest_first():
    cells = [
        *(cell("north", "slow", 0.9, seconds_per_1000="9"), cell("north", "fast", 0.8), cell("north", "poor", 0.6)),
        *(cell("south", "slow", 0.7, seconds_per_1000="9"), cell("south", "fast", 0.8), cell("south", "poor", 0.6)),
    ]
    tests = [
        *(test("north", "slow", "fast", 0.1, 0.2), test("north", "slow", "poor", 0.3, 0.01)),
        *(test("south", "slow", "fast", -0.1, 0.3), test("south", "poor", "fast", -0.2, 0.05)),
    ]

    assert answered(cells, tests)[0] == "fast or slow"
    assert "one data set (North)" in answered([each for each in cells if each["set"] == "north"], tests)[2][0]


def test_a_budget_takes_the_others_away_before_the_best_is_sought():
    cells = [cell("north", "judge", 0.9, needs="api"), cell("north", "fast", 0.7), cell("north", "poor", 0.6)]
    tests = [test("north", "judge", other, 0.2, 0.001) for other in ("fast", "poor")]
    tests.append(test("north", "fast", "poor", 0.1, 0.04))
    assert [answered(cells, tests, budget)[0] for budget in BUDGETS] == ["fast", "fast", "fast", "judge"]


def test_where_none_is_always_among_the_best_the_answer_says_how_often():
    cells = [
        cell(name, metric, value)
        for name, of in (("north", (0.9, 0.6)), ("south", (0.6, 0.9)))
        for metric, value in zip("ab", of, strict=True)
    ]
    tests = [test("north", "a", "b", 0.3, 0.01), test("south", "a", "b", -0.3, 0.01)]
    assert answered(cells, tests)[1].endswith("no metric is always among the best; a and b most often (50 %).")


def test_it_says_what_the_data_cannot_tell():
    fields = {"effective": "12", "above_controls": "no", "commercial": "no", "fitted_on": "north/dev"}
    cells = [cell("north", "a", 0.9, **fields), cell("north", "b", 0.8, **fields)]
    cells += [cell(name, metric, 0.8) for name in ("east", "west") for metric in "ac"]

    headline, why, limits = answered(cells)

    assert headline == "a or c"
    assert "(North, East and West)" in why
    assert "a and c (scored in 2)" in answered(cells, [test("north", "a", "b", 0.1, 0.01)])[1]
    words = ("North, East and West", "12 in North", "control", "a was fitted", "ranked here: b", "commercial", "label")
    assert [word in limit for word, limit in zip(words, limits, strict=True)] == [True] * 7


def test_one_metric_alone_and_stale_ones_answer_nothing_and_no_metric_of_most_sets_is_named():
    cells = [cell("north", "a", 0.9, alone="yes", best=""), cell("south", "b", 0.9, stale="other data", best="")]
    assert answered(cells)[0] == "The data do not say."
    apart = [cell(name, f"{name} {number}", 0.9) for name in ("north", "south") for number in range(2)]
    assert answered(apart)[0] == "No metric can be named."


def number_of(text):
    """The numbers of a cell as the page has them, from the texts of the file."""
    per_cent = text["measure"] in ("ps_ns", "fs_ps", "fs_ns")

    def number(field):
        return pytest.approx(float(text[field]) * (100 if per_cent else 1), abs=0.051 if per_cent else 0.00051)

    return number


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    def write(cells, tests=()):
        path = tmp_path_factory.mktemp("page") / "index.html"
        path.write_text(page(CellTables(cells, tests)), encoding="utf-8")
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


@pytest.mark.slow
def test_the_page_is_made_of_the_kept_tables_and_holds_their_numbers(opened):
    kept = read_cells()
    assert (KEPT / "index.html").read_text(encoding="utf-8") == page(kept), "python -m benchmarks.reference page"
    drawn = opened((KEPT / "index.html").as_uri())
    lines = drawn.locator("section details table tbody tr").evaluate_all(
        "rows => rows.map((row) => [row.closest('section').querySelector('h2').textContent, "
        "...[...row.cells].map((cell) => cell.textContent)])"
    )
    assert len(lines) == len(kept.cells)
    by_name = {(row["measure"], row["title"], row["metric"]): row for row in kept.cells}
    words = {"ps_ns": "without any", "fs_ps": "full from", "fs_ns": "unsupported", "ndcg@5": "Rank"}
    words["kendall"] = "Follow"
    for title, metric, data, *texts in lines:
        (measure,) = [key for key, word in words.items() if word in title]
        row = by_name[measure, data, metric]
        number = number_of(row)
        value, interval, n, groups, effective, common, there, rank, above = texts
        assert float(value) == number("value")
        ends = [number(end) for end in ("low", "high") if row[end]]
        assert [float(end) for end in interval.split(" to ") if end] == ends
        counts = [row[field] and f"{int(row[field]):,}" for field in ("n", "groups", "common_rows")]
        assert [n, groups, common] == counts
        assert effective == (row["effective"] and f"{float(row['effective']):.0f}")
        assert not there or float(there) == number("common_value")
        assert rank.split(" to ")[0] == row["rank_low"]
        assert rank.split(" to ")[-1] == row["rank_high"]
        assert above == row["above_controls"]


def test_nothing_is_loaded_and_the_packs_of_the_values_are_there():
    text = (KEPT / "index.html").read_text(encoding="utf-8")
    assert "http:" not in text
    assert "src=" not in text
    links = re.findall('href="([^"]+)"', text)
    assert links
    assert all((KEPT / link).is_file() for link in links)
    shipped = [row for row in read_cells().cells if row["shipped"] == "yes"]
    assert all((KEPT / "packs" / row["pack"] / row["file"]).is_file() for row in shipped)


HOSTILE = "</script><img src=x onerror=alert(1)>\u202e"


@pytest.mark.slow
def test_a_question_and_a_budget_are_chosen_and_headings_sort(opened, pages):
    cells = [
        *(cell("north", "a", 0.9, needs="api"), cell("north", "b", 0.7), cell("north", "c", 0.8)),
        *(cell("south", "b", 0.75), cell("south", "c", 0.6)),
        *(cell("east", name, value, measure="fs_ns", language="de") for name, value in (("b", 0.6), ("c", 0.7))),
    ]
    drawn = opened(pages(cells, [test("north", "a", "b", 0.2, 0.01)]), color_scheme="dark")
    assert drawn.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(23, 23, 26)"
    titles = "section:visible > h2"
    names = "section:visible > .frame tbody tr:visible th"
    assert drawn.locator(titles).all_inner_texts() == ["Find citations without any support, in English"]
    assert drawn.locator(".headline:visible").all_inner_texts() == ["c"]
    assert drawn.locator(names).all_inner_texts() == ["a", "c", "b"]
    drawn.select_option("#budget", "cpu")
    assert drawn.locator(names).all_inner_texts() == ["c", "b"]
    assert drawn.locator(".headline:visible").all_inner_texts() == ["b or c"]
    drawn.locator("section:visible > .frame thead button").last.click()
    assert drawn.locator(names).all_inner_texts() == ["b", "c"]
    drawn.select_option("#question", "Tell supported from unsupported, in German")
    assert drawn.locator(titles).all_inner_texts() == ["Tell supported from unsupported, in German"]
    assert drawn.locator(names).all_inner_texts() == ["c", "b"]


@pytest.mark.slow
def test_without_its_script_the_page_shows_everything(opened):
    drawn = opened((KEPT / "index.html").as_uri(), java_script_enabled=False)
    assert drawn.locator("form").is_hidden()
    assert drawn.locator("section:visible").count() == drawn.locator("section").count() == 13


@pytest.mark.slow
def test_texts_of_the_data_are_no_markup(opened, pages):
    fields = dict.fromkeys(("title", "licence", "version", "data_licence", "pack", "fitted_on", "language"), HOSTILE)
    cells = [cell("north", metric, 0.9, **fields, shipped="yes") for metric in (HOSTILE, "b")]
    text = page(CellTables(cells, []))
    read_html(re.sub("(?s)<(style|script)>.*?</(style|script)>", "", text))
    assert "onerror" in text
    assert not re.search("<img|\u202e", text)
