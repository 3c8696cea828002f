"""Python as a notebook expects it: names to complete, the commands as functions, short texts, tables, data frames."""

from __future__ import annotations

import inspect
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pandas
import pytest

import metaeval
from metaeval.core.errors import UserError
from metaeval.corpus.pair_table import Pair
from tests.report.edges import read_html

ROOT = Path(__file__).parents[1]
QUICK = {"interval": {"resamples": 20}, "comparison": {"permutations": 20}}


@pytest.fixture(scope="module")
def settings(scored_folder):
    """Quick settings on the shipped corpus, with one store for the module."""
    return {**QUICK, "results": str(scored_folder("notebook"))}


@pytest.fixture(scope="module")
def ran(settings):
    """A run of two metrics under the usual protocols."""
    return metaeval.run(metrics=["overlap", "rouge"], **settings)


def test_the_example_of_the_readme_runs(capsys):
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)[1]
    exec(code, {})
    assert 0.8 < float(capsys.readouterr().out.splitlines()[-1]) < 0.9


def test_groups_return_what_the_commands_print(settings, tmp_path, ran):
    named = metaeval.data.list().to_frame().set_index("name")
    assert named.loc["wice", "splits"] == "dev, test, all"
    assert repr(metaeval.data.show("mini")).startswith("name: mini\ntitle: ")
    assert repr(metaeval.data) == f"<metaeval.data: {', '.join(dir(metaeval.data))}>"
    assert repr(metaeval.pairs()).startswith(f"<{len(metaeval.pairs()):,} pairs; the first is <Pair '")
    assert read_html(ran[0]._repr_html_())
    assert read_html(metaeval.data.show("mini")._repr_html_())
    assert metaeval.data.fetch("mini") == []
    assert metaeval.data.convert("mini", tmp_path / "mini.jsonl").demo
    assert metaeval.data.validate(tmp_path / "mini.jsonl") == []
    assert metaeval.data.verify("wice", tmp_path)[0]["status"] == "missing"
    verified = metaeval.metrics.verify("overlap")
    assert (verified.agrees, repr(verified)) == (True, "<VerificationReport: overlap agrees, 13 pairs>")

    assert {"overlap", "nli"} <= set(metaeval.metrics.list().to_frame().name)
    assert dict(metaeval.metrics.show("overlap", content_only=False))["state"] == "ready"

    latex, text = (metaeval.results.show(ran[0], form) for form in ("latex", "terminal"))
    assert "overlap &" in latex
    assert repr(text) == str(text)
    assert metaeval.results.show(ran[0], "csv").count("\n") == 1 + len(ran[0].to_frame())


def test_jobs_from_python(tmp_path, settings, ran):
    from metaeval.core.config import RunConfig
    from metaeval.runs.evaluate import EvaluatedRun, named_protocols
    from metaeval.runs.job import write_run

    folder = tmp_path / "results"
    config = RunConfig(**settings | {"metrics": ("overlap",), "results": folder})
    write_run(config, EvaluatedRun(None, (), ran, named_protocols(config), {}))
    (job,) = metaeval.results.list(folder)
    assert "overlap" in repr(metaeval.results.show(results=folder))
    with pytest.raises(UserError, match="Unknown job '11664634'"):  # a hash can be typed as a number
        metaeval.results.show(11664634, results=folder)
    assert metaeval.results.show(job["job"], "csv", results=folder).count("protocol,") == 3
    assert [*metaeval.results.rm("latest", results=folder).values()] == [5]
    assert not metaeval.results.list(folder)


def test_a_pair_is_told_by_its_level_and_the_start_of_its_texts():
    told = repr(Pair("d1#0", "s1", "d1", 0, "c1", "g", None, None, "Rain fell. " * 99, "\x1b[2J"))
    assert told.startswith("<Pair 'd1#0': level None, statement \"Rain fell.")
    assert len(told) < 300
    assert "\x1b" not in told


def test_what_functions_return_is_short_and_records_are_a_table(settings):
    corpus = metaeval.load_corpus()
    drawn = metaeval.label(corpus, n=25, **settings)
    assert len(drawn) == len(list(drawn)) == 25
    assert list(drawn.to_frame().columns) == list(drawn[0])
    assert repr(drawn).startswith(f"<{len(drawn)} rows of ")
    assert read_html(drawn._repr_html_())
    drawn[0]["statement"] = "<script>alert(1)</script>"
    assert "<script>" not in drawn._repr_html_()
    choices = {"metrics": ["overlap", "rouge"], "protocols": ["classification"]}
    outlooks = metaeval.multiverse("chunk.size=150", **choices, **settings)
    assert (
        max(len(repr(one)) for one in (drawn, metaeval.fit_gate(corpus, metrics=["overlap"], **settings), outlooks))
        < 4000
    )
    assert list(outlooks.to_frame()["rank"]) == [one.rank for one in outlooks.outlooks]
    assert read_html(outlooks._repr_html_())


