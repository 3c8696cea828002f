"""What stands around CiteEval's sheets: the data, every choice that made the numbers, and the signatures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metaeval.citation.citeeval.editing import PUBLISHED
from metaeval.citation.citeeval.editing import fingerprint as coefficients_fingerprint
from metaeval.citation.measures import group_codes
from metaeval.experiment.citing.citeeval.fields import asked_fields, changed_options
from metaeval.experiment.citing.citeeval.run import Rated
from metaeval.experiment.citing.provenance import fingerprint, resampled, signed, uncertainty
from metaeval.experiment.sheet import Record, Scalar, Sheet
from metaeval.report.citation.layout import Frame
from metaeval.report.grid import Grid, Note, count, plain
from metaeval.report.result import Data


def data_of(rated: Rated) -> Data:
    """What was judged, for the files: documents are passages."""
    statements = [one.statement for result in rated.results for one in result.statements]
    return Data(
        name=rated.name,
        split="citeeval",
        fingerprint=fingerprint(rated.answers),
        statements=len(statements),
        documents=sum(len(answer.passages) for answer in rated.answers),
        citations=sum(len(one.citations) for one in statements),
        groups=group_codes(rated.answers)[1],
        levels={},
    )


def own_fields(rated: Rated) -> dict[str, Scalar]:
    """What CiteEval's numbers depend on beside the answers."""
    return {**shared_fields(rated), **_refitted(rated), **asked_fields(rated.asking, rated.models)}


def shared_fields(rated: Rated) -> dict[str, Scalar]:
    """What every number of the run depends on."""
    return {
        "pipeline": "citeeval",
        "profile": rated.profile,
        "options": changed_options(rated.profile, rated.options),
        "scenario": rated.scenario,
        "splitter": rated.splitter,
    }


def frame_of(
    rated: Rated,
    data: Data,
    name: str,
    title: str,
    notes: Sequence[Note] = (),
    made: Sequence[Mapping[str, object]] | None = None,
) -> Frame:
    """What stands around a table; made: the fields of each of its signatures, by default CiteEval's own."""
    said = f"{count(len(rated.answers), 'answer')} of {count(len(rated.systems), 'system')}, "
    said += f"{count(data.groups, 'group')}; {count(data.statements, 'statement')}, {count(data.citations, 'citation')}"
    shown = shared_fields(rated) | (_refitted(rated) if made is None else {})
    settings = [f"{key} {plain(str(value))}" for key, value in shown.items() if key != "pipeline"]
    footer = (
        Note("data", said),
        Note("settings", ", ".join(settings)),
        *notes,
        uncertainty(rated.config.interval, data.groups),
    )
    subtitle = f"{plain(data.name)}, CiteEval, profile {plain(rated.profile)}, {rated.scenario} scenario"
    signatures = tuple(signed(data, fields, rated.config.interval) for fields in made or [own_fields(rated)])
    return Frame((name, data.name, "CiteEval"), title, subtitle, footer, signatures)


def judge_note(rated: Rated, prompts: str) -> Note:
    """Which model judged, and by which wordings."""
    wordings = prompts.replace(",", ", ")  # so that a line can end between them
    return Note("judge", f"{plain(rated.asking.model)}, answered as {plain(rated.answered_as)}; {wordings}")


def sheet_of(
    rated: Rated,
    data: Data,
    name: str,
    records: Sequence[Record],
    grid: Grid,
    fields: Mapping[str, Scalar] | None = None,
) -> Sheet:
    """A table of the run with its data and settings; fields: by default CiteEval's own."""
    own = own_fields(rated) if fields is None else fields
    return Sheet(name, data, {**own, **resampled(rated.config.interval)}, records, grid)


def _refitted(rated: Rated) -> dict[str, Scalar]:
    """Whose coefficients the edit distance has, where they are not the published ones."""
    if rated.coefficients == PUBLISHED:
        return {}
    return {"coefficients": f"refitted@{coefficients_fingerprint(rated.coefficients)}"}
