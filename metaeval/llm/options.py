"""What every asker of an endpoint lets a user set, whatever it asks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field

from metaeval.llm.endpoint import KEY_NAME


class EndpointOptions(BaseModel):
    """How an endpoint is treated; nothing here can change what a reply means."""

    api_key_env: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] = KEY_NAME
    """Environment variable that holds the key."""
    replies: Path | None = None
    """File of the reply store."""
    concurrency: Annotated[int, Field(ge=1, le=1024)] = 32
    """Requests that are open at once."""
    requests_per_minute: Annotated[float, Field(gt=0)] | None = None
    """Most requests in a minute (none: no limit)."""
    timeout: Annotated[float, Field(gt=0)] = 120.0
    """Seconds after which a request is given up."""
    retries: Annotated[int, Field(ge=0, le=20)] = 6
    """Times that a failed request is repeated."""
    backoff: Annotated[float, Field(ge=0)] = 1.0
    """Seconds before the first repetition; doubled each time."""
    price_in: Annotated[float, Field(ge=0)] | None = None
    """Price of a million input tokens, in USD."""
    price_out: Annotated[float, Field(ge=0)] | None = None
    """Price of a million output tokens, in USD."""
    budget: Annotated[float, Field(gt=0)] | None = None
    """The most that one run may spend, in USD."""


ENDPOINT_OPTIONS = frozenset(EndpointOptions.model_fields)
