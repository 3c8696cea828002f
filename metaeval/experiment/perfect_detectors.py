"""What perfect detectors would score under a table's labels: how far the labels mean what they say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from metaeval.experiment.prepared_run import Frame
from metaeval.report.result import ANY_SUPPORT, EVIDENCE_SHARE, FULL_SUPPORT, Perfect
from protocols.contract import Protocol, Resampling

Values = NDArray[np.float64]

DETECTORS: Mapping[str, Callable[[Values, Values], Values]] = {
    FULL_SUPPORT: lambda gold, held: ((gold == 2) & (held == 1)).astype(np.float64),
    ANY_SUPPORT: lambda gold, held: (gold > 0).astype(np.float64),
    EVIDENCE_SHARE: lambda gold, held: np.where(gold > 0, held, 0.0),
}
"""The score of each detector, from the levels (n,) and the shares of an evidence set that the rows hold (n,).

Full support in a text is a whole evidence set of a full citation, whatever level the rule for evidence gives its parts.
"""


def perfect(
    frame: Frame, protocol: Protocol, options: Mapping[str, str], resampling: Resampling, keys: Sequence[str]
) -> Perfect | None:
    """The values of perfect detectors under the measures `keys`, without intervals; undefined ones are left out.

    None where rows are not parts of what was judged: citations, rated texts, documents of one chunk, data without
    evidence. There the labels are the annotators' own.
    """
    if frame.held is None:
        return None
    values: dict[str, dict[str, float]] = {}
    for name, detector in DETECTORS.items():
        judged = frame.judgements(detector(frame.gold, frame.held))
        found = protocol.evaluate(judged, replace(resampling, n=0), options).estimates
        for key in keys:
            if (value := found[key].value) is not None:
                values.setdefault(key, {})[name] = value
    full = frame.gold == 2
    return Perfect(values=values, full=int(full.sum()), incomplete=int((full & (frame.held < 1)).sum()))
