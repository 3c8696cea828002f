"""Contract checks of a citation pipeline: of its declaration, and of runs on a few answers."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from metaeval.citation.pipelines.pipeline import AsksChat, JudgedByMetrics, Pipeline, PipelineOptions, ReadsAnswers
from metaeval.citation.pipelines.pipeline_result import PipelineResult
from metaeval.citation.pipelines.run_pipeline import prepare, run_pipeline
from metaeval.conformance.check_helpers import NotCheckedError, checks_of, instance_of, need, need_name, refuse, runs
from metaeval.declared import validated
from metaeval.errors import UserError

_PASSAGES = [
    {"title": "Lighthouse", "text": "The lighthouse was built in 1873. It stands 41 metres tall."},
    {"title": "Kettle", "text": "Kettles with a steel body get hot during use."},
]
ANSWERS = (
    {
        "id": "1",
        "group": "q1",
        "question": "How tall?",
        "text": "The lighthouse is 41 metres tall [1]. It is old [1][2].",
    },
    {"id": "2", "group": "q2", "question": "Is it hot?", "text": "A kettle of steel gets hot [2]. Nobody knows why."},
    {"id": "3", "group": "q3", "question": "When?", "text": "It was built in 1873 [1]; kettles are hot [2]."},
)
UNUSUAL = (
    {"id": "1", "group": "q1", "question": "Which?", "text": "No mark at all."},
    {"id": "2", "group": "q2", "question": "Which?", "text": "A mark of no passage [7]. São Paulo — 東京 🙂 [1]."},
    {"id": "3", "group": "q3", "question": "Which?", "text": "[1]"},
)


@dataclass
class PipelineSubject:
    """A citation pipeline under test.

    value: the registered object. options: its own options, as typed. data: a file to read in place of a few made-up
    answers. name: the name that it is registered under; "": none.
    """

    value: Any
    options: Mapping[str, str] = field(default_factory=dict)
    data: Path | None = None
    name: str = ""

    @property
    def pipeline(self) -> Pipeline:
        """Return the declaration of the pipeline."""
        return instance_of(self.value, Pipeline, "pipeline")

    @cached_property
    def files(self) -> dict[str, bytes]:
        """Return the content of the files that a run on `ANSWERS` (or `data`) writes, by their paths in its folder."""
        return self.written(ANSWERS)

    def written(self, answers: tuple[Mapping[str, Any], ...]) -> dict[str, bytes]:
        """Run the pipeline on these answers (or on `data`, if set), and return the content of its files by path."""
        with tempfile.TemporaryDirectory() as folder:
            result = runs("The pipeline", partial(self.result, answers, Path(folder)))
            if not isinstance(result, PipelineResult):
                refuse(f"The run gives {type(result).__name__}: lay_out has to return a Layout.")
            need(result.tables, "lay_out returns no table: return Layout([sheet]), a sheet from Provenance.sheet.")
            for name, sheet in result.tables.items():
                need(sheet.records, f"The table {name!r} has no records: give one for each line and measure.")
            if not result.signatures:
                refuse("No table has a signature: make sheets by Provenance.sheet, with the choices as fields.")
            return {path.relative_to(folder).as_posix(): path.read_bytes() for path in result.write()}

    def result(self, answers: tuple[Mapping[str, Any], ...], folder: Path) -> Any:
        """Return the result of a run; the metric `overlap` judges if metrics are needed and none is named."""
        pipeline, data = self.pipeline, self.data
        if data is None and not issubclass(pipeline.options, ReadsAnswers):
            raise NotCheckedError("it reads no answers: give a file of what it reads with --data")
        if pipeline.chat == "always" and "replay" not in self.options:
            raise NotCheckedError("it asks a chat model: give recorded replies with --option replay=FILE")
        if data is None:
            data = folder / "answers.jsonl"
            rows = [{**answer, "passages": _PASSAGES} for answer in answers]
            data.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        judged = issubclass(pipeline.options, JudgedByMetrics) and pipeline.backends != "none"
        inputs = {"file": data} if "file" in pipeline.options.model_fields else {"files": (data,)}
        splitter = {"splitter": "rules"} if "splitter" in pipeline.options.model_fields else {}
        options = validated(
            pipeline.options,
            {**({"nli": "overlap"} if judged else {}), **splitter, **self.options, **inputs},
            "the options",
        )
        return run_pipeline(prepare(pipeline, options, {"results": folder / "results"}, ["interval.resamples=20"]))


def declares_itself(subject: PipelineSubject) -> None:
    """Check the texts, options and requirements from which the command and its help are made."""
    pipeline = subject.pipeline
    need_name("The pipeline's", pipeline.name, subject.name)
    for what in ("name", "title", "paper", "help"):
        need(getattr(pipeline, what), f"The pipeline's {what} is empty: fill it; `cite --help` and tables show it.")
    first = pipeline.help.strip().splitlines()[0]
    need(
        first.endswith((".", "?")), f"The first line of help is {first!r}: make it one sentence, which stands in lists."
    )
    if not (isinstance(pipeline.options, type) and issubclass(pipeline.options, PipelineOptions)):
        refuse("options is not a class of options: give a subclass of PipelineOptions, such as ReadsAnswers.")
    for name, option in pipeline.options.model_fields.items():
        need(
            option.description,
            f"Option {name!r} has no description: give Field(description=...), which its help shows.",
        )
    for measure in pipeline.measures:
        need(measure.label and measure.meaning, f"Measure {measure.key!r} has no label or meaning: say what it is.")
    keys = [measure.key for measure in pipeline.measures]
    need(len(set(keys)) == len(keys), f"Two measures have one key, among {', '.join(keys)}: give each its own.")
    need(
        pipeline.backends in ("none", "optional") or issubclass(pipeline.options, JudgedByMetrics),
        f"backends={pipeline.backends!r} needs options that name metrics: add JudgedByMetrics to the options' bases.",
    )
    if pipeline.chat != "none" and not issubclass(pipeline.options, AsksChat):
        refuse(f"chat={pipeline.chat!r} needs options that name a model: add AsksChat to the options' bases.")


def a_run_gives_tables_with_signatures(subject: PipelineSubject) -> None:
    """Check that a run returns tables with records and signatures, and files that can be written."""
    need(subject.files, "The run writes no file.")


def the_same_run_gives_the_same_files(subject: PipelineSubject) -> None:
    """Check that two runs write the same files, byte by byte, except manifests."""
    again = subject.written(ANSWERS)
    # A manifest holds time and machine.
    names = [name for name in subject.files.keys() | again.keys() if not name.endswith("manifest.json")]
    changed = sorted(name for name in names if subject.files.get(name) != again.get(name))
    need(
        not changed,
        f"Two runs on the same answers differ in {', '.join(changed)}: sort what has no order; write no time, no path.",
    )


def unusual_answers_are_read_or_refused(subject: PipelineSubject) -> None:
    """Check that answers without marks, or with a mark of no passage, raise at most `UserError` (not with `data`)."""
    if subject.data is None:
        with tempfile.TemporaryDirectory() as folder, suppress(UserError, NotCheckedError):
            runs(
                "A run on answers without marks, or with a mark of no passage,",
                partial(subject.result, UNUSUAL, Path(folder)),
                UserError,
                "Count such answers, or raise metaeval.errors.UserError.",
            )


CHECKS = checks_of(globals())
