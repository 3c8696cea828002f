"""The HTML page: whole, escaped, and standing alone."""

import math
import re
from base64 import b64encode
from hashlib import sha256
from xml.etree import ElementTree

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from metaeval.analyses.suites.job_figures import pictures_of
from metaeval.core import registry
from metaeval.report.html_report import Picture, forest_panels, page, rows_description, ticks_of
from metaeval.report.ranking_measures import Declarations, headlines
from metaeval.report.table import plain
from tests.report.edges import read_html

NASTY = "judge[bold]_3|x%"


def test_every_number_mark_and_aside_is_on_the_page(full):
    text = page([full])
    cell = (
        "<td>0.042<sup>b†</sup><small>-0.021 to 0.104</small><small>5 % of .899</small><small>paper .585</small></td>"
    )
    assert cell in text
    reader = read_html(text)
    assert "\n".join(row.signature for row in full.rows[:2]) in [data for tag, data in reader.texts if tag == "pre"]
    assert "metrics that share a letter in a column are not significantly different" in text
    assert "minilm-bertscore ≈ judge[bold]_3|x%" in text


def test_a_page_asks_for_no_other_file(full):
    picture = Picture("A.", '<?xml?><svg><use xlink:href="#x"/></svg>')
    reader = read_html(page([full], {rows_description(full): [picture]}))
    assert {tag for tag, _, _ in reader.attributes}.isdisjoint({"script", "img", "link", "iframe"})
    targets = [value for _, name, value in reader.attributes if name in ("src", "href", "xlink:href")]
    assert targets
    assert all(value.startswith("#") for value in targets)


def test_the_one_script_is_the_one_that_the_page_allows(full):
    shown = page([full])
    (script,) = re.findall(r"<script>(.*?)</script>", shown, flags=re.S)
    (allowed,) = re.findall(r"script-src '(.*?)'", shown)
    assert allowed == f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}"
    assert "default-src 'none'" in shown


@pytest.mark.slow
def test_a_heading_sorts_the_rows_of_each_block(result, chromium, tmp_path):
    """In a real browser: the highest first, then the lowest, then as before; no number stands last."""
    path = tmp_path / "page.html"
    path.write_text(page([result]), encoding="utf-8")
    said = []
    tab = chromium.new_page()
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.goto(path.as_uri())

    def names():
        return tab.locator("#t1 table tbody tr th").all_inner_texts()

    before = names()
    orders = []
    for _ in range(3):
        tab.get_by_role("button", name="Pearson r").first.click()
        orders.append((names(), tab.locator("#t1 thead th").last.get_attribute("aria-sort")))
    # Pearson: minilm 0.042, judge 0.542; constant undefined, random -0.000, oracle 1.000.
    assert before == ["minilm-bertscore", NASTY, "controls", "constant", "random", "oracle"]
    assert orders == [
        ([NASTY, "minilm-bertscore", "controls", "oracle", "random", "constant"], "descending"),
        (["minilm-bertscore", NASTY, "controls", "random", "oracle", "constant"], "ascending"),
        (before, "none"),
    ]
    assert not said


def test_the_forest_has_a_mark_at_each_value_and_a_line_over_its_interval(result):
    shown = page([result], declarations=Declarations(oracles=("oracle",)))
    drawn = ElementTree.fromstring(re.findall(r"<svg.*?</svg>", shown, flags=re.S)[0])

    space, (one,) = "{http://www.w3.org/2000/svg}", headlines([result], Declarations())
    texts = [text for text in drawn.iter(f"{space}text") if text.get("text-anchor") == "middle"]
    (first, left), *_, (last, right) = [(float(text.text), float(text.get("x"))) for text in texts]

    def at(value):
        return pytest.approx(left + (value * one.column.scale - first) / (last - first) * (right - left), abs=0.06)

    assert len({len(text.text.partition(".")[2]) for text in texts}) == 1, "one number of decimals"
    marks = [float(mark.get("cx")) for mark in drawn.iter(f"{space}circle")]
    assert marks == [at(one.value(row).value) for row in one.metrics]
    lines = [path.get("d") for path in drawn.iter(f"{space}path") if path.get("stroke-width")]
    ends = [tuple(map(float, re.findall(r"[\d.]+", line)[::2])) for line in lines]
    assert ends == [(at(one.value(row).low), at(one.value(row).high)) for row in one.metrics]
    controls = result.model_copy(update={"rows": [row for row in result.rows if row.kind == "control"]})
    assert forest_panels([controls], Declarations()) == []


