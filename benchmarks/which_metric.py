"""The page "Which metric should I use?", made from `results/reference` and the published values that are shipped.

python -m benchmarks.which_metric > docs/how-to/which-metric.md
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.reference import KEPT
from benchmarks.reference.results import METRICS, OFFLINE, PUBLISHED, kept_results
from metaeval.report.ranking_measures import Headline, above_every_control, best_control, listed, top
from metaeval.report.result import Column, Result, Row
from metaeval.report.table import format_value
from metaeval.runs.published import PublishedPaper, published_files, read_published
from metaeval.scoring.controls import GOLD_CONTROLS
from metaeval.stats.estimate import Estimate

FEW = 30
"""Effective groups below which an interval may hold the true value less often than it says."""

TITLES = {
    "wice-test-chunk": "WiCE, chunks",
    "wice-test-page": "WiCE, pages",
    "factcheck_gpt-all-page": "Factcheck-GPT",
    "qasem-test-page": "QASem",
    "expertqa-rand_test-page": "ExpertQA",
    "frank-all-rating": "FRANK",
    "xsum_hallucination-all-rating": "XSum",
}


IN_WORDS = {
    "fs_ns": "full / none ROC-AUC (FS-NS)",
    "fs_ps": "full / partial ROC-AUC (FS-PS)",
    "ps_ns": "partial / none ROC-AUC (PS-NS)",
}
"""The names of the measures of classification."""


@dataclass(frozen=True)
class Purpose:
    """What a metric is wanted for: the measure that says how good it is at that, under which protocol."""

    title: str
    protocol: str
    measure: str
    text: str


PURPOSES = (
    Purpose(
        "Find citations without any support",
        "classification",
        "ps_ns",
        """Partial / none ROC-AUC (PS-NS): the chance, in per cent, that a partly supported statement has a higher score
than an unsupported one. 50 is chance. Full / none ROC-AUC (FS-NS), the easier half, is in the result files.""",
    ),
    Purpose(
        "Tell full from partial support",
        "classification",
        "fs_ps",
        "Full / partial ROC-AUC (FS-PS), in the same way.",
    ),
    Purpose(
        "Rank passages by how much they support a statement",
        "retrieval",
        "ndcg@5",
        "NDCG@5 over each statement's own candidates. 1 is the best order; chance is not 0, so look at the controls.",
    ),
)

INTRO = f"""\
# Which metric should I use?

On data like yours you compare metrics yourself: `metaeval run -d wice -m overlap,support-mini,minilm-bertscore`. Below
are the metrics that run offline on a laptop, on English data sets with human labels. For large models and judges, and
more data sets, <a href="../reference-results.html">**choose a task, a language and a budget**</a>
(`results/reference/index.html`).

Values have 95 % intervals over whole groups. An asterisk marks one that rests on fewer than {FEW} effective groups, and
may be too narrow; with fewer than 6 there is none. **Bold** is the highest value of a column, or not significantly
worse by a paired test (Holm over the tests of the column). Where all are bold, the data do not say which is better:
take the cheapest. support-mini was fitted on WiCE's dev split, support-minilm (no longer a metric) on the dev splits of
WiCE, QASem and ExpertQA.
"""

OUTRO = """\
## What this page cannot say

