"""The analysis `cite tables`: Tables 1 (scores of every system), 3 (ALiiCE beside ALCE) and 4 (people) of ALiiCE.

Figure 3, answers on which ALiiCE and ALCE differ, is a table too.

Where a system has several samples (`Answer.sample`), cells are the mean of the samples' values and, in brackets, their
standard deviation (n - 1); else a value with its interval.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import mean, stdev
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from metaeval.analyses.analysis import Analysis, Done, Progress
from metaeval.citation.alce import correctness
from metaeval.citation.alce.citations import ALIICE, MAUVE_MODEL, AlceProfile, read_alce
from metaeval.citation.alce.correctness import MAUVE
from metaeval.citation.aliice.citation_lines import WITHIN, read_aliice
from metaeval.citation.aliice.claim_options import aliice_profile
from metaeval.citation.citation_table import Profile, claims_of
from metaeval.citation.data_model import Answer
from metaeval.citation.marks_and_sentences import find_sentence_splitter
from metaeval.citation.measures import Statistic, value_of
from metaeval.citation.pipelines import options as shared
from metaeval.citation.pipelines.agreement import as_texts
from metaeval.citation.pipelines.alce import MEASURES, PremiseName, judge_claims
from metaeval.citation.pipelines.aliice import parser_note
from metaeval.citation.pipelines.aliice_human_labels import answers_of, people_sheet, read_people
from metaeval.citation.pipelines.cited import CitedSheets, CitedTable
from metaeval.citation.pipelines.metric_verdicts import Judges
from metaeval.citation.pipelines.provenance import Provenance, TableLines, interval_cell, value_records
from metaeval.citation.readers.answer_files import gather
from metaeval.core.config_files import read_experiment
from metaeval.core.declared import Flag
from metaeval.core.errors import UserError
from metaeval.core.files import safe_name
from metaeval.report.result import Column
from metaeval.report.table import Cell, ColumnGroup, Note, Record, Table, format_value, plain
from metaeval.stats.arrays import Ints
from metaeval.stats.estimate import Estimate

_SHARE = MEASURES[0].column
_WORDS = Column(key="", label="", digits=1)
_CASES = 2  # answers in Figure 3
# Keys and columns of the measures in Table 1, by heading; of several measures the first that has a value.
_OVERALL: Mapping[str, tuple[tuple[str, ...], Column]] = {
    "Rec.": (("recall",), _SHARE),
    "Prec.": (("precision",), _SHARE),
    "F1": (("f1",), _SHARE),
    "CV_CP": (("cvcp",), Column(key="", label="", digits=2)),
    "Fluency": ((MAUVE,), _SHARE),
    "Correct.": (("str_em", "rougeLsum"), _SHARE),
    "Length": (("length",), _WORDS),
}


class TablesOptions(shared.JudgedByMetrics):
    """Options of `cite tables`; the file `config` can give their values."""

    untyped = frozenset({"format", "mauve_model", "premise", "sources", "splitter", "threshold"})

    files: Annotated[tuple[str, ...], Flag("FILE", multiple=True, argument=True)]
    """Files of answers, one per system: FILE, or DATASET=FILE,FILE."""
    config: Annotated[Path | None, Flag("FILE", "-c")] = None
    """YAML file of settings, or aliice (included)."""
    profile: Annotated[str, Flag("NAME")] = Field(default="paper", description="Definition, as for 'cite aliice'.")
    parser: shared.ParserName = "small"
    splitter: shared.Splitter = "auto"
    format: shared.FormatName = "auto"
    sources: shared.SourcesFile = None
    premise: PremiseName = "joint"
    human: Annotated[shared.Files, Flag("FILE", multiple=True, hidden=True)] = ()
    """Table of people's labels of the answers, for Table 4; or one for each reader."""
    labels: Annotated[tuple[str, ...], BeforeValidator(as_texts), Flag("NAME=COLUMNS", multiple=True, hidden=True)] = ()
    """Columns of labels: utility, citation_utility, recall, precision. Repeatable."""
    mauve_model: Annotated[str, Flag("MODEL")] = MAUVE_MODEL
    """Model of the fluency: hub id or folder; none: no fluency."""

    @model_validator(mode="before")
    @classmethod
    def _with_the_file(cls, values: dict[str, Any]) -> dict[str, Any]:
        file = values.get("config")
        return {**(read_experiment(Path(file), values, "citation") if file else {}), **values}


