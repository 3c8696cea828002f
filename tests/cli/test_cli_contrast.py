"""A contrast set from the file to the table, its other forms, the page and the explorer; what it is refused for."""

import json
from pathlib import Path

import pytest

from metaeval.report.result import load_result

SENTENCES = ("The mill was opened in 1901 near the river.", "The bridge was sold in 1955 to the city.")
EDITS = {
    "year": (lambda text: text.replace("19", "18"), "none"),
    "negation": (lambda text: text.replace("was", "was not"), "none"),
    "spaces": (lambda text: text.replace(" ", "  "), "full"),
    "case": (str.upper, "full"),
}
WORDS = ("-d", "ratings", "--data", "edits.jsonl", "-p", "contrast")


def rows_of(each=12):
    """Originals with and without support, by turns, each of the former with all edits; ids that look like numbers."""
    rows = []
    for number in range(2 * each):
        text, level = SENTENCES[number % 2].replace("mill", f"mill {number}"), ("full", "none")[number % 2]
        source = f"{text} It is old." if level == "full" else f"Nobody knows {number} <b>of it</b>."
        own = {"source": source, "group": f"g{number // 2}", "original": f"{number}"}
        rows.append({"pair_id": f"{number}", "statement": text, "level": level, "kind": "original", **own})
        for kind, (edit, leads_to) in EDITS.items() if level == "full" else ():
            rows.append({"pair_id": f"{number}{kind}", "statement": edit(text), "level": leads_to, "kind": kind, **own})
        if level == "none":
            own["source"] += f" It has been claimed that {text}"
            rows.append({"pair_id": f"{number}d", "statement": text, "level": "none", "kind": "denied", **own})
    return rows


def write(rows, path="edits.jsonl"):
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_a_line_for_each_kind_in_every_form_and_a_strip_on_the_page(ran, held):
    write(rows_of())
    ended = ran("run", "-m", "overlap,rouge", *WORDS)
    held("report-contrast", ended)
    job = Path("results/latest").resolve()
    values = {row.metric: row.values for row in load_result(job / "contrast.json").rows}
    assert {*values} == {"overlap", "rouge"}  # without controls
    known = {key: (values["overlap"][key].value, values["rouge"][key].value) for key in ("fall:year", "fall:negation")}
    assert known == {"fall:year": (1.0, 1.0), "fall:negation": (0.0, 1.0)}  # "not" is no content word
    assert values["overlap"]["side:denied"].value == 0.0
    assert values["overlap"]["originals"].value == 1.0
    ran("results", "export", "-f", "latex,markdown,csv", "-o", "out")
    assert r"negation (12) & 0.00" in Path("out/contrast.tex").read_text()
    assert "| negation (12) | 0.00" in Path("out/contrast.md").read_text()
    assert "fall:negation,0.0," in Path("out/contrast.csv").read_text()
    page = (job / "report.html").read_text()
    assert [f"{kind} (12): AUC</text>" in page for kind in (*EDITS, "denied")] == [True] * 5


def test_scores_of_files_are_evaluated_and_missing_ones_are_counted(ran, held):
    rows = rows_of()
    write([{key: row[key] for key in ("pair_id", "source", "statement")} for row in rows], "pairs.jsonl")
    ran("score", "-m", "overlap", "-d", "ratings", "--data", "pairs.jsonl", "-o", "scores", "-q")
    scored = [line for line in Path("scores/overlap.jsonl").read_text().splitlines() if '"0year"' not in line]
    Path("scores/some.jsonl").write_text("\n".join(scored) + "\n")
    write(rows)
    held("report-contrast-unscored", ran("evaluate", "scores/some.jsonl", *WORDS))
    (row,) = load_result(Path("results/latest/contrast.json")).rows
    assert (row.scored, row.unscored) == (len(rows) - 1, 1)
    assert row.values["fall:year"].bounds == (pytest.approx(11 / 12), 1.0)


LACKING = {
    "no kind": (lambda row: {key: row[key] for key in row if key != "kind"}, "kind and original"),
    "no originals": (lambda row: row if row["kind"] != "original" else None, "kind and original"),
}


@pytest.mark.parametrize("lacking", LACKING)
def test_data_without_edits_are_refused(lacking, refused):
    change, why = LACKING[lacking]
    write([row for row in map(change, rows_of()) if row])
    assert why in refused("run", "-m", "overlap", *WORDS)
    assert why in refused("run", "-m", "overlap", "-p", "contrast")
    write([{**row, "system": "s"} for row in rows_of()])
    assert "group" in refused("run", "-m", "overlap", *WORDS, "-s", "interval.cluster=group,system")


def test_without_harmless_edits_there_is_no_area_and_edits_without_an_original_are_counted(ran, held):
    write([row for row in rows_of() if row["kind"] not in ("spaces", "case") and row["pair_id"] != "0"])
    held("report-contrast-without-harmless", ended := ran("run", "-m", "overlap", *WORDS, "--full"))
    result = load_result(Path("results/latest/contrast.json"))
    assert [ended.out.count("left out"), "no harmless edits" in ended.out] == [1, True]
    assert sum(result.rows[0].excluded.values()) == 2
    write([row for row in rows_of() if row["kind"] != "case"])  # the only harmless kind has no other beside it
    held("report-contrast-one-harmless", ran("run", "-m", "overlap", *WORDS, "--full"))


def test_the_explorer_shows_an_edit_beside_its_original_with_what_changed_marked(chromium, ran, tmp_path):
    rows = rows_of()
    rows[1]["statement"] = rows[1]["statement"].replace("river", "<img src=x onerror=alert(1)>")
    write(rows)
    ran("run", "-m", "overlap", *WORDS, "-q")
    ran("view")
    page = chromium.new_context().new_page()
    said = []
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    marks = {}
    for row in ("0year", "0negation", "0", "1d"):
        page.goto("about:blank")
        page.goto(f"{(tmp_path / 'view.html').as_uri()}#view=pairs&pair={row}")
        page.wait_for_selector(".reader h3")
        marks[row] = [
            part.all_inner_texts() for part in (page.locator(f".beside > :nth-child({n}) mark") for n in (1, 2))
        ]
    page.context.close()
    assert not said
    assert marks["0year"][0] == ["1901", "river."]
    assert marks["0year"][1][:2] == ["1801", "<img"]
    assert "".join(marks["0negation"][1]).split() == ["not"]
    assert marks["0negation"][0] == []
    assert marks["0"] == [[], []]
    assert "claimed" in marks["1d"][1]
