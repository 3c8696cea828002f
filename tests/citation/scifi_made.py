"""Answers with facts, and a metric by rule, for the tests of SCiFi."""

from metaeval.citation.data_model import Answer, Passage, Verdict
from metaeval.citation.scifi.data_model import AnswerFacts, Fact, read_sentences

# Four words each; a window of four makes a chunk of each sentence.
BRIDGE = Passage("A Dane built it. It is of steel. It opened in May.", "Bridge")
RIVER = Passage("The river flows north.")


class Scored:
    """Scores by what a premise holds, 0.0 for all else; remembers the calls. A score of None is a missing verdict."""

    def __init__(self, **scores):
        self.scores = scores
        self.calls = []

    def __call__(self, pairs):
        self.calls.append(list(pairs))
        return [self._verdict(premise) for premise, _ in pairs]

    def _verdict(self, premise):
        scores = [score for word, score in self.scores.items() if word in premise]
        if None in scores:
            return Verdict(None, None, "failed")
        score = max(scores, default=0.0)
        return Verdict(score >= 0.5, score, cut=len(premise.split()) > 6)


def facts_of(text, *segments, passages=(BRIDGE, RIVER), answer="a", **reference):
    """An answer whose facts are these stretches of its sentences, (sentence, stretch) each, found as they stand."""
    own = Answer(answer, text, passages, reference=reference)
    sentences = read_sentences(own)
    facts = []
    for number, stretch in segments:
        start = sentences[number - 1].text.index(stretch)
        found = start, start + len(stretch), "verbatim"
        facts.append(Fact(len(facts) + 1, f"{stretch}?", number, found, "model"))
    return AnswerFacts(own, sentences, tuple(facts))