def read_files(texts: Sequence[str]) -> dict[str, list[Path]]:
    """Return files by data set from NAME=FILE,FILE; files without a name belong to the data set "answers"."""
    paths_by_name: dict[str, list[Path]] = {}
    for text in texts:
        name, equals, files = text.partition("=")
        if not equals or Path(text).is_file():
            name, files = "answers", text
        paths_by_name.setdefault(name or "answers", []).extend(Path(file) for file in files.split(",") if file)
    if not paths_by_name:
        raise UserError("No file of answers is given: give at least one, as FILE or DATASET=FILE,FILE.")
    return paths_by_name


def _run(options: TablesOptions, progress: Progress) -> Done:
    """Return Tables 1, 3 and 4, Figure 3 and the values of Figure 4 of every data set, each in its own folder."""
    if len(options.nli) > 1:
        raise UserError(f"The paper's tables use one metric, and {len(options.nli)} are given as nli: give only one.")
    files, people = read_files(options.files), read_people(options.human, options.labels)
    judges, splitter = Judges(options, progress), find_sentence_splitter(options.splitter)
    profile = aliice_profile(options.profile)
    read = {name: gather(paths, options.format, options.sources) for name, paths in files.items()}
    labelled = {name: people for name, answers in read.items() if people and (answers_of(people, answers) >= 0).any()}
    if people and not labelled:
        raise UserError(f"No row of {options.human[0]} is of one of these answers: write their ids in its column id.")
    claims = {name: read_aliice(answers, profile, splitter, options.parser) for name, answers in read.items()}
    sheets: list[Table] = []
    for name, answers in read.items():
        wanted = _measures(options, answers)
        aliice = judge_claims(name, claims[name], judges, splitter, wanted, mauve_model=options.mauve_model)
        by_sentence = read_alce(answers, read_alike(profile), splitter)
        alce = judge_claims(name, by_sentence, judges, splitter, ("length",))
        noted = aliice.provenance(parser_note(options.parser, options.profile))
        around = replace(noted, kind="aliice", subtitle=f"{plain(name)}, profile {plain(profile.name)}")
        beside = replace(around, fields={**around.fields, "alce": by_sentence.profile.name})
        tables = [_overall(aliice, around), _beside(aliice, alce, beside)]
        tables.append(_beside(aliice, alce, beside, name if len(read) > 1 else ""))
        tables += _differing(aliice, alce, beside)
        if name in labelled:
            tables.append(people_sheet(aliice, labelled[name], around))
        sheets += [replace(table, name=f"{safe_name(name)}/{table.name}") for table in tables]
    paths = [*(path for group in files.values() for path in group), *options.human]
    return Done(config=judges.config, sheets=sheets, read=paths, value=CitedSheets(sheets))


def _measures(options: TablesOptions, answers: Sequence[Answer]) -> Sequence[str]:
    """Return the measures of the text: with MAUVE where its package, its model and references are at hand.

    Raises `UserError` for a model that was named and cannot be used.
    """
    referenced = any(answer.reference.get("answer") for answer in answers)
    if options.mauve_model == "none" or find_spec("mauve") is None or not referenced:
        return ()
    try:
        correctness.text_measures((), wanted=(MAUVE,), mauve_model=options.mauve_model)
    except UserError:
        if "mauve_model" in options.model_fields_set:
            raise
        return ()  # the default model is not at hand
    return (*correctness.MEASURES, MAUVE)


