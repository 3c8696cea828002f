"""Money and counts: what a job will cost at most, what a run has asked, received and paid, and when to stop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import ceil

from metaeval.core.errors import UserError, count
from metaeval.llm.endpoint import Cause, Prices
from metaeval.llm.messages import ChatRequest, Reply
from metaeval.llm.reply_store import ReplyStore


def usd(amount: float) -> str:
    """Return an amount in USD as text: $1.25, and below a dollar with four decimals, $0.0125."""
    return f"${amount:,.2f}" if amount >= 1 else f"${amount:.4f}"


def usd_enough(amount: float) -> str:
    """Return an amount in USD as text, rounded up, so that a budget of the printed amount is enough."""
    parts = 100 if amount >= 1 else 10_000
    return usd(ceil(amount * parts) / parts)


def _worst_case(prices: Prices, request: ChatRequest) -> float:
    """Return the highest possible cost of a request in USD."""
    return prices.cost(request.most_tokens_in, request.most_tokens_out)


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """The cost that a job still has. requests: number to send. stored: number of replies that are stored already.

    tokens_in is estimated, at four characters a token; tokens_out is the upper bound, max_tokens for every request.
    money: cost of these tokens in USD. dearest: highest possible cost of a single request in USD, which a budget must
    cover. Both are None without prices.
    """

    requests: int
    stored: int
    tokens_in: int
    tokens_out: int
    money: float | None
    dearest: float | None

    def __str__(self) -> str:
        cost = "set price_in and price_out (USD per million tokens) for the cost"
        if self.money is not None:
            cost = f"at most about {usd(self.money)}"
        if self.dearest:
            cost += f" (a budget of at least {usd_enough(self.dearest)}, for the dearest request at its very worst)"
        return (
            f"{count(self.requests, 'request')} to ask, {count(self.stored, 'reply')} already stored; about "
            f"{self.tokens_in:,} tokens in (4 characters each), at most {self.tokens_out:,} out; {cost}"
        )


def estimate(requests: Iterable[ChatRequest], server: str, store: ReplyStore, prices: Prices | None) -> Estimate:
    """Estimate the cost of these requests; equal ones are counted once, and those with a stored reply cost nothing."""
    unique = {request.key(server): request for request in requests}
    missing = [request for key, request in unique.items() if not store.has(key)]
    tokens_in = sum(request.likely_tokens_in for request in missing)
    tokens_out = sum(request.most_tokens_out for request in missing)
    return Estimate(
        requests=len(missing),
        stored=len(unique) - len(missing),
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        money=prices.cost(tokens_in, tokens_out) if prices else None,
        dearest=max((_worst_case(prices, request) for request in missing), default=0.0) if prices else None,
    )


class Purse:
    """The budget of one run in USD: the worst-case cost of requests in flight is reserved, then replaced by the actual.

    `paid` is by the tokens that the server counted. `unconfirmed` is the worst case of what it may have charged for
    replies that never came (a timeout, a dropped connection) or came without a count. Without prices nothing is booked.
    """

    def __init__(self, prices: Prices | None, budget: float | None) -> None:
        self.prices = prices
        self._budget = budget
        self.paid = 0.0
        self.unconfirmed = 0.0
        self._held = 0.0
        self._in_flight = 0

    @property
    def idle(self) -> bool:
        """Return whether nothing is in flight, so that no reserved money can come back; always true without prices."""
        return self._in_flight == 0

    def hold(self, request: ChatRequest) -> bool:
        """Reserve a request's worst-case cost, if there are prices; return False if the budget does not cover it."""
        if self.prices is None:
            return True
        most = _worst_case(self.prices, request)
        if self._budget is not None and self.paid + self.unconfirmed + self._held + most > self._budget:
            return False
        self._held += most
        self._in_flight += 1
        return True

    def settle(self, request: ChatRequest, tokens: tuple[int, int] | None, maybe_charged: bool) -> None:
        """Release a request's reserved cost, and book that of its tokens, (in, out).

        tokens: None if not counted; then the worst case is booked as unconfirmed if it was maybe charged.
        """
        if self.prices is None:
            return
        most = _worst_case(self.prices, request)
        self._held -= most
        self._in_flight -= 1
        if tokens is not None:
            self.paid += self.prices.cost(*tokens)
        elif maybe_charged:
            self.unconfirmed += most

    def spent_out(self, left: Sequence[ChatRequest]) -> UserError:
        """Return the error that ends a run at its budget. left: the requests without a reply."""
        doubt = f", and up to {usd(self.unconfirmed)} for replies that never came" if self.unconfirmed else ""
        budget = self._budget or 0.0
        most = max((_worst_case(self.prices, request) for request in left), default=0.0) if self.prices else 0.0
        # The next run starts with the whole budget, but a request that is dearer than that stays unasked for ever.
        advice = "run the same command again to go on with the same budget, or set a higher one"
        if most > budget:
            advice = f"one request may cost up to {usd_enough(most)}: set a budget of at least that"
        spent = f"{usd(self.paid)} was spent in this run{doubt}"
        why = f"The budget of {usd(budget)} is not enough for one more request: {spent}"
        return UserError(f"{why}. Every reply is kept; {advice}.")


