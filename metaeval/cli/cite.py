"""The commands `cite alce` and `cite aliice`: citation recall and precision of answers, with any metric as judge."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from metaeval.cli import cite_citeeval, cite_compare, cite_improve, cite_meta, cite_refit, cite_rewrite, cite_scifi
from metaeval.cli import cite_options as how
from metaeval.cli import options as opt
from metaeval.cli.sheets import finish

app = typer.Typer(
    help="Judge the citations in answers, with any metric.",
    epilog="For example: metaeval cite aliice answers.json --nli minilm-bertscore",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
def alce(
    files: how.Files,
    nli: how.Nli = None,
    threshold: how.Threshold = None,
    calibration: how.Calibration = None,
    premise: how.Premise = "joint",
    profile: how.Profile = "paper",
    format: how.Format = "auto",
    units: Annotated[
        str, typer.Option(help="sentences, or list: items between commas (QAMPARI).", metavar="UNITS")
    ] = "sentences",
    measures: how.Measures = None,
    reader: how.Reader = None,
    mauve_model: how.MauveModel = None,
    splitter: how.Splitter = "auto",
    results: opt.Results = None,
    store: opt.Store = None,
    budget: opt.Budget = None,
    set_: opt.Set = None,
    quiet: opt.Quiet = False,
) -> None:
    """Citation recall and precision of whole sentences (ALCE).

    \b
    Examples:
      metaeval cite alce answers.json
      metaeval cite alce answers.json --nli autoais --profile released
      metaeval cite alce one.json two.json --nli minilm-bertscore --nli overlap
      metaeval cite alce answers.jsonl --nli nli --threshold 0.5
    """
    _cite("alce", {**locals(), "parser": "small"})


@app.command()
def aliice(
    files: how.Files,
    nli: how.Nli = None,
    threshold: how.Threshold = None,
    calibration: how.Calibration = None,
    premise: how.Premise = "joint",
    profile: how.Profile = "paper",
    parser: Annotated[
        str, typer.Option(help="small (shipped), spacy:NAME, stored:FILE, ud:FILE, ud:stanza.", metavar="NAME")
    ] = "small",
    format: how.Format = "auto",
    measures: how.Measures = None,
    reader: how.Reader = None,
    mauve_model: how.MauveModel = None,
    splitter: how.Splitter = "auto",
    results: opt.Results = None,
    store: opt.Store = None,
    budget: opt.Budget = None,
    set_: opt.Set = None,
    quiet: opt.Quiet = False,
) -> None:
    """Citation recall and precision within sentences (ALiiCE).

    A sentence is cut into one claim for each of its citation groups, by the
    place of the citations in its dependency tree.

    \b
    Examples:
      metaeval cite aliice answers.json
      metaeval cite aliice answers.json --parser spacy:en_core_web_sm
      metaeval cite aliice answers.json --nli rouge,overlap --profile released
    """
    _cite("aliice", {**locals(), "units": "sentences"})


app.command("citeeval")(cite_citeeval.citeeval)
app.command("scifi")(cite_scifi.scifi)
app.command("meta")(cite_meta.meta)
app.command("agreement")(cite_compare.agreement)
app.command("tables")(cite_compare.tables)
app.command("rewrite")(cite_rewrite.rewrite)
app.command("improve")(cite_improve.improve)
app.command("refit")(cite_refit.refit)


def _cite(pipeline: str, given: dict[str, Any]) -> None:
    from metaeval.cli.progress import scoring_progress
    from metaeval.experiment.citing.run import Asked, run_cited, write_cited

    asked = Asked(
        pipeline=pipeline,
        files=tuple(given["files"]),
        form=given["format"],
        nli=how.names(given["nli"]),
        threshold=given["threshold"],
        calibrations=tuple(given["calibration"] or ()),
        premise={"chunks": "max over chunks"}.get(given["premise"], given["premise"]),
        profile=given["profile"],
        parser=given["parser"],
        splitter=given["splitter"],
        units={"list": "list items"}.get(given["units"], given["units"]),
        measures=tuple(name.strip() for name in (given["measures"] or "").split(",") if name.strip()),
        **opt.settings(reader=given["reader"], mauve_model=given["mauve_model"]),
    )
    settings = opt.settings(results=given["results"], store=given["store"], budget=given["budget"])
    with scoring_progress(given["quiet"]) as progress:
        cited, sheets = run_cited(asked, settings, given["set_"] or [], progress)
    folder, written = write_cited(asked, cited)
    finish(sheets, folder, written, given["quiet"])
