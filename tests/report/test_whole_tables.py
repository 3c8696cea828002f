"""Whole tables, pages and findings against their records: drawn results with all that a table must cope with."""

import re

import pytest

from metaeval.report.cautions import cautions
from metaeval.report.data_frame import rows_html
from metaeval.report.findings import findings
from metaeval.report.first_table import first_tables
from metaeval.report.html_report import forest_panels, page, table_of
from metaeval.report.notebook import Results
from metaeval.report.paper_tables import BASE_PAPER_GROUPS, PaperLayout, paper_tables
from metaeval.report.rank_agreement import agreement_text, rank_agreement
from metaeval.report.ranking_measures import Declarations, ProtocolDeclarations
from metaeval.report.result import FULL_SUPPORT, Interval, Perfect, records
from metaeval.report.result_tables import comparison_grid, lay_out
from metaeval.report.table import Block, Cell, ColumnGroup, Table, TableLine
from metaeval.report.table_files import table_text
from metaeval.report.terminal import text_of
from tests.report.made import any_result

SAID = re.compile(
    r"\b(?:m\d+|overlap|random|fit|one|other|[Nn]o metric|every metric|are|is|have|has|lead|leads|and|or|both|all|more"
    r"|FS-NS|FS-PS|PS-NS|Overall|Pearson|Spearman|NDCG@5)\b|\d[\d,.]*%?"
)
CHANCE = {"fs_ns": 0.5, "fs_ps": 0.5, "ps_ns": 0.5, "overall": 0.5, "spearman": 0.0}
DECLARED = Declarations(
    {
        "classification": ProtocolDeclarations(
            "overall", {"overall": "the mean"}, CHANCE, dict.fromkeys(CHANCE, "able")
        ),
        "correlation": ProtocolDeclarations("spearman", {}, CHANCE),
        "retrieval": ProtocolDeclarations("ndcg@5"),
    },
    oracles=("oracle",),
    chance=("random",),
)
PROTOCOLS = ("correlation", "classification", "retrieval")
SETS = {
    "one protocol": lambda n: [any_result(n)],
    "one metric": lambda n: [any_result(n, metrics=1)],
    "two metrics": lambda n: [any_result(34 + n, metrics=2)],
    "many metrics": lambda n: [any_result(n, metrics=14), any_result(n, "correlation", metrics=14)],
    "protocols": lambda n: [any_result(n, protocol) for protocol in PROTOCOLS],
    "data sets": lambda n: [any_result(n, protocol, name) for name in ("one", "other") for protocol in PROTOCOLS[:2]],
    "many sets": lambda n: [
        any_result(n, name=f"d{number}", metrics=2 - number % 2) for number in (range(4), range(7), range(8))[n % 3]
    ],
    "wide": lambda n: [any_result(n, metrics=(8, 7, 8)[n % 3], wide=(1, 2, 2)[n % 3])],
    "long names": lambda n: [any_result(n, metrics=2, ending="n" * (28 + n)), any_result(n, "retrieval")],
}


def said(sentences):
    """Of sentences: names, verbs and numbers."""
    return [" ".join(SAID.findall(text)) for text in sentences]


@pytest.mark.parametrize("kind", SETS)
def test_a_runs_first_screen_is_that_of_its_record(recorded, kind):
    found = {}
    for seed in range(4 if kind in ("one protocol", "protocols", "data sets") else 3):
        results = SETS[kind](seed)
        tables = [*first_tables(results, DECLARED), *(agreed := rank_agreement(results, DECLARED))]
        text = [recorded.table(text_of(table, 80)) for table in tables]
        notes = [said([note.line for note in (*table.footnotes, *table.footer)]) for table in tables]
        panels = [*map(str, forest_panels(results, DECLARED))] if seed < 2 else []
        sentences = said(findings(results, DECLARED)), said(cautions(results)), agreement_text(agreed * 2)
        found[f"{kind} {seed}"] = [text, notes, panels, sentences, *(table.records for table in agreed)]
    recorded.held(f"report-first-{kind.replace(' ', '-')}", found)


@pytest.mark.parametrize("seed", range(3))
def test_a_result_is_that_of_its_record_in_every_format(recorded, seed):
    values = {"fs_ns": {FULL_SUPPORT: 0.9, "any support": 0.8}, "overall": {FULL_SUPPORT: 0.7}}
    more = {"perfect": Perfect(values=values, full=266, incomplete=195 * (seed % 2)), "published": "arXiv 1"}
    more |= {"ceilings": {"fs_ns": {"continuous": 0.9, "binary": 0.8}}} if seed else {"published_elsewhere": "of 2019"}
    more |= {"interval": Interval(resamples=0, seed=0, level=0.9)} if seed == 2 else {}
    result = any_result(10 + seed, metrics=2 + (seed > 0), **more)
    table, pairs, found = lay_out(result), comparison_grid(result), {}
    for name, grid in (("table", table), ("pairs", pairs)):
        found |= {f"{name} {width}": recorded.table(text_of(grid, width)) for width in (60, 100)[name == "pairs" :]}
        found |= {f"{name} {form}": recorded.table(table_text(grid, form, True)) for form in ("markdown", "latex")}
        found |= {f"{name} notes": said([note.line for note in (*grid.footnotes, *grid.footer)])}
    found |= {"latex": recorded.table(table_text(table, "latex")), "cells": recorded.page(table_of(table))["cells"]}
    found |= {"records": [list(record.values()) for record in records(result)][1::4]}
    found |= {"repr": [repr(any_result(3, metrics=number)).replace(",", ";").split(";") for number in (0, 1, 5, 6)]}
    recorded.held(f"report-formats-{seed}", found)


def test_papers_tables_and_the_page_are_those_of_their_record(recorded):
    results = [any_result(3, protocol, name) for name in ("one", "other") for protocol in PROTOCOLS]
    numbered = {"correlation": (2, ("spearman",)), "classification": (3, ("fs_ns", "fs_ps", "ps_ns", "overall"))}
    layouts = PaperLayout({"m0": "lexical", "m2": BASE_PAPER_GROUPS["llm judge"]}, 2), PaperLayout()
    tables = [paper_tables(results, [("m9 on one", "no key")], numbered, layout) for layout in layouts]
    found = {f"{table.name} {n}": recorded.table(text_of(table)) for n in (0, 1) for table in tables[n][: 3 - n]}
    found |= {f"{table.name} latex": recorded.table(table_text(table, "latex")) for table in tables[0]}
    found |= {"notes": [said([note.line for note in table.footer]) for table in tables[0]]}
    found |= {"page": recorded.page(page(results, declarations=DECLARED, explorer=("metaeval view", "")))}
    shown = Results(results[:2], DECLARED, ["Left out."])
    found |= {"notebook": recorded.page(shown._repr_html_())["cells"][::9], "printed": recorded.table(repr(shown))}
    found |= {f"{n} rows": recorded.page(rows_html([{"a": at} for at in range(n)]))["cells"][-2:] for n in (0, 20, 21)}
    for n in range(2, 8):
        line = TableLine("n" * (38 + n), (Cell("1", ends=("0", "2")),) * n)
        grid = Table(headings=("a",) * n, groups=(ColumnGroup("t" * 20, n),), blocks=(Block("", (line,)),))
        found[f"{n} columns"] = recorded.table(text_of(grid)), recorded.table(table_text(grid, "latex"))
    recorded.held("report-paper", found)
