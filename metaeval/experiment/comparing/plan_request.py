"""What a plan was asked for: a measure by its key, and differences in the units of its table."""

from __future__ import annotations

from collections.abc import Sequence

from metaeval import registry
from metaeval.config import RunConfig
from metaeval.errors import UserError, unknown
from metaeval.experiment.evaluation import find_protocols
from metaeval.experiment.metric_scores import Asked, measure_of
from metaeval.experiment.suites.multiverse import HEADLINE
from protocols.contract import Measure, Protocol


def planned(config: RunConfig, key: str, differences: Sequence[float]) -> Asked:
    """The protocol that a measure belongs to, with the run's options; "": classification, the mean AUC or its like.

    Raises `UserError`, before anything is scored, for a measure that no protocol has, a difference that is not above 0
    or beyond the measure's scale, and a run without resamples.
    """
    owners = {
        measure.key: name
        for name in registry.names("protocol")
        if isinstance(protocol := registry.find("protocol", name), Protocol)
        for measure in protocol.measures
    }
    if key and key not in owners:
        raise unknown("measure", key, owners)
    if config.interval.resamples < 2:
        raise UserError(f"A plan needs resamples: interval.resamples is {config.interval.resamples}, try 1000.")
    protocol, options = find_protocols(config.model_copy(update={"protocols": (owners.get(key, "classification"),)}))[0]
    for difference in differences:
        raw_difference(difference, measure_of(protocol, key or HEADLINE["classification"]))
    return protocol, options


def read_differences(text: str) -> list[float]:
    """Numbers with commas; `UserError` for anything else."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    try:
        return [float(part) for part in parts]
    except ValueError:
        raise UserError(f"--difference takes numbers with commas, for example 1,2; got {text!r}.") from None


def raw_difference(difference: float, measure: Measure) -> float:
    """A difference in the units of the measure's table as the measure has it; `UserError` off the measure's scale."""
    raw = difference / measure.scale
    if not 0 < raw < 1:
        given = f"points of {measure.scale:g}" if measure.scale != 1 else "parts of 1"
        example = 0.02 * measure.scale
        raise UserError(
            f"--difference is {difference:g}; a difference in {measure.label} is given in {given}, above 0 and below "
            f"{measure.scale:g}, for example {example:g}."
        )
    return raw