def test_results_as_html_are_escaped(ran):
    assert read_html(ran._repr_html_())
    hostile = ran[0].rows[0].model_copy(update={"metric": "<script>alert(1)</script>"})
    result = ran[0].model_copy(update={"rows": [hostile, *ran[0].rows[1:]], "significance": None})
    shown = type(ran)([result], ran._declarations)._repr_html_()
    assert read_html(shown)
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown


def test_results_as_a_data_frame_are_the_csv(ran):
    frame = ran.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    row = frame[(frame.metric == "rouge") & (frame.measure == "overall")].iloc[0]
    value = ran[0].rows[1].values["overall"]
    assert (row.value, row.low, row.high) == (value.value, value.low, value.high)
    assert len(frame) == sum(len(one.values) for result in ran for one in result.rows)


def test_the_plot_has_a_panel_for_each_protocol_and_the_results_numbers(ran):
    figure = ran.plot()
    labels = [plot.get_xlabel() for plot in figure.axes if plot.get_visible()]
    assert [label.partition("\n")[0] for label in labels] == ["mean ROC-AUC, %", "Spearman", "NDCG@5"]
    overall = ran[0].rows[1].values["overall"]
    drawn = [line.get_xdata() for line in figure.axes[0].lines]
    assert any(list(xs) == [100 * overall.value] for xs in drawn)
    assert any(list(xs) == [100 * overall.low, 100 * overall.high] for xs in drawn)


@pytest.mark.usefixtures("quick_plan")
def test_compare_power_calibrate_and_decide_give_tables(settings):
    compared = metaeval.compare("overlap", "rouge", protocols=["classification"], **settings)
    planned = metaeval.plan("overlap", "rouge", difference=2, **settings)
    learnt = metaeval.thresholds("overlap", learn=True, **settings)
    decided = metaeval.thresholds("overlap", **settings)

    for tables in (compared, planned, learnt, decided):
        assert read_html(tables._repr_html_())
        assert "data:mini" not in repr(tables)
    assert list(planned.to_frame().difference) == [0.02, 0.02]  # for a power of 80 and of 90 per cent
    assert {"metric", "threshold"} <= set(learnt.to_frame().columns)
    with pytest.raises(UserError, match="No table is called 'nothing'"):
        learnt.to_frame("nothing")
    records = compared["classification-pairs"].records
    panels = (plot for name in ("", "classification-pairs") for plot in compared.plot(name).axes)
    drawn = {tuple(line.get_xdata()) for plot in panels for line in plot.lines}
    assert drawn >= {(one["low"], one["high"]) for one in records} | {(one["difference"],) for one in records}
    with pytest.raises(UserError, match="No interval to draw"):
        planned.plot()


def test_labels_lead_to_an_estimate_and_a_gate(settings):
    pages = ["Cats sleep." if n % 3 == 0 else f"Town {n} has a mill." for n in range(150)]
    rows = [{"Kennung": f"k{n}", "claim": f"town {n} has a mill", "page": page} for n, page in enumerate(pages)]
    columns = {"id": "Kennung"}
    drawn = metaeval.label(rows, 120, columns=columns, **settings)
    labels = {one["id"]: "none" if int(one["id"][1:]) % 3 == 0 else "full" for one in drawn}
    estimates = metaeval.estimate(rows, labels, columns=columns, **settings)
    assert list(estimates.to_frame().measure) == [one.measure for one in estimates.estimates]
    assert read_html(estimates._repr_html_())
    usual = estimates["full"]
    narrow = metaeval.estimate(rows, labels, columns=columns, results=settings["results"], interval={"level": 0.5})
    assert usual.low <= 2 / 3 <= usual.high
    assert usual.low < narrow["full"].low < narrow["full"].high < usual.high

    fitted = metaeval.fit_gate(rows, labels, ["overlap"], columns=columns, **settings)
    assert list(fitted.to_frame().threshold) == [fitted.gate.threshold]
    assert read_html(fitted._repr_html_())
    assert metaeval.check_gate(rows, fitted.gate, max_unsupported=0.4, columns=columns, **settings).passed
    assert not metaeval.check_gate(rows, fitted.gate, max_unsupported=0.1, columns=columns, **settings).passed
    with pytest.raises(UserError, match=r"give the \.gate of what fit_gate returned"):
        metaeval.check_gate(rows, fitted, columns=columns, **settings)
    with pytest.raises(UserError, match="--max-unsupported is 2; allowed"):
        metaeval.check_gate(rows, fitted.gate, max_unsupported=2, columns=columns, **settings)


