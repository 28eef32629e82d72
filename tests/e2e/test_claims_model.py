# SPDX-License-Identifier: MPL-2.0
"""A model of the claims (controller/README.md, "Why two controllers never make a name twice"): all
orders of the events of two controllers that create one name, each on a host of its own. Requests
are lost, come late, or their answers are lost; agents restart, forget and let promises expire. The
name is never created twice. Each part of the rule is needed: without any of them it is.

Controller 0 creates at host 0, controller 1 at host 1: if both created at one host, its agent would
find the name. A third host has an agent that both controllers ask."""
from typing import NamedTuple

import pytest

SILENT, LATE, LATER, FOUND = "silent", "late", "later", "found"
# The parts of the rule that can be left out.
RULE = {"targets", "memory", "majority", "names", "barrier", "promised", "stored", "promise"}


class Agent(NamedTuple):
    """An agent as far as the name is concerned. Claims are numbers; 0 is none."""
    has: bool = False
    promise: int = 0     # the claim to which the agent has promised the name
    valid: bool = False  # true if that claim may still create the name
    floor: int = 0       # the agent promises nothing to claims up to this one
    forgot: int = 0      # the agent may have forgotten promises to claims up to this one
    highest: int = 0     # the highest claim that the agent has seen
    targets: frozenset = frozenset()  # (claim, host) of the promises that the agent remembers


class Controller(NamedTuple):
    """A controller. `answers` has for each host None, one of the words above, or (targets,
    forgot)."""
    phase: str = "roll"
    claim: int = 0
    answers: tuple = ()
    may_have: bool = False  # true if the other controller's host may have the name at the barrier
    barrier: int = 0


class State(NamedTuple):
    agents: tuple
    controllers: tuple
    claims: int = 0  # how many were made; the next three are accidents that may still happen
    restarts: int = 0
    evictions: int = 0
    expiries: int = 0


def put(items, at, item):
    return items[:at] + (item,) + items[at + 1:]


def look_up(agent, claim, target):
    """Return the agent after a lookup with a claim, and its answer."""
    if agent.has:
        return agent, FOUND
    if claim <= max(agent.promise, agent.floor):
        return agent, LATER
    answer = (agent.targets, agent.forgot)
    return agent._replace(promise=claim, valid=True, highest=max(agent.highest, claim),
                          targets=agent.targets | {(claim, target)}), answer


def may_create(me, controller, hosts, rule):
    """Return True if the controller creates the name after these answers."""
    answers = controller.answers
    heard = [answer for answer in answers if isinstance(answer, tuple)]
    if FOUND in answers or LATER in answers or answers[me] not in heard:
        return False
    other = 1 - me
    if answers[other] in heard:
        return True
    remember = [forgot for _, forgot in heard
                if forgot <= controller.barrier or "memory" not in rule]
    claimed = any(host == other and claim > controller.barrier
                  for targets, _ in heard for claim, host in targets)
    return not (controller.may_have and "names" in rule or claimed and "targets" in rule
                or len(remember) < hosts // 2 + 1 and "majority" in rule)


def call_roll(state, me, rule):
    """Return the state after a roll call: the controller learns whether the other controller's host
    may have the name, and that host promises nothing to claims up to the barrier."""
    agent, controller = state.agents[1 - me], state.controllers[me]
    barrier = max(agent.highest, state.claims)
    promised = agent.valid and (agent.promise, 1 - me) in agent.targets
    heard = controller._replace(
        may_have=agent.has or promised and "promised" in rule, barrier=barrier)
    if "barrier" in rule:
        agent = agent._replace(floor=barrier, highest=barrier)
    return state._replace(agents=put(state.agents, 1 - me, agent),
                          controllers=put(state.controllers, me, heard))


def create(state, me, rule):
    agent, controller = state.agents[me], state.controllers[me]
    if not agent.has and ("promise" not in rule
                          or agent.valid and agent.promise == controller.claim):
        agent = agent._replace(has=True, valid=False)
    return state._replace(agents=put(state.agents, me, agent),
                          controllers=put(state.controllers, me, controller._replace(phase="end")))


def steps_of(state, me, rule):
    """Yield the states after each step of a controller, or of its requests."""
    controller, hosts = state.controllers[me], len(state.agents)

    def become(agents=state.agents, **fields):
        return state._replace(agents=agents, controllers=put(
            state.controllers, me, controller._replace(**fields)))
    if controller.phase == "roll":
        yield call_roll(state, me, rule)
        yield become(phase="ask", claim=state.claims + 1, answers=(None,) * hosts)._replace(
            claims=state.claims + 1)
        return
    for at, answer in enumerate(controller.answers):
        if answer not in (None, LATE):
            continue
        agent, said = look_up(state.agents[at], controller.claim, me)
        agents = put(state.agents, at, agent)
        # The request arrives. If the controller has stopped waiting, the answer is dropped.
        yield become(agents, answers=put(controller.answers, at, SILENT if answer else said))
        if answer is None:
            yield become(answers=put(controller.answers, at, LATE))
    if controller.phase == "ask" and None not in controller.answers:
        yield become(phase="create" if may_create(me, controller, hosts, rule) else "end")
    if controller.phase == "create":
        yield create(state, me, rule)


def accidents(state, rule):
    for at, agent in enumerate(state.agents):
        gone = agent._replace(promise=0, valid=False, targets=frozenset())
        if state.restarts and agent.highest:
            forgot = agent.highest if "stored" in rule else agent.forgot
            yield state._replace(restarts=state.restarts - 1, agents=put(
                state.agents, at, gone._replace(floor=agent.highest, forgot=forgot)))
        if state.evictions and agent.promise:
            forgot = max(agent.forgot, agent.promise) if "stored" in rule else agent.forgot
            yield state._replace(evictions=state.evictions - 1, agents=put(
                state.agents, at, gone._replace(floor=max(agent.floor, agent.promise),
                                                forgot=forgot)))
        if state.expiries and agent.valid:
            yield state._replace(expiries=state.expiries - 1, agents=put(
                state.agents, at, agent._replace(valid=False)))


def twice(hosts, rule, **accident):
    """Return a state in which the name exists twice, or None after all states were seen."""
    start = State((Agent(),) * hosts, (Controller(), Controller()), **accident)
    seen, left = {start}, [start]
    while left:
        state = left.pop()
        for after in (*steps_of(state, 0, rule), *steps_of(state, 1, rule),
                      *accidents(state, rule)):
            if after in seen:
                continue
            if sum(agent.has for agent in after.agents) > 1:
                return after
            seen.add(after)
            left.append(after)
    return None


@pytest.mark.parametrize("hosts, accident", [
    (2, {"restarts": 1, "evictions": 1, "expiries": 1}), (3, {"restarts": 1})])
def test_a_name_is_never_created_twice(hosts, accident):
    assert twice(hosts, RULE, **accident) is None


@pytest.mark.parametrize("part", sorted(RULE))
def test_each_part_of_the_rule_is_needed(part):
    assert twice(3, RULE - {part}, restarts=1)


def test_both_may_create_in_turn():
    """Check that controllers do create the name; otherwise it could never exist twice."""
    def created(me, **fields):
        controller = Controller("ask", 1, **fields)
        return may_create(me, controller, 3, RULE)
    free = (frozenset(), 0)
    assert created(0, answers=(free, free, free))
    assert created(0, answers=(free, SILENT, free), barrier=1)
    assert not created(0, answers=(free, SILENT, SILENT), barrier=1)
