"""ZooKeeper's numbers: operations, errors, events, modes, permissions.

They are ZooKeeper's own, the same from 3.4 to 3.9; both ends of the protocol speak them.
"""

from enum import IntEnum
from typing import ClassVar, Final

from odradek.model.errors import BrokerError, ErrorCode


class OpCode(IntEnum):
    """What a request asks for: the second field of its header."""

    CREATE_SESSION = -10
    CLOSE_SESSION = -11
    ERROR = -1
    NOTIFICATION = 0
    CREATE = 1
    DELETE = 2
    EXISTS = 3
    GET_DATA = 4
    SET_DATA = 5
    GET_ACL = 6
    SET_ACL = 7
    GET_CHILDREN = 8
    SYNC = 9
    PING = 11
    GET_CHILDREN2 = 12
    CHECK = 13
    MULTI = 14
    CREATE2 = 15
    RECONFIG = 16
    CHECK_WATCHES = 17
    REMOVE_WATCHES = 18
    CREATE_CONTAINER = 19
    DELETE_CONTAINER = 20
    CREATE_TTL = 21
    MULTI_READ = 22
    AUTH = 100
    SET_WATCHES = 101
    SASL = 102
    GET_EPHEMERALS = 103
    GET_ALL_CHILDREN_NUMBER = 104
    SET_WATCHES2 = 105
    ADD_WATCH = 106
    WHO_AM_I = 107


class KeeperCode(IntEnum):
    """How a request ended: the error in a reply's header, and in the results of a multi."""

    OK = 0
    SYSTEMERROR = -1
    RUNTIMEINCONSISTENCY = -2
    DATAINCONSISTENCY = -3
    CONNECTIONLOSS = -4
    MARSHALLINGERROR = -5
    UNIMPLEMENTED = -6
    OPERATIONTIMEOUT = -7
    BADARGUMENTS = -8
    UNKNOWNSESSION = -12
    NEWCONFIGNOQUORUM = -13
    RECONFIGINPROGRESS = -14
    APIERROR = -100
    NONODE = -101
    NOAUTH = -102
    BADVERSION = -103
    NOCHILDRENFOREPHEMERALS = -108
    NODEEXISTS = -110
    NOTEMPTY = -111
    SESSIONEXPIRED = -112
    INVALIDCALLBACK = -113
    INVALIDACL = -114
    AUTHFAILED = -115
    SESSIONMOVED = -118
    NOTREADONLY = -119
    EPHEMERALONLOCALSESSION = -120
    NOWATCHER = -121
    REQUESTTIMEOUT = -122
    RECONFIGDISABLED = -123
    SESSIONCLOSEDREQUIRESASLAUTH = -124
    QUOTAEXCEEDED = -125
    THROTTLEDOP = -127


class EventType(IntEnum):
    """What a watch saw."""

    NONE = -1
    NODE_CREATED = 1
    NODE_DELETED = 2
    NODE_DATA_CHANGED = 3
    NODE_CHILDREN_CHANGED = 4


class KeeperState(IntEnum):
    """What an event says of the session; a server only ever sends SYNC_CONNECTED."""

    DISCONNECTED = 0
    SYNC_CONNECTED = 3
    AUTH_FAILED = 4
    CONNECTED_READ_ONLY = 5
    SASL_AUTHENTICATED = 6
    EXPIRED = -112
    CLOSED = 7


class CreateMode(IntEnum):
    """What kind of node a create makes: its flags."""

    PERSISTENT = 0
    EPHEMERAL = 1
    PERSISTENT_SEQUENTIAL = 2
    EPHEMERAL_SEQUENTIAL = 3
    CONTAINER = 4
    PERSISTENT_WITH_TTL = 5
    PERSISTENT_SEQUENTIAL_WITH_TTL = 6


class AddWatchMode(IntEnum):
    """The persistent watches: on one node, or on it and all below."""

    PERSISTENT = 0
    PERSISTENT_RECURSIVE = 1


class WatcherType(IntEnum):
    """Which watches of a path are meant when they are removed or asked after."""

    CHILDREN = 1
    DATA = 2
    ANY = 3
    PERSISTENT = 4
    PERSISTENT_RECURSIVE = 5


class Permission(IntEnum):
    """One bit each of an ACL's permissions."""

    READ = 1
    WRITE = 2
    CREATE = 4
    DELETE = 8
    ADMIN = 16


ALL_PERMISSIONS: Final = 31

NOTIFICATION_XID: Final = -1  # a watch event comes under this number
NO_ZXID: Final = -1  # of an event whose transaction is not known
PING_XID: Final = -2
AUTH_XID: Final = -4
SET_WATCHES_XID: Final = -8
SASL_XID: Final = 0
"""Of our own logins: nothing else is on its way then, and requests begin at 1."""

ANY_VERSION: Final = -1  # a write that names no version replaces whatever is there


class KeeperError(BrokerError):
    """A request that ZooKeeper refused. Kafka has no codes of its own for these."""

    code: ClassVar[ErrorCode] = ErrorCode.UNKNOWN_SERVER_ERROR
    keeper_code: KeeperCode

    def __init__(self, keeper_code: KeeperCode, message: str = "") -> None:
        super().__init__(message or keeper_code.name)
        self.keeper_code = keeper_code


class MalformedPacket(KeeperError):
    """Bytes that are not the packet that they should be: cut, too long, or counted wrongly."""

    def __init__(self, message: str) -> None:
        super().__init__(KeeperCode.MARSHALLINGERROR, message)