def read_alike(profile: Profile) -> AlceProfile:
    """Return ALCE's profile "aliice", reading the same marks and passages as a profile of ALiiCE."""
    shared = ("styles", "leading", "bound", "zero", "out_of_range", "untitled")
    return replace(ALIICE, **{name: getattr(profile, name) for name in shared})


# A value of a system with its interval, and the values of its samples (empty for fewer than two).
SampledValue = tuple[Estimate, Sequence[float]]


def _records(system: str, answers: int | None, values: Mapping[str, SampledValue]) -> list[Record]:
    records = value_records({key: known for key, (known, _) in values.items()}, system=system, answers=answers)
    return [
        {**record, "samples": len(samples) or 1, "mean": mean(samples) if samples else None}
        | {"sd": stdev(samples) if len(samples) > 1 else None}
        for record, (_, samples) in zip(records, values.values(), strict=True)
    ]


def _cell(measured: SampledValue, column: Column) -> Cell | str:
    known, samples = measured
    if len(samples) < 2:
        return interval_cell(known, column)
    return f"{format_value(mean(samples), column)} ({format_value(stdev(samples), column)})"


def _measured(cited: CitedTable, statistic: Statistic, rows: Ints) -> SampledValue:
    return cited.interval_over(statistic, rows), cited.of_samples(rows, partial(value_of, statistic))


def _overall(cited: CitedTable, around: Provenance) -> Table:
    """Return Table 1: citation quality, CVCP, correctness and length of every system."""
    texts, (judged,) = cited.judged[0], cited.judges
    known = {**judged.measured, **texts.measured}
    whole: Mapping[str, Callable[[Ints], float | None]] = texts.whole
    columns = {name: of for name, of in _OVERALL.items() if name != "Fluency" or whole}
    table, length = TableLines(), known["length"].alone
    for number, system in enumerate(cited.systems):
        rows = cited.rows(number)
        shown = [key for keys, _ in columns.values() for key in keys if key in known]
        values = {key: _measured(cited, known[key], rows) for key in shown}
        values |= {key: (Estimate(of(rows)), cited.of_samples(rows, of)) for key, of in whole.items()}
        words = [value for row in rows.tolist() if (value := length[row]) is not None]
        values["length_sd"] = Estimate(stdev(words) if len(words) > 1 else None), ()
        cells = []
        for keys, column in columns.values():
            # The first of the two measures of correctness that the answers have.
            defined = [values[key] for key in keys if key in values and values[key][0].value is not None]
            cells.append(_cell(next(iter(defined), (Estimate(None), ())), column))
        table.add("", system, [*cells, _cell(values["length_sd"], _WORDS)], *_records(system, None, values))
    reading = (
        "as Table 1 of the ALiiCE paper. Values have intervals; mean (standard deviation) where a system has several "
        "samples. Correct.: EM recall, or ROUGE-Lsum where there are no short answers. SD: standard deviation of "
        "the length over answers (n - 1). Fluency: MAUVE"
    )
    lacking = "" if whole else ", which needs the package mauve-text with its model, and reference answers"
    notes = [Note("reading", reading + lacking)]
    return around.lines("table-1", "Citation quality, correctness and length", ("Model", *columns, "SD"), table, notes)


