"""Base classes of the metrics that prompt a T5: the model, its prompts, and the first tokens of its replies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from metaeval.core.errors import UserError
from metaeval.scoring.backends.model_loading import load_tokenizer
from metaeval.scoring.backends.model_metric import LoadedModelMetric
from metaeval.scoring.backends.tokenization import PromptCut, PromptIds, PromptTokens
from metaeval.scoring.contract import Status

if TYPE_CHECKING:
    from metaeval.scoring.backends.seq2seq import Seq2Seq

Reply = TypeVar("Reply")


class T5Metric(LoadedModelMetric):
    """Base of metrics on a T5 that replies to a prompt.

    cut: which text loses its end beyond the token limit, the source ("source") or the whole prompt ("end").
    """

    cut: ClassVar[PromptCut] = "source"

    @cached_property
    def tokenizer(self) -> Any:
        """Return the model's tokenizer."""
        return load_tokenizer(self.model_folder)

    @cached_property
    def prompts(self) -> PromptTokens:
        """Return the encoder of pairs to token ids."""
        return PromptTokens(self.tokenizer, self.card.template, self.options.max_tokens, self.cut)

    @cached_property
    def model(self) -> Seq2Seq:
        """The T5, loaded when first used."""
        from transformers import AutoModelForSeq2SeqLM

        from metaeval.scoring.backends.seq2seq import Seq2Seq, lighten

        self.check_vocabulary()
        return Seq2Seq(self.load(AutoModelForSeq2SeqLM, change=lighten), self.batch_tokens, self.device)

    def check_vocabulary(self) -> None:
        """Raise `UserError` if the tokenizer cannot be that of this metric, before gigabytes of weights are loaded."""


class YesNoMetric(T5Metric):
    """Base of metrics on a T5 that replies 1 or 0."""

    @cached_property
    def answers(self) -> tuple[int, int]:
        """Return the ids of the tokens ▁1 (the only one of "1") and ▁ (the first one of "0"): (209, 3) for T5.

        Raises `UserError` for any other vocabulary.
        """
        pieces = [self.tokenizer.tokenize(text) for text in ("1", "0")]
        if (pieces[0], pieces[1][:1]) != (["▁1"], ["▁"]):
            raise UserError(f"{self.model_folder.folder} cuts 1 and 0 into {pieces}: check the model id.")
        yes, no = self.tokenizer.convert_tokens_to_ids(["▁1", "▁"])
        return yes, no

    def check_vocabulary(self) -> None:
        """Raise `UserError` unless the tokenizer has the tokens of "1" and "0"."""
        _ = self.answers


def ask_prompts(
    prompts: Sequence[PromptIds], statements: Sequence[str], ask: Callable[[list[list[int]]], Sequence[Reply]]
) -> list[tuple[PromptIds, Status, Reply | None]]:
    """Return (prompt, status, reply) for each prompt; the reply is None unless the status is OK.

    Status: EMPTY for a blank statement, TOO_LONG for a prompt without ids. ask: from the ids of OK prompts to replies.
    """
    statuses = [
        Status.EMPTY if not statement.strip() else Status.OK if prompt.ids else Status.TOO_LONG
        for prompt, statement in zip(prompts, statements, strict=True)
    ]
    answers = iter(ask([prompt.ids for prompt, status in zip(prompts, statuses, strict=True) if status is Status.OK]))
    return [
        (prompt, status, next(answers) if status is Status.OK else None)
        for prompt, status in zip(prompts, statuses, strict=True)
    ]
