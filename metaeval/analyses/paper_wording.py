"""The words of a paper, from the cards of the registered metrics, data sets and protocols."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from metaeval import registry
from metaeval.errors import UserError
from metaeval.report.paper_names import Wording


def paper_wording() -> Wording:
    """Return how papers write what is registered: a metric by its card's title, a data set by its title up to a colon.

    Names of code that is not registered, such as those in a job of somebody else, import nothing.
    """
    titles = {name: getattr(getattr(metric, "card", None), "title", "") for name, metric in _registered("metric")}
    for name, dataset in _registered("dataset"):
        short, colon, _ = dataset.title.partition(":")
        titles[name] = short if colon else ""
    return Wording(
        {name: title for name, title in titles.items() if title},
        {
            name: {measure.label: measure.about for measure in protocol.measures}
            for name, protocol in _registered("protocol")
        },
    )


def _registered(kind: registry.Kind) -> Iterator[tuple[str, Any]]:
    for name in registry.names(kind):
        with contextlib.suppress(UserError):  # a plug-in that cannot be imported here
            yield name, registry.find(kind, name)
