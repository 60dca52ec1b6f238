"""The APIs that this broker serves: the table that `dispatch` reads, and clients are told."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from odradek.broker.exchange import Api
from odradek.broker.handlers import api_versions

OFFERED: Final[Mapping[int, Api]] = MappingProxyType({api.key: api for api in (api_versions.API,)})
"""Every API by its key; what is not here is not named to clients."""