def test_every_link_has_its_target(result, full):
    reader = read_html(page([result, full], {rows_description(full): [Picture("A.", '<svg id="a"></svg>')]}))
    ids = [value for _, name, value in reader.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert {value[1:] for tag, name, value in reader.attributes if tag == "a" and name == "href"} <= set(ids)


def test_ids_of_two_pictures_never_meet(result):
    svg = '<svg><path id="a"/><use xlink:href="#a"/><g clip-path="url(#a)"/></svg>'
    text = page([result], {rows_description(result): [Picture("One.", svg), Picture("Two.", svg)]})
    assert [text.count(found) for found in ('id="f1-a"', 'href="#f1-a"', "url(#f2-a)", 'id="f2-a"')] == [1, 1, 1, 1]


@settings(max_examples=8)
@given(st.text(max_size=20))
@example("<script>alert(1)</script>")
@example('"><b>')
@example("&lt; &amp;")
def test_any_name_is_text(result, name):
    rows = [result.rows[0].model_copy(update={"metric": name, "warnings": [name]}), *result.rows[1:]]
    changed = result.model_copy(update={"rows": rows, "title": name})
    reader = read_html(page([changed], {rows_description(changed): [Picture(name, "<svg></svg>")]}, title=name))
    heads = [(name_, value) for tag, name_, value in reader.attributes if tag == "svg"]
    assert heads == [("role", "img"), ("aria-label", plain(name))]
    names = "".join(data for tag, data in reader.texts if tag == "th")
    assert plain(name) in names


def test_each_data_set_has_a_section_with_its_tables_and_figures(result):
    other = result.model_copy(update={"protocol": "correlation"})
    elsewhere = result.model_copy(update={"data": result.data.model_copy(update={"name": "b<i>"})})
    shown = page([result, elsewhere, other], {rows_description(elsewhere): [Picture("A.", "<svg></svg>")]})
    first, second = shown.index('<section id="s1">'), shown.index('<section id="s2">')
    assert [first < shown.index(f'<section id="t{n}">') < second for n in (1, 2, 3)] == [True, True, False]
    assert shown.count("<figure>") == 1
    assert shown.index("<figure>") > second
    assert "<h2>b&lt;i&gt;" in shown


def test_the_explorer_is_named_and_linked_where_it_is(result):
    linked = page([result], declarations=Declarations(), explorer=("metaeval view <1a>", "view.html"))
    assert "<code>metaeval view &lt;1a&gt;</code>" in linked
    assert '<a href="view.html">' in linked
    assert "view.html" not in page([result], declarations=Declarations(), explorer=("metaeval view", ""))


@pytest.mark.parametrize("values", [[0.339, 0.339], [0.3391, 0.3392], [50.0], [0.0], [-0.2, 0.4], [99.9, 100.0]])
def test_labels_of_an_axis_differ_and_values_lie_between_its_ends(values):
    ticks = ticks_of(values)
    assert ticks[0] <= min(values) <= max(values) <= ticks[-1]
    digits = max(0, -math.floor(math.log10(1.5 * (ticks[1] - ticks[0]))))
    assert len({f"{tick:.{digits}f}" for tick in ticks}) == len(ticks) > 1


def test_retrieval_results_get_their_figure(result):
    pytest.importorskip("matplotlib")
    other = result.model_copy(update={"protocol": "correlation"})
    pictures = pictures_of(
        [result, other], {name: registry.find("protocol", name) for name in registry.names("protocol")}
    )
    ((picture,),) = pictures.values()
    assert picture.svg.count("<svg") == 1
    reader = read_html(page([result, other], pictures))
    assert ("svg", "role", "img") in reader.attributes