- Which metric is best on *your* data. Label some of them: [Labels and gates](labels-and-gates.md).
- Whether a large model is worth its cost: none was run for these tables.
- Anything about other languages than English ([Languages](../reference/policies.md#languages)).

`python -m benchmarks.which_metric` makes this page from `results/reference`, which holds the scores by pair id. With
the data beside them, a column is evaluated again, and a table printed with its controls, by

```sh
folder=results/reference/wice-test-page
metaeval evaluate $folder/scores.csv --map score=overlap \\
  -d wice --unit page -p all
metaeval results show $folder/classification.json.gz
```
"""


def page(folder: Path = KEPT) -> str:
    """The page as Markdown."""
    results = kept_results(folder)
    parts = [INTRO, _summary(results)]
    for purpose in PURPOSES:
        parts += [f"## {purpose.title}\n", f"{purpose.text}\n", *_purpose(results, purpose)]
    parts += ["## What a score costs\n", _cost(folder / "cost.csv")]
    parts += ["## Values that others have published\n", *_published(results), OUTRO]
    return "\n".join(parts)


def of_purpose(results: Mapping[str, Mapping[str, Result]], purpose: Purpose) -> dict[str, Result]:
    """The results that hold the purpose's measure for some metric, by set; the shipped corpus is left out."""
    return {
        name: result
        for name, by_protocol in results.items()
        if name in TITLES and (result := by_protocol.get(purpose.protocol))
        if any(_value(row, purpose.measure).value is not None for row in _metrics(result))
    }


def best(result: Result, measure: str) -> list[str]:
    """Return the metric that is best in a measure, and those that are not significantly different from it."""
    return top(Headline(result, next(column for column in result.columns if column.key == measure)))


def _metrics(result: Result) -> list[Row]:
    return [row for row in result.rows if row.kind == "metric"]


def _value(row: Row, measure: str) -> Estimate:
    return row.values.get(measure, Estimate(None))


def _summary(results: Mapping[str, Mapping[str, Result]]) -> str:
    rows = []
    for purpose in PURPOSES:
        shown = of_purpose(results, purpose)
        bests = [best(result, purpose.measure) for result in shown.values()]
        always = [metric for metric in METRICS if all(metric in one for one in bests)]
        rows.append(
            (purpose.title, IN_WORDS.get(purpose.measure, purpose.measure.upper()), str(len(shown)), _named(always))
        )
    head = ("you want to", "measure", "sets", "highest on every set, or not significantly worse")
    return f"{_table(head, rows)}\n"


def _named(metrics: Sequence[str]) -> str:
    return ", ".join(metrics) if metrics else "no metric"


def _purpose(results: Mapping[str, Mapping[str, Result]], purpose: Purpose) -> Iterator[str]:
    shown = of_purpose(results, purpose)
    found = {name: {row.metric: row for row in result.rows} for name, result in shown.items()}
    heads = [f"{TITLES[name]} ({result.rows[0].scored:,})" for name, result in shown.items()]
    rows = []
    for metric in METRICS:
        cells = [_cell(found[name][metric], result, purpose.measure) for name, result in shown.items()]
        rows.append((metric, *cells))
    controls = [_best_control(result, purpose) for result in shown.values()]
    rows.append(("*best control*", *controls))
    yield f"{_table(('metric', *heads), rows)}\n"
    yield f"{_beyond_controls(shown, purpose)}\n"


def _best_control(result: Result, purpose: Purpose) -> str:
    headline = Headline(result, _column(result, purpose))
    best = best_control(headline, GOLD_CONTROLS)
    return f"{headline.number(best)} ({best.metric})" if best else ""


def _column(result: Result, purpose: Purpose) -> Column:
    return next(column for column in result.columns if column.key == purpose.measure)


def _cell(row: Row, result: Result, measure: str) -> str:
    value, column = _value(row, measure), next(column for column in result.columns if column.key == measure)
    number = format_value(value.value, column)
    if row.letters and row.metric in best(result, measure):
        number = f"**{number}**"
    if value.low is None or value.high is None:
        return number
    star = "\\*" if value.effective is not None and value.effective < FEW else ""
    return f"{number} {format_value(value.low, column)}–{format_value(value.high, column)}{star}"


def _beyond_controls(shown: Mapping[str, Result], purpose: Purpose) -> str:
    """Name the metrics with a model that are significantly better than every control, by data set."""
    found = {
        TITLES[name]: [
            row.metric
            for row in _metrics(result)
            if row.metric not in OFFLINE
            and above_every_control(Headline(result, _column(result, purpose)), row, GOLD_CONTROLS)
        ]
        for name, result in shown.items()
    }
    said = [f"{listed(above)} on {where}" for where, above in found.items() if above]
    text = f"Significantly better than every control: {'; '.join(said)}."
    if not said:
        text = "On no set is a metric with a model significantly better than every control."
    return f"{text} `overlap` and `support-mini` are two of the controls."


def _cost(path: Path) -> str:
    with path.open(encoding="utf-8", newline="") as file:
        costs = list(csv.DictReader(file))
    rows = [(cost["metric"], f"{float(cost['pairs_per_second']):,.0f}") for cost in costs]
    text = f"Pairs per second of CPU time on one core, on {costs[0]['pairs']} pairs of WiCE's chunks, measured once."
    needs = f"{listed(OFFLINE)} need nothing but the package, the others torch and a model of 91 MB."
    return f"{text} {needs}\n\n{_table(('metric', 'pairs per second'), rows)}\n"


def _published(results: Mapping[str, Mapping[str, Result]]) -> Iterator[str]:
    for path in sorted(published_files(), key=lambda path: path.name):
        pack = read_published(path)
        if "correlation" not in pack.tables:
            continue  # accuracies of decisions: no measure of this page
        name = next((one for one in PUBLISHED if one.startswith(f"{pack.dataset}-")), "")
        yield from _measured_again(pack, results[name]["correlation"]) if name in results else _as_printed(pack)


def _as_printed(pack: PublishedPaper) -> Iterator[str]:
    """The values of a paper whose data do not come with scores."""
    counts = ", ".join(f"{count:,} {level}" for level, count in pack.levels.items())
    yield (
        f"**{pack.source}**, on its own chunks of {pack.dataset} ({counts}), without intervals. Its [labels of chunks]"
        f"(../explanation/evidence.md) lower FS-PS for every metric.\n"
    )
    keys = {**IN_WORDS, "spearman": "Spearman"}
    values = {
        metric: {**pack.tables["classification"].values[metric], **pack.tables["correlation"].values[metric]}
        for metric in pack.tables["classification"].values
    }
    best_first = sorted(values.items(), key=lambda item: -item[1]["overall"])
    rows = [
        (metric, *(f"{found[key]:.{3 if key == 'spearman' else 2}f}" for key in keys)) for metric, found in best_first
    ]
    yield f"{_table(('metric', *keys.values()), rows)}\n"


def _measured_again(pack: PublishedPaper, result: Result) -> Iterator[str]:
    """The values of a paper beside those of its published scores, with intervals and tests that the paper lacks."""
    table = pack.tables["correlation"]
    key = next(iter(next(iter(table.values.values()))))
    column = next(column for column in result.columns if column.key == key)
    rows = sorted(_metrics(result), key=lambda row: -(_value(row, key).value or -1.0))
    cells = [
        (row.metric, _cell(row, result, key), f"{table.values[row.metric][key]:.{column.digits}f}")
        for row in rows
        if row.metric in table.values
    ]
    where = TITLES[f"{pack.dataset}-all-rating"]
    yield f"**{pack.source}**: {column.label} of the scores published with {where}.\n"
    yield f"{_table(('metric', 'measured here', 'in the paper'), cells)}\n"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def main() -> None:
    """Print the page."""
    print(page(), end="")


if __name__ == "__main__":
    main()