def test_evaluate_reads_files_and_tables_run_data_sets(settings, tmp_path):
    lines = [json.dumps({"pair_id": pair.pair_id, "score": len(pair.source)}) for pair in metaeval.pairs()]
    (tmp_path / "mine.jsonl").write_text("\n".join(lines) + "\n")

    mine = metaeval.evaluate(tmp_path / "mine.jsonl", **settings)
    suite = metaeval.run(suite=True, dataset="mini", metrics=["overlap", "bm25"], protocols=["retrieval"], **settings)

    assert [row.metric for row in mine[0].rows if row.kind == "metric"] == ["mine"]
    assert [result.protocol for result in suite] == ["retrieval"]
    assert list(suite.tables) == ["table-1-levels", "table-retrieval"]
    drawn = {"figure-forest", "figure-3-ndcg-mini-all-chunk"}
    assert set(metaeval.results.figures(suite)) == set(metaeval.results.figures(*suite)) == drawn
    with pytest.raises(UserError, match="has no job yet"):
        metaeval.results.figures("latest", results=tmp_path / "none")
    with pytest.raises(UserError, match="Result objects cannot be drawn together with jobs"):
        metaeval.results.figures(suite, "latest")
    with pytest.raises(UserError, match="is for one data set"):
        metaeval.run(metaeval.load_corpus("mini"), suite=True)


def test_ratings_are_read_from_a_data_frame(settings):
    levels = ("full", "none", "partial")
    rows = [(f"r{n}", f"a{n % 10}", levels[n % 3], n % 3) for n in range(40)]
    table = pandas.DataFrame(rows, columns=["id", "article", "Urteil", "mine"])
    columns = {"gold": "Urteil"}
    ratings = metaeval.load_ratings(data=table, columns=columns)
    assert (len(ratings.rows), set(ratings.scores), ratings.levels) == (40, {"mine"}, True)

    (found,) = metaeval.evaluate(data=table, columns=columns, protocols=["correlation"], **settings)
    assert [row.metric for row in found.rows if row.kind == "metric"] == ["mine"]
    with pytest.raises(UserError, match="is the data set itself: leave dataset='frank' out, or the table"):
        metaeval.load_ratings("frank", table)


def test_bars_are_shown_in_notebooks_alone(monkeypatch, capsys):
    from metaeval.report.notebook import notebook_progress

    with notebook_progress() as report:
        assert report is None
    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell, version_info=(9,)))
    monkeypatch.setitem(sys.modules, "tqdm.auto", pytest.importorskip("tqdm"))  # the bars of a terminal
    with notebook_progress() as report:
        for name, done, total in (("overlap", 4, 12), ("overlap", 7, 10), ("rouge", 3, 5)):
            report(name, done, total)
    shown = capsys.readouterr().err
    assert "overlap:  70%" in shown
    assert "rouge:  60%" in shown


def test_every_function_checks_its_arguments():
    functions = [one for name in metaeval.__all__ if inspect.isfunction(one := getattr(metaeval, name))]
    assert len(functions) >= 19
    assert {one.__qualname__ for one in functions if not hasattr(one, "__wrapped__")} <= {
        *metaeval.ANALYSES,
        "metric",  # a decorator, which says itself what is wrong
    }


def test_a_run_is_written_when_its_page_is_wanted(ran, settings, tmp_path):
    page = metaeval.view(ran, output=tmp_path / "view.html")
    assert page.stat().st_size > 100_000
    folder = ran.write()
    assert (folder / "manifest.json").is_file()
    assert ran.write() == folder
    labels = {"overlap": "Words in common"}
    tables = metaeval.results.export(folder, "latex", tmp_path / "tex", labels, results=settings["results"])
    assert {"Words in common" in path.read_text() for path in tables} == {True}
    assert metaeval.results.show(ran, results=settings["results"])
    assert metaeval.results.show(f"{folder}/", results=settings["results"])  # as a shell completes it
    arrays = metaeval.evaluate_arrays({"a": [0.1, 0.2, 0.9, 0.8]}, [0, 0, 1, 1])
    with pytest.raises(UserError, match="belong to no job"):
        arrays.write()
    assert "help(metaeval.RunConfig)" in metaeval.run.__doc__
