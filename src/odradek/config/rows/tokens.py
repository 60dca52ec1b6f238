"""OAUTHBEARER: which tokens a listener believes (KIP-768). Each listener may have its own."""

from typing import Any, Final

from odradek.config.kinds import ConfigType, Kind, choice, duration, listing, optional, string
from odradek.config.listeners import TOKEN_ALGORITHMS
from odradek.config.setting import BrokerSetting, Importance
from odradek.model.units import HOUR, SECOND, Millis

PREFIX: Final = "sasl.oauthbearer."
_ADDRESS: Final = optional(string(r"(file:/|https://).+", "an address with file: or https:"))
_PACKAGE: Final = "org.apache.kafka.common.security.oauthbearer"


def _only_kafkas(handler: str) -> Kind[str | None]:
    """Kafka's own class, in either of the packages where its versions have it."""
    names = f"{_PACKAGE}.{handler}", f"{_PACKAGE}.secured.{handler}"
    return optional(choice(*names, type=ConfigType.CLASS))


SASL_OAUTHBEARER_JWKS_ENDPOINT_URL: Final = BrokerSetting(
    f"{PREFIX}jwks.endpoint.url",
    _ADDRESS,
    default=None,
    doc="Where the issuer's public keys are (JWKS): `https://...` or `file:/...`. Without keys the "
    "broker does not start. A key that is not known is looked for there twice a minute at most.",
)
SASL_OAUTHBEARER_JWKS_ENDPOINT_REFRESH_MS: Final = BrokerSetting(
    f"{PREFIX}jwks.endpoint.refresh.ms",
    duration(low=1),
    default=Millis(HOUR),
    importance=Importance.LOW,
    doc="How often the keys are read again; never more than twice a minute.",
)
SASL_OAUTHBEARER_EXPECTED_ISSUER: Final = BrokerSetting(
    f"{PREFIX}expected.issuer",
    optional(string()),
    default=None,
    importance=Importance.LOW,
    doc="The issuer that a token must name (`iss`).",
)
SASL_OAUTHBEARER_EXPECTED_AUDIENCE: Final = BrokerSetting(
    f"{PREFIX}expected.audience",
    optional(listing()),
    default=None,
    importance=Importance.LOW,
    doc="The audiences of which a token must name one (`aud`).",
)
SASL_OAUTHBEARER_UNCHECKED: Final = BrokerSetting(
    f"{PREFIX}unchecked",
    listing("issuer", "audience"),
    default=(),
    ours=True,
    doc="What need not be set: `issuer`, `audience`; what is set is checked. What is not "
    "named here must be set; every token of the issuer would be believed otherwise, whomever it "
    "was made for.",
)
SASL_OAUTHBEARER_ALGORITHMS: Final = BrokerSetting(
    f"{PREFIX}algorithms",
    listing(*TOKEN_ALGORITHMS),
    default=("RS256", "PS256", "ES256"),
    ours=True,
    doc="The algorithms by which tokens may be signed.",
)
SASL_OAUTHBEARER_CLOCK_SKEW_SECONDS: Final = BrokerSetting(
    f"{PREFIX}clock.skew.seconds",
    duration(low=0, high=3_600, type=ConfigType.INT, unit=SECOND),
    default=Millis(30 * SECOND),
    importance=Importance.LOW,
    doc="By how much the issuer's clock may differ.",
)
SASL_OAUTHBEARER_SUB_CLAIM_NAME: Final = BrokerSetting(
    f"{PREFIX}sub.claim.name",
    string(r".+", "the name of a claim"),
    default="sub",
    importance=Importance.LOW,
    doc="The claim that is the name of the user.",
)
SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL: Final = BrokerSetting(
    f"{PREFIX}token.endpoint.url",
    _ADDRESS,
    default=None,
    doc="Where this broker has the token from that it shows to other brokers: `https://...`, with "
    "`clientId` and `clientSecret` in the login module, or `file:/...`.",
)
SASL_LOGIN_CALLBACK_HANDLER_CLASS: Final = BrokerSetting(
    "sasl.login.callback.handler.class",
    _only_kafkas("OAuthBearerLoginCallbackHandler"),
    default=None,
    doc="Only Kafka's own class: tokens are asked for here as it does it. With listener and "
    "mechanism in its name.",
)
SASL_SERVER_CALLBACK_HANDLER_CLASS: Final = BrokerSetting(
    "sasl.server.callback.handler.class",
    _only_kafkas("OAuthBearerValidatorCallbackHandler"),
    default=None,
    doc="Only Kafka's own class: tokens are checked here as it does it. With listener and "
    "mechanism in its name: "
    "`listener.name.external.oauthbearer.sasl.server.callback.handler.class`.",
)
ON_LISTENERS: Final[tuple[BrokerSetting[Any], ...]] = (
    SASL_OAUTHBEARER_JWKS_ENDPOINT_URL,
    SASL_OAUTHBEARER_JWKS_ENDPOINT_REFRESH_MS,
    SASL_OAUTHBEARER_EXPECTED_ISSUER,
    SASL_OAUTHBEARER_EXPECTED_AUDIENCE,
    SASL_OAUTHBEARER_UNCHECKED,
    SASL_OAUTHBEARER_ALGORITHMS,
    SASL_OAUTHBEARER_CLOCK_SKEW_SECONDS,
    SASL_OAUTHBEARER_SUB_CLAIM_NAME,
    SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL,
)
"""What one listener may set for itself."""
