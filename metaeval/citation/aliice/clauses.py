"""Whether a claim says something by itself: has a subject and a finite verb, as far as its parse can tell."""

from __future__ import annotations

from metaeval.citation.aliice.expanded import SUBJECTS
from metaeval.citation.parsers.parse import Parse


def is_clause(parse: Parse) -> bool:
    """Whether a root has a subject, and is neither an infinitive nor an -ing form without an auxiliary.

    The parse is of the claim alone. Without part-of-speech tags other verb forms are taken for finite.
    """
    return any(_is_finite(parse, root) for root in parse.roots)


def _is_finite(parse: Parse, root: int) -> bool:
    children = [place for place, head in enumerate(parse.heads) if head == root and place != root]
    auxiliaries = [parse.tokens[child].lower() for child in children if parse.labels[child] in ("aux", "auxpass")]
    if not any(parse.labels[child] in SUBJECTS for child in children) or auxiliaries == ["to"]:
        return False
    return bool(auxiliaries) or not parse.tokens[root].lower().endswith("ing")
