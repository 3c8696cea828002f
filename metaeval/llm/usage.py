"""The ledger: what a run asked, tried again, received and could not read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from metaeval.llm.budget import Purse, usd
from metaeval.llm.errors import Cause
from metaeval.llm.reply import Reply


@dataclass
class Ledger:
    """Counts of one run. Every request is in exactly one of stored, answered and failed."""

    purse: Purse
    stored: int = 0  # served from the reply store
    answered: int = 0
    attempts: int = 0
    retries: Counter[Cause] = field(default_factory=Counter)
    failed: Counter[Cause] = field(default_factory=Counter)
    unparsed: int = 0  # replies, stored ones too, that gave no score
    tokens_in: int = 0
    tokens_out: int = 0
    models: Counter[str] = field(default_factory=Counter)  # the names that replies came under, stored ones too
    uncounted: int = 0  # replies whose tokens the server did not count

    def book(self, reply: Reply) -> None:
        """A reply that was paid for."""
        self.answered += 1
        self.models[reply.model] += 1
        if reply.tokens_in is None or reply.tokens_out is None:
            self.uncounted += 1
        self.tokens_in += reply.tokens_in or 0
        self.tokens_out += reply.tokens_out or 0

    def serve(self, reply: Reply) -> None:
        """A reply from the store."""
        self.stored += 1
        self.models[reply.model] += 1

    def usage(self) -> dict[str, int | float]:
        """Every count by name; money in USD, where prices are known."""
        counts: dict[str, int | float] = {
            "requests": self.stored + self.answered + self.failed.total(),
            "stored": self.stored,
            "answered": self.answered,
            "failed": self.failed.total(),
            "attempts": self.attempts,
            "retries": self.retries.total(),
            **{f"retries ({cause})": count for cause, count in sorted(self.retries.items())},
            "unparsed": self.unparsed,
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
        }
        if self.purse.prices:
            counts |= {"money": self.purse.paid, "money_unconfirmed": self.purse.unconfirmed}
        return counts

    def note(self) -> str:
        """One line: what was asked, at what cost, and what went wrong."""
        parts = [f"{self.answered:,} replies asked for, {self.stored:,} from the reply store"]
        parts.append(f"{self.tokens_in:,} tokens in, {self.tokens_out:,} out")
        if self.purse.prices:
            parts.append(usd(self.purse.paid))
        if self.purse.unconfirmed:
            parts.append(f"up to {usd(self.purse.unconfirmed)} more for answers that never came")
        if self.uncounted:
            parts.append(f"{self.uncounted:,} replies without a token count")
        if len(self.models) > 1:
            parts.append(f"answered under several model names ({', '.join(sorted(self.models))})")
        if self.retries:
            parts.append(f"{self.retries.total():,} retries ({_causes(self.retries)})")
        if self.unparsed:
            parts.append(f"{self.unparsed:,} replies without a score")
        if self.failed:
            parts.append(f"{self.failed.total():,} requests failed ({_causes(self.failed)}): the next run asks again")
        return "; ".join(parts)


def _causes(counts: Counter[Cause]) -> str:
    return ", ".join(f"{cause} {count:,}" for cause, count in counts.most_common())
