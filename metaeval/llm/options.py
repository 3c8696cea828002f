"""What every asker of an endpoint lets a user set, whatever it asks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field

from metaeval.llm.endpoint import KEY_NAME


class EndpointOptions(BaseModel):
    """How an endpoint is treated; nothing here can change what a reply means.

    api_key_env: the environment variable that holds the key. replies: the reply store. timeout in seconds; backoff in
    seconds, doubled each time; price_in and price_out in USD per million tokens; budget in USD for one run.
    """

    api_key_env: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] = KEY_NAME
    replies: Path | None = None
    concurrency: Annotated[int, Field(ge=1, le=1024)] = 32
    requests_per_minute: Annotated[float, Field(gt=0)] | None = None
    timeout: Annotated[float, Field(gt=0)] = 120.0
    retries: Annotated[int, Field(ge=0, le=20)] = 6
    backoff: Annotated[float, Field(ge=0)] = 1.0
    price_in: Annotated[float, Field(ge=0)] | None = None
    price_out: Annotated[float, Field(ge=0)] | None = None
    budget: Annotated[float, Field(gt=0)] | None = None


ENDPOINT_OPTIONS = frozenset(EndpointOptions.model_fields)
