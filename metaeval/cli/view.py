"""The command that writes the explorer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from metaeval.cli import options as opt
from metaeval.cli.output import say
from metaeval.cli.progress import scoring_progress


@opt.takes("results data trust_config")
def view(
    given: opt.Given,
    jobs: Annotated[
        list[str] | None,
        Argument(help="Jobs as 'results list' names them, or their folders (default: latest).", metavar="RESULT..."),
    ] = None,
    output: Annotated[Path, Option("--output", "-o", help="Page to write.", metavar="FILE")] = Path("view.html"),
    max_pairs: Annotated[
        int, Option(min=1, help="Most pairs of a job on the page; above it statements are drawn.", metavar="N")
    ] = 5000,
    explain: Annotated[
        str, Option(help="Metrics that read a model and are to explain their scores too.", metavar="NAMES")
    ] = "",
    show: Annotated[bool, Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Write a page to look at a job's pairs on: the explorer.

    It is one HTML file that needs no network. It shows where two metrics
    disagree, what the human marked, and what a metric looked at; pairs can be
    labelled on it. The texts are read again from the data. A metric that
    reads a model explains its scores only where --explain names it.

    \b
    Examples:
      metaeval view
      metaeval view wice-test-chunk -o wice.html --open
      metaeval view latest --explain minilm-bertscore
    """
    from metaeval.experiment.viewing import View, write_view

    config = given.run()
    asked = tuple(name.strip() for name in explain.split(",") if name.strip())
    with scoring_progress(quiet=False) as progress:
        wanted = View(config.data, max_pairs, asked, config.trust_config, progress)
        said = write_view(jobs or ["latest"], config.results, output, wanted)
    for line in said:
        say(line)
    size = f"{output.stat().st_size / 1e6:.1f} MB"
    say(f"Written: {output} ({size}). The texts are in it: share it where you may share them.")
    if show:
        import webbrowser

        webbrowser.open(output.resolve().as_uri())