def _beside(aliice: CitedTable, alce: CitedTable, around: Provenance, data: str | None = None) -> Table:
    """Return recall and precision of both pipelines: Table 3, on answers with a citation within a sentence.

    data: for the values of Figure 4, on all answers: name of the data set, which stands before that of the system in
    the figure; "" where there is only one.
    """
    within = np.array(aliice.judged[0].measured[WITHIN].alone, dtype=np.float64) == 1
    table = TableLines()
    for number, system in enumerate(aliice.systems):
        rows = aliice.rows(number) if data is not None else aliice.rows(number)[within[aliice.rows(number)]]
        cells: list[Cell | str] = []
        line = f"{data}: {system}" if data else system
        for cited in (aliice, alce):
            for key in ("recall", "precision"):
                value = _measured(cited, cited.judges[0].measured[key], rows)
                cells.append(_cell(value, _SHARE))
                named = {} if data is None else {"line": line, "pipeline": cited.title}
                measured = {f"{cited.pipeline}_{key}" if data is None else key: value}
                table.records.extend({**of, **named} for of in _records(system, int(rows.size), measured))
        table.add("", system, [*cells, f"{rows.size:,}"])
    if data is None:
        name, title = "table-3", "Answers that cite within a sentence: recall and precision (%)"
        reading = (
            "as Tables 3, 4 and 6 of the ALiiCE paper: answers with a citation between the words of a sentence. ALCE: "
            "its profile aliice, in which only sentences with citations count, and all lines and marks are read"
        )
    else:
        name, title = "figure-4", "All answers: recall and precision (%)"
        reading = "as Figure 4 of the ALiiCE paper: all answers; ALCE by its profile aliice"
    headings = ("Model", "Rec.", "Prec.", "Rec.", "Prec.", "answers")
    groups = (ColumnGroup("ALiiCE", 2), ColumnGroup("ALCE", 2), ColumnGroup("", 1))
    return around.lines(name, title, headings, table, [Note("reading", reading)], groups)


def _differing(aliice: CitedTable, alce: CitedTable, around: Provenance) -> list[Table]:
    """Return Figure 3: the claims of the `_CASES` answers on whose recall and precision the pipelines differ most."""
    judged = {cited.title: cited.judges[0] for cited in (aliice, alce)}
    values = [[each.measured[key].alone for key in ("recall", "precision")] for each in judged.values()]
    apart = np.nansum(np.abs(np.subtract(*np.array(values, dtype=np.float64))), axis=0)
    table = TableLines()
    for row in [row for row in np.argsort(-apart, kind="stable").tolist() if apart[row] > 0][:_CASES]:
        answer = aliice.answers[row]
        about = plain(f"{answer.id} {answer.question}".strip())
        for title, each in judged.items():
            lines = [line for line in each.lines if line.answer == answer.id]
            for claim in claims_of(lines):
                marks = [
                    line for line in lines if line.claim_number == claim.claim_number and line.citation is not None
                ]
                cites = "".join(f"[{line.citation}]" for line in marks)
                precise = "".join(f"[{line.citation}]" for line in marks if line.precision == 1)
                recall = claim.score if claim.recall is None else claim.recall
                named = {"answer": answer.id, "system": answer.system, "pipeline": title, "claim": claim.claim}
                record: Record = {**named, "citations": cites, "recall": recall, "precise": precise}
                cells = ["" if recall is None else f"{recall:.3g}", precise]
                table.add(about, f"{title} {cites} {claim.claim}", cells, record)
    reading = (
        f"as Figure 3 of the ALiiCE paper: the {_CASES} answers on which the pipelines differ most. Recall 1: the "
        "citations together support the claim (soft: its score); precise: those that support it and are needed"
    )
    headings = ("claim", "recall", "precise")
    title = "Answers on which ALiiCE and ALCE differ"
    return [around.lines("figure-3", title, headings, table, [Note("reading", reading)])] if table.rows else []


TABLES = Analysis(
    name="cite tables",
    summary="Make Tables 1, 3 and 4 of the ALiiCE paper from your files.",
    about="""Table 1 has citation quality, correctness and length of every system. Table 3 compares ALiiCE with ALCE on
answers that cite within a sentence, and Figure 3 shows the claims of both where they differ most. Table 4 has people's
labels of these answers, from --human FILE and --labels NAME=COLUMN,COLUMN (utility, citation_utility, recall,
precision). Those of the SCiFi paper are 'metaeval cite tables-scifi'. Source: Xu et al. 2024, ALiiCE (arXiv
2406.13375), Tables 1, 3 and 4.""",
    examples=[
        "cite tables answers.json",
        "cite tables ASQA=a.json,b.json ELI5=c.json -c aliice",
        "cite tables a.json b.json -c aliice --nli rouge --parser small",
    ],
    options=TablesOptions,
    run=_run,
    folder="cite/tables",
    figures=shared.draw,
)
