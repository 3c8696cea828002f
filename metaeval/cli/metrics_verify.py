"""`metaeval metrics verify`: canary pairs through a metric, and how far its scores lie from what they should be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from metaeval.experiment.verify import Compared, Verified

Name = Annotated[str, typer.Argument(help="Metric ('metaeval metrics list').", metavar="NAME")]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--set", "-s", help="An option of the metric: --set folder=models/it. Repeatable.", metavar="KEY=VALUE"
    ),
]


def verify(
    name: Name,
    set_: Options = None,
    official: Annotated[
        bool, typer.Option("--official", help="Also run the official package (bertscore, summac-zs, summac-conv).")
    ] = False,
) -> None:
    """Check a metric's scores on this machine.

    \b
    Thirteen pairs, scored in batches and one by one, and published scores where
    there are any. With --official also the official package, on the same weights:
    it is installed once, into an environment of its own in the cache. Ends with
    code 1 where a difference is larger than allowed.

    \b
    Examples:
      metaeval metrics verify minilm-bertscore
      metaeval metrics verify factcc --set folder=models/factcc
      metaeval metrics verify summac-zs --official
    """
    from metaeval.experiment import verify as check
    from metaeval.experiment.readiness import with_options

    config = with_options(name, set_ or [])
    scorer = check.find_official(name, config, lambda text: typer.echo(text, err=True)) if official else None
    verified = check.verify(name, config)
    compared = check.compare(verified, scorer) if scorer else None
    for line in [*_table(verified, compared), "", *_verdicts(verified, compared)]:
        typer.echo(line)
    if not verified.agrees or (compared and not compared.agrees):
        raise typer.Exit(1)


def _table(verified: Verified, compared: Compared | None) -> list[str]:
    from metaeval.cli.text_columns import aligned
    from metaeval.experiment.verify import difference
    from metaeval.scoring.contract import Status

    headings = ["pair", "score", "tokens", "cut"]
    headings += ["alone differs by"] if verified.single else []
    headings += ["official", "differs by"] if compared else []
    rows = [headings]
    for number, (canary, answer) in enumerate(zip(verified.canaries, verified.batched, strict=True)):
        score = str(answer.status) if answer.score is None else f"{answer.score:.6f}"
        row = [canary.name, score, f"{answer.tokens:,}", f"{answer.cut:,}" if answer.cut else "-"]
        if verified.single:
            row.append(_small(difference(answer, verified.single[number])))
        if compared:
            other = compared.answers[number]
            row.append("-" if other.score is None else f"{other.score:.6f}")
            row.append("-" if answer.status is not Status.OK else _small(difference(answer, other)))
        rows.append(row)
    return aligned(rows, right=range(1, len(headings)))


def _verdicts(verified: Verified, compared: Compared | None) -> list[str]:
    """One line for each thing that was compared."""
    from metaeval.cli.text_columns import aligned
    from metaeval.experiment.verify import BATCH_TOLERANCE, OFFICIAL_TOLERANCE

    rows = []
    worst = verified.batch_difference
    dtype = getattr(verified.metric.options, "dtype", "float32")
    allowed = f"allowed {BATCH_TOLERANCE:g}" if dtype == "float32" else f"that is {dtype}'s rounding"
    if worst is None:
        rows.append(("one by one", "not repeated: a judge is asked each pair alone, and for money"))
    else:
        rows.append(("one by one", f"largest difference {_small(worst)} ({allowed})"))
    for score, ours in verified.published:
        rows.append(("published", f"{score.score:.{score.decimals}f}, here {ours:.6f} ({score.where})"))
    if compared:
        left_out = len(verified.canaries) - compared.pairs
        without = f", {left_out} without a score of ours left out" if left_out else ""
        rows.append(
            (
                compared.package,
                f"largest difference {_small(compared.largest)} over {compared.pairs} pairs{without} "
                f"(allowed {OFFICIAL_TOLERANCE:g})",
            )
        )
    good = verified.agrees and (compared is None or compared.agrees)
    return [*aligned(rows), "As it should be." if good else "NOT as it should be: do not trust its scores here."]


def _small(value: float) -> str:
    if value == float("inf"):
        return "no score"
    return "0" if value == 0 else f"{value:.1e}"
