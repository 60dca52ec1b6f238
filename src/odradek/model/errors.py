"""What can go wrong for a client, a peer or a disk: Kafka's error codes, and exceptions for them.

The table is Kafka 4.3's: number, name, whether a client may simply try again. The sentences are
ours. An exception names one code; `broker/` turns it into a response in one place. What is *our*
fault is no exception from here but an `assert`.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import ClassVar, Final, Self

from odradek.model.limits import STRING_BYTES_MAX

RETRY = True
FINAL = False
TEXT_CHARACTERS_MAX: Final = 8_000
BEING_DELETED: Final = "is being deleted"
"""Of a topic whose name is not free yet: to clients the code is that of one that exists."""
assert 4 * TEXT_CHARACTERS_MAX + 3 <= STRING_BYTES_MAX, "a text fits into an answer, in any script"


class ErrorCode(IntEnum):
    """A number on the wire, with whether trying again can help, and what it tells a person."""

    retriable: bool
    sentence: str

    def __new__(cls, number: int, retriable: bool = FINAL, sentence: str = "") -> Self:  # noqa: FBT001
        """Members are plain integers on the wire; the rest rides along.

        The defaults serve look-up alone: `ErrorCode(6)` finds the member of that number.
        """
        member = int.__new__(cls, number)
        member._value_ = number
        member.retriable = retriable
        member.sentence = sentence
        return member

    UNKNOWN_SERVER_ERROR = (-1, FINAL, "The broker met an error that it did not expect.")
    NONE = (0, FINAL, "No error.")
    OFFSET_OUT_OF_RANGE = (1, FINAL, "The offset is not within the range that this log holds.")
    CORRUPT_MESSAGE = (
        2,
        RETRY,
        "The batch fails its checksum, has an impossible size, or lacks a key it needs.",
    )
    UNKNOWN_TOPIC_OR_PARTITION = (3, RETRY, "This broker does not host this topic or partition.")
    INVALID_FETCH_SIZE = (4, FINAL, "The fetch size is not valid.")
    LEADER_NOT_AVAILABLE = (
        5,
        RETRY,
        "The partition has no leader at the moment; an election is under way.",
    )
    NOT_LEADER_OR_FOLLOWER = (
        6,
        RETRY,
        "This broker is not the replica that the request needs; refresh the metadata.",
    )
    REQUEST_TIMED_OUT = (7, RETRY, "The time of the request ran out before it was done.")
    BROKER_NOT_AVAILABLE = (8, FINAL, "The broker is not available.")
    REPLICA_NOT_AVAILABLE = (9, RETRY, "The replica is not available for this partition.")
    MESSAGE_TOO_LARGE = (10, FINAL, "The batch is larger than the topic or the broker accepts.")
    STALE_CONTROLLER_EPOCH = (
        11,
        FINAL,
        "The controller that sent this has been replaced by a newer one.",
    )
    OFFSET_METADATA_TOO_LARGE = (12, FINAL, "The metadata of the committed offset is too large.")
    NETWORK_EXCEPTION = (13, RETRY, "The connection broke before the answer came.")
    COORDINATOR_LOAD_IN_PROGRESS = (14, RETRY, "The coordinator is still reading its log.")
    COORDINATOR_NOT_AVAILABLE = (15, RETRY, "The coordinator is not available.")
    NOT_COORDINATOR = (16, RETRY, "This broker is not the coordinator; ask for it anew.")
    INVALID_TOPIC_EXCEPTION = (
        17,
        FINAL,
        "The topic's name is not legal, or the operation is not allowed on it.",
    )
    RECORD_LIST_TOO_LARGE = (18, FINAL, "The request holds a batch larger than a segment.")
    NOT_ENOUGH_REPLICAS = (
        19,
        RETRY,
        "Fewer replicas are in sync than min.insync.replicas; nothing was written.",
    )
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = (
        20,
        RETRY,
        "The batch was written, but to fewer in-sync replicas than required.",
    )
    INVALID_REQUIRED_ACKS = (21, FINAL, "acks must be -1, 0 or 1.")
    ILLEGAL_GENERATION = (22, FINAL, "The generation is not the group's current one.")
    INCONSISTENT_GROUP_PROTOCOL = (
        23,
        FINAL,
        "The member's protocols do not fit those of the group.",
    )
    INVALID_GROUP_ID = (24, FINAL, "The group id is not valid.")
    UNKNOWN_MEMBER_ID = (25, FINAL, "The coordinator does not know this member.")
    INVALID_SESSION_TIMEOUT = (
        26,
        FINAL,
        "The session timeout is outside the range that the broker allows.",
    )
    REBALANCE_IN_PROGRESS = (27, FINAL, "The group is rebalancing; join it again.")
    INVALID_COMMIT_OFFSET_SIZE = (28, FINAL, "The offset commit is too large.")
    TOPIC_AUTHORIZATION_FAILED = (29, FINAL, "Not authorised for this topic.")
    GROUP_AUTHORIZATION_FAILED = (30, FINAL, "Not authorised for this group.")
    CLUSTER_AUTHORIZATION_FAILED = (31, FINAL, "Not authorised for this operation on the cluster.")
    INVALID_TIMESTAMP = (
        32,
        FINAL,
        "The record's timestamp is outside the range that the topic accepts.",
    )
    UNSUPPORTED_SASL_MECHANISM = (33, FINAL, "The broker does not offer this SASL mechanism.")
    ILLEGAL_SASL_STATE = (34, FINAL, "The request does not fit the state of the SASL pending.")
    UNSUPPORTED_VERSION = (35, FINAL, "This version of the API is not supported.")
    TOPIC_ALREADY_EXISTS = (36, FINAL, "A topic of this name exists already.")
    INVALID_PARTITIONS = (37, FINAL, "The number of partitions is not valid.")
    INVALID_REPLICATION_FACTOR = (
        38,
        FINAL,
        "The replication factor is below one or above the number of brokers.",
    )
    INVALID_REPLICA_ASSIGNMENT = (39, FINAL, "The assignment of replicas to brokers is not valid.")
    INVALID_CONFIG = (40, FINAL, "The setting is not valid.")
    NOT_CONTROLLER = (41, RETRY, "This broker is not the controller of the cluster.")
    INVALID_REQUEST = (42, FINAL, "The request is malformed, or its parts contradict each other.")
    UNSUPPORTED_FOR_MESSAGE_FORMAT = (
        43,
        FINAL,
        "The message format of the log does not support this request.",
    )
    POLICY_VIOLATION = (44, FINAL, "The request breaks a policy of the operator.")
    OUT_OF_ORDER_SEQUENCE_NUMBER = (
        45,
        FINAL,
        "A batch of this producer is missing before this one.",
    )
    DUPLICATE_SEQUENCE_NUMBER = (
        46,
        FINAL,
        "This batch was written before, too long ago to name its offset.",
    )
    INVALID_PRODUCER_EPOCH = (47, FINAL, "A newer producer with the same id has taken over.")
    INVALID_TXN_STATE = (48, FINAL, "The transaction's state does not allow this.")
    INVALID_PRODUCER_ID_MAPPING = (
        49,
        FINAL,
        "The producer id does not belong to this transactional id.",
    )
    INVALID_TRANSACTION_TIMEOUT = (
        50,
        FINAL,
        "The transaction timeout is larger than the broker allows.",
    )
    CONCURRENT_TRANSACTIONS = (
        51,
        RETRY,
        "The producer's previous transaction is still being completed.",
    )
    TRANSACTION_COORDINATOR_FENCED = (52, FINAL, "A newer transaction coordinator has taken over.")
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = (53, FINAL, "Not authorised for this transactional id.")
    SECURITY_DISABLED = (54, FINAL, "Security is not switched on.")
    OPERATION_NOT_ATTEMPTED = (55, FINAL, "Not attempted: another part of the same request failed.")
    KAFKA_STORAGE_ERROR = (56, RETRY, "The disk that holds this log has failed.")
    LOG_DIR_NOT_FOUND = (57, FINAL, "No such log directory is configured on this broker.")
    SASL_AUTHENTICATION_FAILED = (58, FINAL, "The SASL authentication failed.")
    UNKNOWN_PRODUCER_ID = (59, FINAL, "The log holds nothing of this producer any more.")
    REASSIGNMENT_IN_PROGRESS = (60, FINAL, "The partition is being reassigned.")
    DELEGATION_TOKEN_AUTH_DISABLED = (61, FINAL, "Delegation tokens are not switched on.")
    DELEGATION_TOKEN_NOT_FOUND = (62, FINAL, "The delegation token is not known.")
    DELEGATION_TOKEN_OWNER_MISMATCH = (
        63,
        FINAL,
        "The principal is neither owner nor renewer of the token.",
    )
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = (
        64,
        FINAL,
        "This channel may not ask for delegation tokens.",
    )
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = (65, FINAL, "Not authorised for delegation tokens.")
    DELEGATION_TOKEN_EXPIRED = (66, FINAL, "The delegation token has expired.")
    INVALID_PRINCIPAL_TYPE = (67, FINAL, "The type of principal is not supported.")
    NON_EMPTY_GROUP = (68, FINAL, "The group still has members.")
    GROUP_ID_NOT_FOUND = (69, FINAL, "No group of this id exists.")
    FETCH_SESSION_ID_NOT_FOUND = (70, RETRY, "The fetch session is not known; begin a new one.")
    INVALID_FETCH_SESSION_EPOCH = (
        71,
        RETRY,
        "The epoch of the fetch session is not the expected one.",
    )
    LISTENER_NOT_FOUND = (
        72,
        RETRY,
        "The leader has no listener of the name on which the request came.",
    )
    TOPIC_DELETION_DISABLED = (73, FINAL, "The deletion of topics is switched off.")
    FENCED_LEADER_EPOCH = (74, RETRY, "The leader epoch of the request is older than the broker's.")
    UNKNOWN_LEADER_EPOCH = (
        75,
        RETRY,
        "The leader epoch of the request is newer than the broker's.",
    )
    UNSUPPORTED_COMPRESSION_TYPE = (
        76,
        FINAL,
        "The client cannot read the compression of the records.",
    )
    STALE_BROKER_EPOCH = (77, FINAL, "The broker has registered again since this was sent.")
    OFFSET_NOT_AVAILABLE = (
        78,
        RETRY,
        "The leader is new and does not know its high watermark yet.",
    )
    MEMBER_ID_REQUIRED = (79, FINAL, "Join again with the member id that this answer gives.")
    PREFERRED_LEADER_NOT_AVAILABLE = (80, RETRY, "The preferred leader is not available.")
    GROUP_MAX_SIZE_REACHED = (81, FINAL, "The group has as many members as it may.")
    FENCED_INSTANCE_ID = (82, FINAL, "Another member has taken over this group instance id.")
    ELIGIBLE_LEADERS_NOT_AVAILABLE = (83, RETRY, "No replica that may lead is available.")
    ELECTION_NOT_NEEDED = (84, RETRY, "The partition has the leader that was asked for.")
    NO_REASSIGNMENT_IN_PROGRESS = (85, FINAL, "The partition is not being reassigned.")
    GROUP_SUBSCRIBED_TO_TOPIC = (
        86,
        FINAL,
        "The group is subscribed to the topic, so its offsets stay.",
    )
    INVALID_RECORD = (87, FINAL, "A record breaks the rules of its batch or topic.")
    UNSTABLE_OFFSET_COMMIT = (88, RETRY, "Offsets of an open transaction are not yet decided.")
    THROTTLING_QUOTA_EXCEEDED = (89, RETRY, "The quota is used up for now.")
    PRODUCER_FENCED = (90, FINAL, "A newer producer with the same transactional id has taken over.")
    RESOURCE_NOT_FOUND = (91, FINAL, "The resource does not exist.")
    DUPLICATE_RESOURCE = (92, FINAL, "The resource is named twice, or exists already.")
    UNACCEPTABLE_CREDENTIAL = (93, FINAL, "The credential does not meet the requirements.")
    INCONSISTENT_VOTER_SET = (94, FINAL, "The voters that sender and receiver know differ.")
    INVALID_UPDATE_VERSION = (95, FINAL, "The version to update from is not the current one.")
    FEATURE_UPDATE_FAILED = (96, FINAL, "The finalized features could not be updated.")
    PRINCIPAL_DESERIALIZATION_FAILURE = (
        97,
        FINAL,
        "The principal of the forwarded request cannot be read.",
    )
    SNAPSHOT_NOT_FOUND = (98, FINAL, "The snapshot is not here.")
    POSITION_OUT_OF_RANGE = (99, FINAL, "The position is not within the snapshot.")
    UNKNOWN_TOPIC_ID = (100, RETRY, "This broker does not know a topic of this id.")
    DUPLICATE_BROKER_REGISTRATION = (101, FINAL, "A broker of this id is registered already.")
    BROKER_ID_NOT_REGISTERED = (102, FINAL, "No broker of this id is registered.")
    INCONSISTENT_TOPIC_ID = (103, RETRY, "The topic's id is not the one in the request.")
    INCONSISTENT_CLUSTER_ID = (104, FINAL, "The request is meant for another cluster.")
    TRANSACTIONAL_ID_NOT_FOUND = (105, FINAL, "The transactional id is not known.")
    FETCH_SESSION_TOPIC_ID_ERROR = (
        106,
        RETRY,
        "The fetch session mixes topic names and topic ids.",
    )
    INELIGIBLE_REPLICA = (107, FINAL, "The replica may not join the in-sync set.")
    NEW_LEADER_ELECTED = (108, FINAL, "The change was made, and the partition has a new leader.")
    OFFSET_MOVED_TO_TIERED_STORAGE = (109, FINAL, "The offset is held by tiered storage only.")
    FENCED_MEMBER_EPOCH = (110, FINAL, "The member's epoch was fenced; join the group again.")
    UNRELEASED_INSTANCE_ID = (111, FINAL, "The group instance id is still held by another member.")
    UNSUPPORTED_ASSIGNOR = (112, FINAL, "The group supports none of the member's assignors.")
    STALE_MEMBER_EPOCH = (113, FINAL, "The member has moved on to a newer epoch.")
    MISMATCHED_ENDPOINT_TYPE = (114, FINAL, "The request went to the wrong kind of endpoint.")
    UNSUPPORTED_ENDPOINT_TYPE = (115, FINAL, "This kind of endpoint is not supported.")
    UNKNOWN_CONTROLLER_ID = (116, FINAL, "The controller id is not known.")
    UNKNOWN_SUBSCRIPTION_ID = (
        117,
        FINAL,
        "The telemetry subscription is not the client's current one.",
    )
    TELEMETRY_TOO_LARGE = (118, FINAL, "The pushed metrics are larger than the broker accepts.")
    INVALID_REGISTRATION = (119, FINAL, "The broker's registration is not valid.")
    TRANSACTION_ABORTABLE = (
        120,
        FINAL,
        "The transaction failed and must be aborted; the producer can go on.",
    )
    INVALID_RECORD_STATE = (121, FINAL, "The record's state does not allow this acknowledgement.")
    SHARE_SESSION_NOT_FOUND = (122, RETRY, "The share session is not known; begin a new one.")
    INVALID_SHARE_SESSION_EPOCH = (
        123,
        RETRY,
        "The epoch of the share session is not the expected one.",
    )
    FENCED_STATE_EPOCH = (
        124,
        FINAL,
        "The epoch of the share group's state is older than the coordinator's.",
    )
    INVALID_VOTER_KEY = (125, FINAL, "The voter's key does not fit the receiver.")
    DUPLICATE_VOTER = (126, FINAL, "The voter is in the set already.")
    VOTER_NOT_FOUND = (127, FINAL, "The voter is not in the set.")
    INVALID_REGULAR_EXPRESSION = (128, FINAL, "The regular expression is not valid.")
    REBOOTSTRAP_REQUIRED = (
        129,
        FINAL,
        "The client's metadata belongs to another cluster; start over from the bootstrap list.",
    )
    STREAMS_INVALID_TOPOLOGY = (130, FINAL, "The topology is not valid.")
    STREAMS_INVALID_TOPOLOGY_EPOCH = (131, FINAL, "The topology's epoch is not valid.")
    STREAMS_TOPOLOGY_FENCED = (132, FINAL, "The topology's epoch is older than the group's.")
    SHARE_SESSION_LIMIT_REACHED = (133, RETRY, "The broker holds as many share sessions as it may.")


class BrokerError(Exception):
    """Something that is answered with an error code; the text names what, and what is allowed."""

    code: ClassVar[ErrorCode] = ErrorCode.UNKNOWN_SERVER_ERROR

    def __str__(self) -> str:
        """The text given, or else the sentence of the code; it may quote a client at length."""
        text = super().__str__() or self.code.sentence
        if len(text) > TEXT_CHARACTERS_MAX:
            return f"{text[:TEXT_CHARACTERS_MAX]}\N{HORIZONTAL ELLIPSIS}"
        return text


class MalformedRequest(BrokerError):
    """Bytes from the network that are not what their header says they are."""

    code = ErrorCode.INVALID_REQUEST


class UnsupportedVersion(BrokerError):
    """A version of an API that is not spoken here."""

    code = ErrorCode.UNSUPPORTED_VERSION


class CorruptBatch(BrokerError):
    """A batch whose checksum, magic, lengths or counts cannot be true."""

    code = ErrorCode.CORRUPT_MESSAGE


class RejectedBatch(BrokerError):
    """A batch is refused for its records; where it is known for which, a producer is told."""

    def __init__(self, text: str, records: Mapping[int, str] | None = None) -> None:
        super().__init__(text)
        self.records = records or {}  # by their place in the batch: what is wrong (KIP-467)


class InvalidRecord(RejectedBatch):
    """A batch that is whole, but breaks a rule for records."""

    code = ErrorCode.INVALID_RECORD


class InvalidTimestamp(RejectedBatch):
    """A record's time that the topic does not accept, or that is not the producer's to set."""

    code = ErrorCode.INVALID_TIMESTAMP


class BatchTooLarge(BrokerError):
    """More bytes than the topic or the broker accepts, or than a compressed block may become."""

    code = ErrorCode.MESSAGE_TOO_LARGE


class UnsupportedCompression(BrokerError):
    """A codec that does not exist, or that this version of the API does not allow."""

    code = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


class InvalidSetting(BrokerError):
    """A setting with its value, what is allowed, and where it was set."""

    code = ErrorCode.INVALID_CONFIG
