"""Why a name is not believed: Kafka's three codes for SASL."""

from odradek.model.errors import BrokerError, ErrorCode


class AuthenticationFailed(BrokerError):
    """The name was not proven. The sentence tells a client nothing that it could not know."""

    code = ErrorCode.SASL_AUTHENTICATION_FAILED


class UnsupportedMechanism(BrokerError):
    """The listener does not offer this mechanism."""

    code = ErrorCode.UNSUPPORTED_SASL_MECHANISM


class IllegalSaslState(BrokerError):
    """The request does not fit what was said before on this connection."""

    code = ErrorCode.ILLEGAL_SASL_STATE
