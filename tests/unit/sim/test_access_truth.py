"""What access rules come to, told in the plainest way, is what brokers decide."""

from hypothesis import given
from hypothesis import strategies as st

from odradek.access.decisions import Caller, Decisions
from odradek.client.admin.access_rules import AccessRule
from odradek.model.access import Effect, Operation, Pattern, Resource, ResourceType, Rule
from odradek.sim.worlds.access.clients import OPERATIONS, PATTERNS, TOPICS, USERS
from odradek.sim.worlds.access.truth import Question, allows

RULES = st.builds(
    lambda pattern, user, operation, effect: AccessRule(
        Pattern(ResourceType.TOPIC, *pattern), Rule(f"User:{user}", "*", operation, effect)
    ),
    st.sampled_from(PATTERNS),
    st.sampled_from((*USERS, "*")),
    st.sampled_from(OPERATIONS),
    st.sampled_from((Effect.ALLOW, Effect.DENY)),
)
QUESTIONS = st.builds(
    Question,
    st.sampled_from(USERS),
    st.sampled_from((Operation.READ, Operation.WRITE)),
    st.sampled_from(TOPICS),
)


@given(st.frozensets(RULES, max_size=8), QUESTIONS)
def test_two_ways_to_decide_agree(rules: frozenset[AccessRule], question: Question) -> None:
    """The judge of a world knows nothing of the product's decisions."""
    decisions = Decisions()
    for pattern in {it.pattern for it in rules}:
        decisions.replace(pattern, [it.rule for it in rules if it.pattern == pattern])
    caller = Caller(f"User:{question.user}", "10.0.0.1")
    about = Resource(ResourceType.TOPIC, question.topic)
    assert allows(rules, question) == decisions.may(caller, question.operation, about)
