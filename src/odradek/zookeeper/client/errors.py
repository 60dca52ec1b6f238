"""How an operation can fail, as types: one for each of ZooKeeper's codes, and four of our own.

The sentence for a person is the docstring of the type. What the server refused was not done. What
has no answer is different: `OutcomeUnknown` was sent and may have been done, and the sender
must read back and compare; `NeverSent` did not leave this process.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from odradek.zookeeper.protocol.codes import KeeperCode, KeeperError


class OperationError(KeeperError):
    """The operation failed."""

    number: ClassVar[KeeperCode] = KeeperCode.APIERROR

    def __init__(self, subject: str = "") -> None:
        sentence = self.__doc__ or ""
        super().__init__(self.number, f"{subject}: {sentence}" if subject else sentence)


class SystemFault(OperationError):
    """The server met an error of its own."""

    number = KeeperCode.SYSTEMERROR


class RuntimeInconsistency(OperationError):
    """Another operation of the same multi failed, so this one was not done."""

    number = KeeperCode.RUNTIMEINCONSISTENCY


class DataInconsistency(OperationError):
    """The server found its own data inconsistent."""

    number = KeeperCode.DATAINCONSISTENCY


class ConnectionLost(OperationError):
    """The connection was lost before the answer came."""

    number = KeeperCode.CONNECTIONLOSS


class OutcomeUnknown(ConnectionLost):
    """It was sent, but no answer came: it may have been done, or may not."""


class NeverSent(ConnectionLost):
    """It was not sent, because the session was not connected."""


class Unmarshallable(OperationError):
    """The server could not read the request, or could not write the answer."""

    number = KeeperCode.MARSHALLINGERROR


class RequestTooLarge(Unmarshallable):
    """It is larger than jute.maxbuffer allows, and was not sent."""


class Unimplemented(OperationError):
    """The server does not know this operation, or it is switched off there."""

    number = KeeperCode.UNIMPLEMENTED


class OperationTimeout(OperationError):
    """The server did not finish in time."""

    number = KeeperCode.OPERATIONTIMEOUT


class BadArguments(OperationError):
    """The path or another argument is not legal."""

    number = KeeperCode.BADARGUMENTS


class UnknownSession(OperationError):
    """The server does not know the session."""

    number = KeeperCode.UNKNOWNSESSION


class NewConfigNoQuorum(OperationError):
    """The new ensemble would have no quorum."""

    number = KeeperCode.NEWCONFIGNOQUORUM


class ReconfigInProgress(OperationError):
    """The ensemble is being changed already."""

    number = KeeperCode.RECONFIGINPROGRESS


class NoNode(OperationError):
    """There is no such node."""

    number = KeeperCode.NONODE


class NoAuth(OperationError):
    """The node's ACL does not allow this."""

    number = KeeperCode.NOAUTH


class BadVersion(OperationError):
    """The node has another version than the one named."""

    number = KeeperCode.BADVERSION


class NoChildrenForEphemerals(OperationError):
    """An ephemeral node can have no children."""

    number = KeeperCode.NOCHILDRENFOREPHEMERALS


class NodeExists(OperationError):
    """There is such a node already."""

    number = KeeperCode.NODEEXISTS


class NotEmpty(OperationError):
    """The node has children."""

    number = KeeperCode.NOTEMPTY


class SessionExpired(OperationError):
    """The session has expired, and its ephemeral nodes and watches with it."""

    number = KeeperCode.SESSIONEXPIRED


class SessionClosed(OperationError):
    """The session was closed by its owner."""

    number = KeeperCode.SESSIONEXPIRED


class InvalidCallback(OperationError):
    """The callback is not valid."""

    number = KeeperCode.INVALIDCALLBACK


class InvalidAcl(OperationError):
    """The ACL is empty, or names a scheme or an identity that is not legal."""

    number = KeeperCode.INVALIDACL


class AuthFailed(OperationError):
    """The server did not accept the credentials."""

    number = KeeperCode.AUTHFAILED


class SessionMoved(OperationError):
    """The session has moved to another server; this connection is an old one."""

    number = KeeperCode.SESSIONMOVED


class NotReadOnly(OperationError):
    """The server is cut off from its ensemble and only answers reads."""

    number = KeeperCode.NOTREADONLY


class EphemeralOnLocalSession(OperationError):
    """A local session can own no ephemeral nodes."""

    number = KeeperCode.EPHEMERALONLOCALSESSION


class NoWatcher(OperationError):
    """There is no such watch."""

    number = KeeperCode.NOWATCHER


class RequestTimeout(OperationError):
    """The answer did not come in time."""

    number = KeeperCode.REQUESTTIMEOUT


class ReconfigDisabled(OperationError):
    """Changing the ensemble is switched off."""

    number = KeeperCode.RECONFIGDISABLED


class SaslRequired(OperationError):
    """The server requires the client to authenticate by SASL."""

    number = KeeperCode.SESSIONCLOSEDREQUIRESASLAUTH


class QuotaExceeded(OperationError):
    """The quota of the path would be exceeded."""

    number = KeeperCode.QUOTAEXCEEDED


class Throttled(OperationError):
    """The server is overloaded and did not try; it may be asked again, later."""

    number = KeeperCode.THROTTLEDOP


class QueueFull(Throttled):
    """More operations wait to be sent than are allowed; this one was not taken."""


class MultiFailed(KeeperError):
    """A multi of which nothing was done, because one of its operations failed.

    `cause` is that operation's error, `index` its place. Where the server says only that the
    whole was refused, `index` is None.
    """

    def __init__(self, cause: KeeperError, index: int | None) -> None:
        place = "the multi" if index is None else f"operation {index} of the multi"
        super().__init__(cause.keeper_code, f"{place} failed: {cause}")
        self.cause = cause
        self.index = index


ERRORS: Final[Mapping[int, type[OperationError]]] = {
    error.number: error
    for error in (
        SystemFault,
        RuntimeInconsistency,
        DataInconsistency,
        ConnectionLost,
        Unmarshallable,
        Unimplemented,
        OperationTimeout,
        BadArguments,
        UnknownSession,
        NewConfigNoQuorum,
        ReconfigInProgress,
        OperationError,
        NoNode,
        NoAuth,
        BadVersion,
        NoChildrenForEphemerals,
        NodeExists,
        NotEmpty,
        SessionExpired,
        InvalidCallback,
        InvalidAcl,
        AuthFailed,
        SessionMoved,
        NotReadOnly,
        EphemeralOnLocalSession,
        NoWatcher,
        RequestTimeout,
        ReconfigDisabled,
        SaslRequired,
        QuotaExceeded,
        Throttled,
    )
}


def error_of(number: int, subject: str = "") -> KeeperError:
    """The error of a code; an unknown code becomes a `SystemFault` that names it."""
    error = ERRORS.get(number)
    if error is None:
        return SystemFault(f"{subject or 'the operation'} (unknown code {number})")
    return error(subject)


def multi_error(codes: Sequence[int], subjects: Sequence[str]) -> MultiFailed:
    """The error of a multi from the codes of its operations, of which one is the reason.

    Those before it have no error, those behind it only say that there was one.
    """
    quiet = (KeeperCode.OK, KeeperCode.RUNTIMEINCONSISTENCY)
    for index, code in enumerate(codes):
        if code not in quiet:
            return MultiFailed(error_of(code, subjects[index]), index)
    return MultiFailed(RuntimeInconsistency(), None)
