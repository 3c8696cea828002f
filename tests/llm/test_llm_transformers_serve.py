"""The judge against `transformers serve`, a real OpenAI-compatible server, with a tiny chat model made here.

The model is a Qwen2 of one layer whose weights make it an automaton: each token has one successor, so that every chat
is answered with "Prediction: 1". What is tested is the conversation with a server that is not ours.
"""

import importlib.util
import os
import socket
import subprocess
import sys
import time
from itertools import pairwise
from urllib.error import URLError
from urllib.request import urlopen

import pytest

pytest.importorskip("openai", reason="needs the extra 'llm'")
from metaeval.errors import UserError
from metaeval.scoring.contract import Status
from metrics_zoo.llm_judge import LLMDiscrete

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SPECIAL = ["<|im_end|>", "<|im_start|>"]
PAIRS = [(f"The lighthouse was built in {year}.", "The lighthouse is old.") for year in range(1870, 1876)]
SOURCES, STATEMENTS = zip(*PAIRS, strict=True)


def make_tokenizer():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=280, special_tokens=SPECIAL, initial_alphabet=alphabet)
    tokenizer.train_from_iterator(["Prediction: 1 statement citation user assistant"] * 9, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=SPECIAL[0], pad_token=SPECIAL[0])
    fast.chat_template = TEMPLATE
    return fast


def make_model(folder):
    """Embeddings are unit vectors, the layer adds nothing, and the head maps each token to its successor."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    tokenizer = make_tokenizer()
    size = len(tokenizer)
    config = Qwen2Config(
        vocab_size=size,
        hidden_size=-(-size // 8) * 8,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=4,
        num_key_value_heads=4,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.eos_token_id,
    )
    model = Qwen2ForCausalLM(config)
    said = tokenizer("\nPrediction: 1", add_special_tokens=False)["input_ids"] + [tokenizer.eos_token_id]
    assert len(set(said)) == len(said)  # one successor for each
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        model.model.norm.weight.fill_(1)
        model.model.embed_tokens.weight.copy_(torch.eye(size, config.hidden_size))
        for token, successor in pairwise(said):
            model.lm_head.weight[successor, token] = 10
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """(base address, model name) of a running server."""
    for name in ("torch", "transformers", "fastapi", "uvicorn", "accelerate"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"needs {name} (extras 'models' and 'serving')")
    folder, port = tmp_path_factory.mktemp("model"), free_port()
    make_model(folder)
    flags = [
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--device",
        "cpu",
        "--dtype",
        "float32",
        "--log-level",
        "error",
    ]
    start = [
        sys.executable,
        "-c",
        "from transformers.cli.transformers import main; main()",
        "serve",
        str(folder),
        *flags,
    ]
    log = (folder / "server.log").open("w")
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(start, stdout=log, stderr=subprocess.STDOUT, env=environment)
    try:
        for _ in range(600):
            assert process.poll() is None, (folder / "server.log").read_text()
            try:
                with urlopen(f"http://127.0.0.1:{port}/health", timeout=1):
                    break
            except (URLError, OSError):
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/v1", str(folder)
    finally:
        process.kill()
        process.wait()
        log.close()


def judge(served, **options):
    url, model = served
    return LLMDiscrete(
        LLMDiscrete.Options(**{"base_url": url, "model": model, "backoff": 0.01, "retries": 2} | options)
    )


def test_pairs_are_scored_once_for_all_runs(served):
    metric = judge(served, max_tokens=16)
    answers = metric.score(SOURCES, STATEMENTS)
    assert [answer.score for answer in answers] == [1.0] * 6
    assert all(answer.tokens > 300 for answer in answers)  # the server's own count, near one a byte here
    usage = metric.usage()
    assert (usage["answered"], usage["retries"], usage["unparsed"]) == (6, 0, 0)
    assert usage["tokens_out"] > 6 * 3
    again = judge(served, max_tokens=16)
    assert again.score(SOURCES, STATEMENTS) == answers
    assert (again.usage()["attempts"], again.usage()["stored"]) == (0, 6)


def test_a_reply_cut_at_the_limit_is_unparsed(served):
    answers = judge(served, max_tokens=2).score(SOURCES, STATEMENTS)
    assert {answer.status for answer in answers} == {Status.UNPARSED}


def test_a_server_that_ignores_the_schema_gives_unparsed_replies_and_not_scores(served):
    answers = judge(served, max_tokens=16, output="json_schema").score(SOURCES, STATEMENTS)
    assert {answer.status for answer in answers} == {Status.UNPARSED}


def test_what_this_server_lacks_is_said_in_a_sentence(served):
    with pytest.raises(UserError, match=r"gives no log-probabilities .* set the option mode=reply"):
        judge(served, max_tokens=16, mode="logprob").score(SOURCES, STATEMENTS)
    with pytest.raises(UserError, match=r"refuses what is asked of model 'another' \(HTTP 400: Server is pinned to"):
        judge(served, model="another").score(SOURCES, STATEMENTS)
