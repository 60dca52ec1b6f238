"""The error table is Kafka's, and exceptions speak its sentences."""

from odradek.model.errors import BrokerError, CorruptBatch, ErrorCode
from odradek.model.limits import STRING_BYTES_MAX


def test_numbers_are_kafkas() -> None:
    """The codes run from -1 to 133 without a hole, and a number finds its member."""
    assert sorted(ErrorCode) == list(range(-1, 134))
    assert ErrorCode(6) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert ErrorCode.NOT_LEADER_OR_FOLLOWER.retriable
    assert not ErrorCode.MESSAGE_TOO_LARGE.retriable


def test_every_code_has_a_sentence_of_its_own() -> None:
    """Whoever meets an error is told something, and never the same for two errors."""
    sentences = [code.sentence for code in ErrorCode]
    assert all(sentence.endswith(".") for sentence in sentences)
    assert len(set(sentences)) == len(sentences)


def test_an_exception_speaks_for_its_code() -> None:
    """With no text of its own it says the sentence of its code."""
    assert str(CorruptBatch()) == ErrorCode.CORRUPT_MESSAGE.sentence
    assert str(CorruptBatch("magic 7")) == "magic 7"
    assert BrokerError.code is ErrorCode.UNKNOWN_SERVER_ERROR


def test_an_exception_s_text_fits_into_an_answer() -> None:
    """It may quote what a client said, however long that was; an answer's string is bounded."""
    said = "\N{GRINNING FACE}" * STRING_BYTES_MAX
    text = str(CorruptBatch(f"there is no topic {said}"))
    assert len(text.encode()) <= STRING_BYTES_MAX
    assert text.startswith("there is no topic")
    assert text.endswith("\N{HORIZONTAL ELLIPSIS}")
