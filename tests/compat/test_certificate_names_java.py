"""Names of certificates, and what rules make of them, beside Java and Kafka 3.9.1."""

from random import Random
from typing import Final

import pytest

from odradek.model.errors import InvalidSetting
from odradek.security.certificates.certificate_names import name_of, parse_rules
from tests.external.oracle import JavaRefused, Oracle
from tests.samples.subjects import UTF8, certificate_of, relative_name, subject, subjects

pytestmark = pytest.mark.xdist_group("java")

NAMES: Final = 500
SEED: Final = 33
RULES: Final = [
    "",
    "DEFAULT",
    "RULE:^CN=(.*?),.*$/$1/",
    "RULE:^CN=(.*?),.*$/$1/L,DEFAULT",
    "RULE:.*/x/",
    "RULE:CN=(.*?),O=(.*?)/$2-$1/U,RULE:(.*)/<$1>/L",
    r"RULE:^.*?OU=((?:\\.|[^,\\])*).*$/$1@\/\$1/ , DEFAULT",
    "RULE:(C)(N)=(.*)/$3$12$0/U,RULE:([^=]*)=(.*)/$2 in $1/",
    "RULE:^(?:CN=(a)|.*)$/[$1]/",
]
"""With marks, cases, groups that took no part, and patterns that fit more than once."""
NO_RULES: Final = [
    "RULE:a",
    "RULE:a/b",
    "default",
    "DEFAUL",
    "DEFAULT/L",
    "rule:^a$/b/",
    "RULE:^a$/L",
]
PEOPLE: Final = [
    "CN=alice,OU=Tests,O=Odradek",
    "CN=alice,O=Odradek",
    "CN=a,O=b",
    "CN=,O=",
    "O=Odradek",
    r"CN=Alice \+ Bob,OU=R\, D,O=Odradek",
    "",
]


def test_names_are_written_as_java_writes_them(kafka_in_java: Oracle) -> None:
    """Whatever a subject holds: a rule for a name means the same one at both."""
    found = subjects(Random(SEED), NAMES)
    said = kafka_in_java.ask("names", subjects=found)["names"]
    read = [(it, name) for it, name in zip(found, said, strict=True) if name is not None]
    assert len(read) > NAMES * 0.9
    for data, name in read:
        assert name_of(certificate_of(data)) == name, data.hex()


@pytest.mark.parametrize("rules", RULES)
def test_rules_make_of_names_what_kafka_makes(kafka_in_java: Oracle, rules: str) -> None:
    """Where no rule applies, nobody is let in."""
    said = kafka_in_java.ask("principals", rules=rules, names=PEOPLE)["mapped"]
    parsed = parse_rules(rules)
    ours = [
        next((made for rule in parsed if (made := rule.apply(name)) is not None), None)
        for name in PEOPLE
    ]
    assert ours == said


@pytest.mark.parametrize("rules", NO_RULES)
def test_what_is_no_rule_for_kafka_is_none_for_us(kafka_in_java: Oracle, rules: str) -> None:
    """It is found at the start."""
    with pytest.raises(JavaRefused):
        kafka_in_java.ask("principals", rules=rules, names=[])
    with pytest.raises(InvalidSetting):
        parse_rules(rules)


def test_a_subject_of_the_samples_is_one(kafka_in_java: Oracle) -> None:
    """What is random above is built as this one, which anybody can read."""
    known = subject([relative_name([("2.5.4.3", UTF8, b"alice")])])
    assert kafka_in_java.ask("names", subjects=[known])["names"] == ["CN=alice"]
