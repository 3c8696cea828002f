"""Fit the heads of support-minilm from the published data and print them, as `metrics_zoo/support_minilm.py` has them.

    python -m benchmarks.support_mini.fit_minilm --data ../shared/data

It takes a quarter of an hour on one core, for MiniLM. Both heads read the same six features, each statement against its
whole page: WiCE dev, ExpertQA rand_val and QASemConsistency dev, every pair with the same weight, with C = 0.01.

Features, C and weights were chosen on these sets alone, by six-fold cross-validation over their groups and by leaving
out a whole set: forward selection from BERTScore precision and the cosine among 53 features of cover and token matches.
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

import numpy as np

import metaeval
from benchmarks.support_mini.fit import fit_logistic
from metaeval.corpus.model import Corpus
from metaeval.errors import UserError
from metrics_zoo.cover import FloatArray
from metrics_zoo.support_minilm import HEADS, SupportMiniLM

DEV = (("wice", "dev"), ("expertqa", "rand_val"), ("qasem", "dev"))
C = 0.01
DECIMALS = 3
_BLOCK = 64


def features_of(metric: SupportMiniLM, corpus: Corpus) -> tuple[FloatArray, FloatArray]:
    """Features of every citation of a corpus against its whole page, (citations, 6), and their levels."""
    pairs = [
        (corpus.documents[cited.document_id].text, corpus.statements[cited.statement_id].text, int(cited.level))
        for cited in corpus.citations
    ]
    pairs.sort(key=lambda pair: pair[0])  # the statements of a page together
    metric.prepare([pair[0] for pair in pairs], [pair[1] for pair in pairs])
    rows = []
    for start in range(0, len(pairs), _BLOCK):
        sources, statements, _ = zip(*pairs[start : start + _BLOCK], strict=True)
        rows += [found.features for found in metric.observe(sources, statements)]
    kept = [number for number, row in enumerate(rows) if row is not None]
    return np.array([rows[number] for number in kept]), np.array([pairs[number][2] for number in kept], dtype=float)


def fit_heads(features: FloatArray, level: FloatArray) -> FloatArray:
    """Fit both heads, (2, 4, features + 1)."""
    some = level > 0
    return np.round([fit_logistic(features, some, C), fit_logistic(features[some], level[some] == 2, C)], DECIMALS)


def main() -> None:
    """Fit, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with the published data sets; without it they are downloaded")
    asked = parser.parse_args()
    logging.basicConfig(format="%(message)s")
    metric, parts = SupportMiniLM(), []
    try:
        for name, split in DEV:
            corpus = metaeval.load_corpus(name, split=split, data=asked.data)
            parts.append(features_of(metric, corpus))
            print(f"{name} {split}: {len(parts[-1][1]):,} pairs")
    except UserError as error:
        raise SystemExit(str(error)) from error
    heads = fit_heads(np.concatenate([part for part, _ in parts]), np.concatenate([level for _, level in parts]))
    print(heads.tolist())
    print(f"largest difference from the shipped heads: {np.abs(heads - HEADS).max():.1e}")


if __name__ == "__main__":
    main()
