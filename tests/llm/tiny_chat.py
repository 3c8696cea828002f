"""`transformers serve`, a real OpenAI-compatible server, with a chat model made here that always says the same.

The model is a Qwen2 of one layer whose weights make it an automaton: what it says is one token, and behind it stands
the end. What is tested with it is the conversation with a server that is not ours.
"""

import importlib.util
import socket
import time
from contextlib import contextmanager

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SPECIAL = ["<|im_end|>", "<|im_start|>"]
NEEDED = ("torch", "transformers", "fastapi", "uvicorn", "accelerate")


def missing():
    """Packages that serving needs and that are not installed (extras 'models' and 'serving')."""
    return [name for name in NEEDED if importlib.util.find_spec(name) is None]


def make_tokenizer(reply):
    """Bytes, and the whole reply as one token."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=4000, special_tokens=SPECIAL, initial_alphabet=alphabet)
    tokenizer.train_from_iterator([reply] * 9, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=SPECIAL[0], pad_token=SPECIAL[0])
    fast.chat_template = TEMPLATE
    return fast


def make_model(folder, reply):
    """Embeddings are unit vectors, the layer adds nothing, and the head maps each token to its successor."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    tokenizer = make_tokenizer(reply)
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
    (newline,) = tokenizer("\n", add_special_tokens=False)["input_ids"]
    (said,) = tokenizer(reply, add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        model.model.norm.weight.fill_(1)
        model.model.embed_tokens.weight.copy_(torch.eye(size, config.hidden_size))
        model.lm_head.weight[said, newline] = 10
        model.lm_head.weight[tokenizer.eos_token_id, said] = 10
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


@contextmanager
def free_port():
    """A port that nobody else is given while the block runs; who reuses addresses, as servers do, can listen there."""
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@contextmanager
def serving(folder, reply):
    """(base address, model name) of a running server whose one model says the reply to everything."""
    make_model(folder, reply)
    with running(str(folder)) as url:
        yield url, str(folder)


@contextmanager
def running(pinned=None):
    """The base address of a running server of the pinned model, else of any whose folder a request names.

    It runs in a thread: a program of its own would import torch and transformers once more.
    """
    from transformers.cli.serve import Serve

    with free_port() as port:
        server = Serve(pinned, host="127.0.0.1", port=port, device="cpu", dtype="float32", non_blocking=True)
        try:
            while not server.server.started:
                assert server._thread.is_alive(), "the server ended before it listened"
                time.sleep(0.01)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.kill_server()
