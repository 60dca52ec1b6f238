"""What each family of metrics tells, in one line: the HELP of Prometheus' text format."""

from typing import Final

_BROKER: Final = "kafka_server_replicamanager_"
_TOPIC: Final = "kafka_server_brokertopicmetrics_"
_CONTROLLER: Final = "kafka_controller_kafkacontroller_"
_EVENTS: Final = "kafka_controller_controllereventmanager_"
_CHANNELS: Final = "kafka_controller_controllerchannelmanager_"
_PARTITION: Final = "kafka_topic_partition_"

HELP: Final[dict[str, str]] = {
    f"{_BROKER}leadercount": "Partitions that this broker leads.",
    f"{_BROKER}partitioncount": "Replicas in the log dirs that are online.",
    f"{_BROKER}underreplicatedpartitions": "Led partitions with a replica that is not in sync.",
    f"{_BROKER}underminisrpartitioncount": "Led partitions below min.insync.replicas.",
    f"{_BROKER}atminisrpartitioncount": "Led partitions with exactly min.insync.replicas in sync.",
    f"{_BROKER}offlinereplicacount": "Replicas of this broker in a log dir that failed.",
    f"{_BROKER}isrshrinks_total": "Replicas that left the ISR of a partition led here.",
    f"{_BROKER}isrexpands_total": "Replicas that joined the ISR of a partition led here.",
    f"{_BROKER}partitionswithlatetransactionscount": (
        "Led partitions with a transaction that is open for longer than any may be."
    ),
    "kafka_coordinator_transaction_transactionmarkerchannelmanager_unknowndestinationqueuesize": (
        "Ends of transactions whose partition has no leader."
    ),
    "kafka_server_group_coordinator_metrics_partition_load_time_max": (
        "Longest load of a partition of groups in the last 30 s, in ms."
    ),
    "kafka_server_group_coordinator_metrics_partition_load_time_avg": (
        "Mean of these loads, in ms."
    ),
    "kafka_server_transaction_coordinator_metrics_partition_load_time_max": (
        "Longest load of a partition of transactional ids in the last 30 s, in ms."
    ),
    "kafka_server_transaction_coordinator_metrics_partition_load_time_avg": (
        "Mean of these loads, in ms."
    ),
    "odradek_transactions": "Transactional ids that are coordinated here, by state.",
    "kafka_log_logmanager_offlinelogdirectorycount": "Log dirs that failed.",
    "kafka_log_logmanager_logdirectoryoffline": "Whether this log dir failed.",
    "odradek_log_dir_size_bytes": "Bytes of the segments in this log dir.",
    "odradek_log_dir_free_bytes": "Bytes that the disk of this log dir has left.",
    "odradek_log_dir_total_bytes": "Bytes that the disk of this log dir has room for.",
    "odradek_log_dir_hangs": "Whether the disk of this log dir does not return from a call.",
    "odradek_log_dir_warns": "Whether the disk of this log dir grows slow, or its errors grow.",
    "odradek_log_dir_writes_total": "Groups of appends written to this log dir.",
    "odradek_log_dir_write_microseconds_total": "Time that these took, their syncs included.",
    f"{_CONTROLLER}activecontrollercount": "Whether this is the controller.",
    f"{_CONTROLLER}controllerstate": (
        "What the controller does, by Kafka's numbers; 0: nothing, 99: what has no number."
    ),
    f"{_CONTROLLER}activepreferredcontrollercount": (
        "Whether this is the controller, and preferred."
    ),
    f"{_CONTROLLER}standbypreferredcontrollercount": (
        "Whether this is preferred as the controller, and another is it."
    ),
    "odradek_throttled_requests_total": "Requests after which a client above a quota had to wait.",
    "odradek_controller_missing_broker": "A broker that has replicas and is not registered, by id.",
    "odradek_controller_reassigning_partitions": "Partitions that are being moved.",
    "odradek_controller_waiting_reassignments": "Those of them that wait for a missing broker.",
    "odradek_move_stands_seconds": (
        "For how long nothing has come to a replica that is added or moved to another log dir."
    ),
    "odradek_controller_withheld": "Whether there is no controller because no preferred one lives.",
    f"{_CONTROLLER}offlinepartitionscount": "Partitions without a live leader.",
    f"{_CONTROLLER}globaltopiccount": "Topics of the cluster.",
    f"{_CONTROLLER}globalpartitioncount": "Partitions of the cluster.",
    f"{_CONTROLLER}activebrokercount": "Brokers that are registered, as the controller knows.",
    f"{_CONTROLLER}preferredreplicaimbalancecount": "Partitions that another replica leads.",
    f"{_CONTROLLER}topicstodeletecount": "Topics whose deletion is not over.",
    f"{_CONTROLLER}replicastodeletecount": "Replicas whose deletion is not over.",
    f"{_CONTROLLER}topicsineligibletodeletecount": "Topics whose deletion waits.",
    f"{_CONTROLLER}replicasineligibletodeletecount": "Replicas whose deletion waits.",
    "kafka_controller_controllerstats_uncleanleaderelections_total": (
        "Leaders elected from outside the ISR."
    ),
    f"{_CHANNELS}totalqueuesize": "Partitions that brokers are still to be told of.",
    f"{_CHANNELS}queuesize": "Partitions that one broker is still to be told of.",
    f"{_EVENTS}eventqueuesize": "Events that wait for the controller.",
    f"{_EVENTS}events_total": "Events that the controller has dealt with.",
    f"{_EVENTS}eventqueuetimems_total": "Milliseconds that events have waited.",
    f"{_EVENTS}eventtimems_total": "Milliseconds that events have taken.",
    "kafka_broker_info": "Brokers that are registered, with the hosts of their listeners.",
    "kafka_brokers": "How many brokers are registered.",
    f"{_TOPIC}messagesin_total": "Records appended.",
    f"{_TOPIC}bytesin_total": "Bytes of batches appended.",
    f"{_TOPIC}bytesout_total": "Bytes of batches sent to consumers.",
    f"{_TOPIC}totalproducerequests_total": "Produce requests.",
    f"{_TOPIC}failedproducerequests_total": "Produce requests that were refused.",
    f"{_TOPIC}totalfetchrequests_total": "Fetch requests.",
    f"{_TOPIC}failedfetchrequests_total": "Fetch requests that were refused.",
    "kafka_server_socketservermetrics_connection_count": "Connections that are open.",
    "kafka_server_socket_server_metrics_connection_count": "Connections that are open.",
    "kafka_server_socketservermetrics_connection_creation_total": "Connections accepted.",
    "kafka_server_delayedoperationpurgatory_fetch_waiting": "Fetches that wait for records.",
    "kafka_server_fetchsessioncache_numincrementalfetchsessions": "Incremental fetch sessions.",
    "odradek_certificate_left_seconds": "Until a listener's certificate ends; negative after that.",
    "kafka_network_socketserver_networkprocessoravgidle_percent": "Idle share of the event loop.",
    "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent": (
        "Idle share of the event loop."
    ),
    "kafka_network_requestmetrics_totaltimems": "Milliseconds from a request to its answer.",
    "kafka_network_requestmetrics_requestqueuetimems": "Milliseconds behind requests read before.",
    "kafka_network_requestmetrics_localtimems": "Milliseconds of work on this broker.",
    "kafka_network_requestmetrics_remotetimems": "Milliseconds of waiting for others.",
    "kafka_network_requestmetrics_responsequeuetimems": "Milliseconds behind earlier answers.",
    "kafka_network_requestmetrics_responsesendtimems": "Milliseconds until the kernel had it all.",
    "kafka_log_log_size": "Bytes of a partition's log.",
    f"{_PARTITION}oldest_offset": "First offset that can be read.",
    f"{_PARTITION}current_offset": "High watermark.",
    f"{_PARTITION}replicas": "Replicas of a partition.",
    f"{_PARTITION}leader": "Id of the leader, or -1.",
    f"{_PARTITION}in_sync_replica": "Replicas in sync.",
    f"{_PARTITION}leader_is_preferred": "Whether the first replica leads.",
    f"{_PARTITION}under_replicated_partition": "Whether a replica is not in sync.",
    "kafka_topic_partitions": "Partitions of a topic.",
    "kafka_cluster_partition_underminisr": "Whether fewer than min.insync.replicas are in sync.",
    "kafka_cluster_partition_atminisr": "Whether exactly min.insync.replicas are in sync.",
    "kafka_cluster_partition_replicascount": "Replicas of a partition.",
    "kafka_consumergroup_current_offset": "Committed offset.",
    "process_cpu_seconds_total": "User and system time of this process.",
    "process_resident_memory_bytes": "Resident memory of this process.",
    "process_virtual_memory_bytes": "Virtual memory of this process.",
    "process_open_fds": "Open file descriptors of this process.",
    "process_max_fds": "How many file descriptors it may open.",
    "process_start_time_seconds": "When this process began, since 1970.",
}


def family_of(name: str) -> str:
    """A summary has samples of three names."""
    is_summary = "requestmetrics" in name
    return name.removesuffix("_count").removesuffix("_sum") if is_summary else name


def kind(family: str) -> str:
    """Its type in the text format."""
    if family.endswith("_total"):
        return "counter"
    return "summary" if "requestmetrics" in family else "gauge"


def heading(family: str) -> list[str]:
    """The comments above its samples."""
    return [f"# HELP {family} {HELP[family]}", f"# TYPE {family} {kind(family)}"]
