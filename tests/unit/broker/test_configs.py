"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs: what is set, and what then holds."""

from typing import Any

from odradek.broker.handlers.incremental_alter_configs import Operation
from odradek.config.describe import Source
from odradek.config.rows import topic as rows
from odradek.model.errors import ErrorCode
from odradek.wire.messages import alter_configs as replacing
from odradek.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.unit.broker.stage import Client, Stage

TOPIC, BROKER = 2, 4


def described(client: Client, name: str = "orders", kind: int = TOPIC) -> dict[str, Any]:
    """Every setting by its name."""
    resource = DescribeConfigsResource(kind, name, None)
    (found,) = client.ask(DescribeConfigsRequest([resource], include_synonyms=True)).results
    assert found.error_code == ErrorCode.NONE, found
    return {one.name: one for one in found.configs}


def alter(
    client: Client, *changes: tuple[str, Operation, str | None], name: str = "orders", kind: int = 2
) -> ErrorCode:
    """What one resource was answered."""
    configs = [AlterableConfig(*change) for change in changes]
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(kind, name, configs)])
    (answer,) = client.ask(request).responses
    return ErrorCode(answer.error_code)


def test_a_setting_is_set_holds_and_is_taken_back() -> None:
    """It is answered when it holds here, and it is there in the broker's next life."""
    with Stage() as stage:
        stage.make("orders", retention_ms="60000")
        client = stage.client()
        assert described(client)["retention.ms"].config_source == Source.TOPIC
        assert alter(client, ("segment.bytes", Operation.SET, "4096")) is ErrorCode.NONE
        assert stage.running.settings.topic("orders")[rows.SEGMENT_BYTES] == 4096
        stage.kill()
        stage.start()
        client = stage.client()
        found = described(client)
        assert (found["segment.bytes"].value, found["retention.ms"].value) == ("4096", "60000")
        assert alter(client, ("segment.bytes", Operation.DELETE, None)) is ErrorCode.NONE
        assert described(client)["segment.bytes"].config_source == Source.DEFAULT


def test_lists_grow_and_shrink() -> None:
    """From what holds where nothing was said; what is no list does not."""
    with Stage() as stage:
        stage.make("orders")
        client = stage.client()
        assert alter(client, ("cleanup.policy", Operation.APPEND, "compact")) is ErrorCode.NONE
        assert described(client)["cleanup.policy"].value == "delete,compact"
        assert alter(client, ("cleanup.policy", Operation.SUBTRACT, "delete")) is ErrorCode.NONE
        assert described(client)["cleanup.policy"].value == "compact"
        refused = alter(client, ("retention.ms", Operation.APPEND, "1"))
        assert refused is ErrorCode.INVALID_CONFIG


def test_what_is_wrong_changes_nothing() -> None:
    """A value out of bounds, a name twice, a topic that does not exist, another broker's."""
    with Stage() as stage:
        stage.make("orders")
        client, before = stage.client(), described(stage.client())
        good = ("segment.bytes", Operation.SET, "4096")
        bad = ("retention.ms", Operation.SET, "a while")
        assert alter(client, good, bad) is ErrorCode.INVALID_CONFIG
        assert alter(client, good, good) is ErrorCode.INVALID_REQUEST
        assert alter(client, ("segment.bytes", Operation.SET, None)) is ErrorCode.INVALID_REQUEST
        assert alter(client, good, name="nix") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert alter(client, good, name="no/topic") is ErrorCode.INVALID_TOPIC_EXCEPTION
        assert alter(client, good, name="7", kind=BROKER) is ErrorCode.INVALID_REQUEST
        assert alter(client, good, kind=99) is ErrorCode.INVALID_REQUEST
        assert described(client) == before


def test_a_dry_run_leaves_all_as_it_was() -> None:
    """It says what would be said."""
    with Stage() as stage:
        stage.make("orders")
        client = stage.client()
        configs = [AlterableConfig("segment.bytes", Operation.SET, "4096")]
        resources = [AlterConfigsResource(TOPIC, "orders", configs)]
        answer = client.ask(IncrementalAlterConfigsRequest(resources, validate_only=True))
        assert answer.responses[0].error_code == ErrorCode.NONE
        assert described(client)["segment.bytes"].config_source == Source.DEFAULT


def test_all_at_once_takes_back_what_is_not_named() -> None:
    """The older way: one setting cannot be changed without the others."""
    with Stage() as stage:
        stage.make("orders", retention_ms="60000")
        client = stage.client()
        configs = [replacing.AlterableConfig("segment.bytes", "4096")]
        resources = [replacing.AlterConfigsResource(TOPIC, "orders", configs)]
        (answer,) = client.ask(replacing.AlterConfigsRequest(resources)).responses
        assert answer.error_code == ErrorCode.NONE
        found = described(client)
        assert found["segment.bytes"].value == "4096"
        assert found["retention.ms"].config_source == Source.DEFAULT


def test_a_brokers_settings_change_while_it_runs() -> None:
    """Its own stand over those of all brokers; topics without a word of their own follow."""
    with Stage() as stage:
        stage.make("orders")
        client = stage.client()
        for name, value in (("", "120000"), ("1", "60000")):
            change = ("log.retention.ms", Operation.SET, value)
            assert alter(client, change, name=name, kind=BROKER) is ErrorCode.NONE
        found = described(client, "1", BROKER)["log.retention.ms"]
        assert (found.value, found.config_source) == ("60000", Source.DYNAMIC_BROKER)
        assert "120000" in [one.value for one in found.synonyms]
        assert described(client, "", BROKER)["log.retention.ms"].value == "120000"
        assert described(client)["retention.ms"].value == "60000"
        read_only = ("broker.id", Operation.SET, "9")
        assert alter(client, read_only, name="1", kind=BROKER) is ErrorCode.INVALID_CONFIG
