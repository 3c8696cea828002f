"""What a signature says of CiteEval's options, and of what was asked of which chat model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from metaeval.citation.citeeval.asking import Asking, load_prompts, part_prompt
from metaeval.citation.citeeval.options import PROFILES, CiteEvalOptions
from metaeval.experiment.sheet import Scalar

_OF_CITEEVAL = ("attribution_tag", "contexts", "statements_per_request")


def asked_fields(
    asking: Asking,
    models: Sequence[str],
    prompts: Sequence[str] | None = None,
    *,
    unset: bool = False,
    **instead: Scalar,
) -> dict[str, Scalar]:
    """Who was asked, who answered, by which prompts and how; models: the names that the replies came under.

    prompts: NAME@FINGERPRINT of others than CiteEval's own; what only CiteEval's questions depend on is then left out.
    unset: that responses are not judged in parts is said too. instead: options in the place of those of asking.
    """
    own = {name: value for name, value in asdict(asking).items() if name != "model" and not name.endswith("_file")}
    if prompts is not None:
        own = {name: value for name, value in own.items() if name not in _OF_CITEEVAL}
    elif asking.statements_per_request is None and not unset:
        del own["statements_per_request"]
    return {
        "model": asking.model,
        "answered_as": ", ".join(models) or asking.model,
        "prompts": ",".join(_own_prompts(asking) if prompts is None else prompts),
        "asking": ",".join(f"{name}={value}" for name, value in {**own, **instead}.items()),
    }


def changed_options(profile: str, options: CiteEvalOptions) -> str:
    """Options of the profile, only where they were changed."""
    preset, own = asdict(PROFILES[profile]), asdict(options)
    return ",".join(f"{name}={value}" for name, value in own.items() if value != preset[name]) or "as the profile"


def _own_prompts(asking: Asking) -> list[str]:
    prompts = [f"{module}@{prompt.fingerprint}" for module, prompt in load_prompts(asking).items()]
    if asking.statements_per_request is not None:
        prompts.append(f"part@{part_prompt().fingerprint}")
    return prompts