@dataclass
class Ledger:
    """Counts of the requests of one run; each is in exactly one of stored, taken, answered and failed."""

    purse: Purse
    stored: int = 0  # served from the reply store
    taken: int = 0  # from the output of a batch
    damaged: int = 0  # of those asked for: a reply was kept, and did not match its checksum
    answered: int = 0
    attempts: int = 0
    retries: Counter[Cause] = field(default_factory=Counter)
    failed: Counter[Cause] = field(default_factory=Counter)
    unparsed: int = 0  # replies, stored ones too, that gave no score
    asked_again: int = 0  # of them, those that were asked for once more, and those of which the second gave a score
    read_again: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    models: Counter[str] = field(default_factory=Counter)  # the names that replies came under, stored ones too
    uncounted: int = 0  # replies whose tokens the server did not count, or not credibly
    servers: Counter[str] = field(default_factory=Counter)  # replies by address, where there are several
    left_out: dict[str, str] = field(default_factory=dict)  # addresses that were left out for a time, and why

    def book(self, reply: Reply) -> None:
        """Count a reply that was received from the server in this run, its tokens and its model."""
        self.answered += 1
        self.models[reply.model] += 1
        if reply.tokens_in is None or reply.tokens_out is None:
            self.uncounted += 1
        self.tokens_in += reply.tokens_in or 0
        self.tokens_out += reply.tokens_out or 0

    def note(self) -> str:
        """Return one line: numbers of replies, stored replies and tokens, the cost, and whatever went wrong."""
        servers = ", ".join(f"{url} ({answers:,})" for url, answers in sorted(self.servers.items()))
        failed = f"{count(self.failed.total(), 'request')} failed ({causes(self.failed)})"
        parts: list[tuple[object, str]] = [
            (True, f"{count(self.answered, 'reply')} asked for, {self.stored:,} from the reply store"),
            (self.damaged, f"{self.damaged:,} kept replies were damaged and were asked for again"),
            (True, f"{count(self.tokens_in, 'token')} in, {self.tokens_out:,} out"),
            (self.purse.prices, usd(self.purse.paid)),
            (self.purse.unconfirmed, f"up to {usd(self.purse.unconfirmed)} more for replies that never came"),
            (self.uncounted, f"{count(self.uncounted, 'reply')} without a usable token count"),
            (len(self.models) > 1, f"answered under several model names ({', '.join(sorted(self.models))})"),
            (len(self.servers) > 1, f"answered by {servers}"),
            *((True, f"{url} was left out ({why})") for url, why in self.left_out.items()),
            (self.retries, f"{count(self.retries.total(), 'retry')} ({causes(self.retries)})"),
            (self.unparsed, f"{count(self.unparsed, 'reply')} without a score"),
            (self.asked_again, f"{self.asked_again:,} of them asked for again, {self.read_again:,} read then"),
            (self.failed, f"{failed}: the next run asks again"),
        ]
        return "; ".join(text for applies, text in parts if applies)


def causes(counts: Counter[Cause]) -> str:
    """Return counts of failures by cause as text, the most frequent first: "timeout 3, HTTP 429 1"."""
    return ", ".join(f"{cause} {count:,}" for cause, count in counts.most_common())
