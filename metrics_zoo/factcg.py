"""FactCG (Lei et al., 2025): a DeBERTa whose prompt asks whether the statement follows from a paragraph."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

from metaeval.core.errors import UserError
from metaeval.corpus.sentences import SentenceSplitter
from metaeval.scoring.backends.checkpoint import Checkpoint
from metaeval.scoring.backends.classifier import PairClassifier
from metaeval.scoring.backends.model_loading import load_tokenizer
from metaeval.scoring.backends.model_metric import of_checkpoint, probability
from metaeval.scoring.backends.tokenization import PairIds, TextTokens
from metaeval.scoring.contract import MetricCard, PairScore, Status, TextPair
from metrics_zoo.splitting import BestChunkMetric

_QUESTION = (
    'Choose your answer: based on the paragraph above can we conclude that "{statement}"?\n\n'
    "OPTIONS:\n- Yes\n- No\nI think the answer is "
)
_LIMIT = 2048
_CHUNK_WORDS = 550
_WORD = re.compile(r"\w+|[^\w\s]")


class FactCG(BestChunkMetric):
    """FactCG: largest P(support) over the source's chunks, with the whole statement; derenlei/FactCG's FactCGScore.

    It follows the published code, and was never compared with it or its checkpoint. It differs in one case: where chunk
    and question exceed 2,048 tokens the end of the chunk is cut; the official code cuts the question at the end.
    """

    checkpoint = Checkpoint("yaxili96/FactCG-DeBERTa-v3-Large", "1.7 GB, MIT")
    cpu_batch = 1024
    card = MetricCard(
        name="factcg",
        title="FactCG",
        family="classifier",
        summary="P(supported) of a DeBERTa trained on claims made from several sentences of a graph: best source chunk",
        paper="Lei et al. 2025, FactCG: Enhancing Fact Checkers with Graph-Based Multi-Hop Data (arXiv 2501.17144)",
        licence="MIT",
        **probability(half="the official evaluation code's fixed threshold"),
        input_limit=_LIMIT,
        truncation="source",
        splitter="NLTK punkt_tab and words, else rules",
        template="{source chunk}\n\n" + _QUESTION,
        parameters="435 M",
        **of_checkpoint(checkpoint),
    )

    @cached_property
    def model(self) -> PairClassifier:
        """The classifier, loaded when first used."""
        from transformers import AutoModelForSequenceClassification

        model = self.load(AutoModelForSequenceClassification)
        if model.config.num_labels != 2:
            raise UserError(f"{self.wanted.hub_id} has {model.config.num_labels} labels, not 2: check the model id.")
        return PairClassifier(model, QuestionTokens(load_tokenizer(self.model_folder)), self.batch_tokens, self.device)

    def judge_chunks(self, rows: Sequence[Sequence[TextPair]]) -> list[list[PairScore]]:
        """Return P(support), the second softmax output, of each pair; every pair is scored."""
        pairs = [pair for row in rows for pair in row]
        table = self.model.table([chunk for chunk, _ in pairs], [statement for _, statement in pairs])
        scores = table.values.reshape(len(pairs), 2).double().softmax(-1)[:, 1].tolist()
        answers = iter(zip(scores, table.tokens, table.cut, strict=True))
        return [[PairScore(score, Status.OK, *counts) for score, *counts in islice(answers, len(row))] for row in rows]

    def chunks(self, source: str) -> list[str]:
        """Return a source's chunks of at most 550 words, one sentence a line; a source without words has none.

        As in the official code, a first sentence beyond the limit leaves an empty chunk before it, which is
        scored too.
        """
        chunks: list[str] = []
        chunk, size = "", 0
        for sentence in self.splitter.split(source):
            words = count_words(sentence, self.splitter)
            if size + words <= _CHUNK_WORDS:
                chunk, size = f"{chunk}\n{sentence}".strip("\n"), size + words
            else:
                chunks.append(chunk.strip("\n"))
                chunk, size = sentence, words
        return [*chunks, chunk.replace(" \n ", "\n").strip()] if size else chunks


class QuestionTokens:
    """An encoder of FactCG's prompts that tokenises chunk and question separately.

    Raises `UserError` for a tokenizer that gives other ids to the joined text than to chunk and question.
    """

    def __init__(self, tokenizer: Any) -> None:
        probe, question = "It rained. It did.", _QUESTION.format(statement="It rained.")
        whole = tokenizer(f"{probe}\n\n{question}")["input_ids"]
        self.texts = TextTokens(tokenizer)
        known = self.texts.ids([probe, question])
        self._before, self._behind = whole[:1], whole[-1:]
        if whole != [*self._before, *known[probe], *known[question], *self._behind]:
            raise UserError("This tokenizer splits FactCG's template unlike DeBERTa-v3's: check the model id.")

    def encode(self, firsts: Sequence[str], seconds: Sequence[str]) -> list[PairIds]:
        """Return the ids of chunks and statements, in order; beyond the limit the end of the chunk is cut."""
        questions = [_QUESTION.format(statement=statement) for statement in seconds]
        known = self.texts.ids([*firsts, *questions])
        encoded = []
        for first, second in zip(firsts, questions, strict=True):
            chunk, question = known[first], known[second]
            tokens = len(chunk) + len(question) + 2
            kept = max(_LIMIT - 2 - len(question), 0)
            ids = [*self._before, *chunk[:kept], *question[: _LIMIT - 2], *self._behind]
            encoded.append(PairIds(ids, [0] * len(ids), tokens, tokens - len(ids)))
        return encoded


def count_words(sentence: str, splitter: SentenceSplitter) -> int:
    """Return the number of words of a sentence, as NLTK's word_tokenize counts if NLTK splits the sentences.

    With other splitters, runs of letters and digits, and single marks, are counted.
    """
    if not splitter.name.startswith("nltk"):
        return len(_WORD.findall(sentence))
    from nltk.tokenize import NLTKWordTokenizer

    tokenize: Callable[[str], list[str]] = NLTKWordTokenizer().tokenize
    return sum(len(tokenize(part)) for part in splitter.split(sentence))
