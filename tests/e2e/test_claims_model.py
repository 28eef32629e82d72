# SPDX-License-Identifier: MPL-2.0
"""A model of the claims (controller/README.md, "Why two controllers never make a name twice" to "A
host off the list"): all orders of the events of two controllers that create one name, each on a
host of its own. Hosts hang, so that requests and answers are lost, or requests come late. Hosts
leave the lists of agents, return to them, and are forgotten. Agents restart, forget and let
promises expire. The name is never created twice, and a name that a host off the list has is not
taken for free. Each part of the rule is needed: without any of them the name exists twice.

Controller 0 creates at host 0, controller 1 at host 1: if both created at one host, its agent would
find the name. A third host has an agent that both controllers ask. CLAIMS=larger searches further,
for some minutes."""
import os
from typing import NamedTuple

import pytest

SILENT, LATE, LATER, FOUND, OFF = "silent", "late", "later", "found", "off the list"
FORGOTTEN, BACK = "forgotten", "back"
NEVER = -1  # before all claims
THREE = {"hosts": 3, "restarts": 1}
# The parts of the rule, each with the bounds of a search that finds the name twice without it.
RULE = {
    "targets": THREE, "memory": THREE, "majority": THREE, "names": THREE, "barrier": THREE,
    "promised": THREE, "stored": THREE, "promise": THREE,
    "majority of those asked": {"changes": 2},
    "targets off the list": {"changes": 1},
    "targets since a host was forgotten": {"changes": 3, "forgets": 1},
    "kept names": {"changes": 1, "made": True},
    "promises off the list": {"changes": 1},
    "unknown names": {"changes": 1, "made": True},
    "hosts that come meanwhile": {"changes": 2, "made": True},
}
BOUNDS = (
    {"restarts": 1, "evictions": 1, "expiries": 1},
    THREE,
    {"changes": 3, "forgets": 1, "expiries": 1},
    {"changes": 2, "expiries": 1, "made": True},
    {"hosts": 3, "changes": 2},
)
LARGER = (
    {"changes": 5, "forgets": 1, "expiries": 1},
    {"changes": 4, "forgets": 1, "expiries": 1, "made": True},
    {"hosts": 3, "restarts": 2, "evictions": 1},
    {"hosts": 3, "changes": 2, "expiries": 1},
    {"hosts": 3, "changes": 2, "made": True},
    {"hosts": 3, "changes": 3, "forgets": 1},
)


class Agent(NamedTuple):
    """An agent as far as the name is concerned. Claims are numbers; 0 is none."""
    made: int = NEVER    # the claim for which the name was created; 0: at the start
    gone: int = NEVER    # the last claim before the host was forgotten; what it made is given up
    promise: int = 0     # the claim to which the agent has promised the name
    valid: bool = False  # true if that claim may still create the name
    floor: int = 0       # the agent promises nothing to claims up to this one
    forgot: int = 0      # the agent may have forgotten promises to claims up to this one
    highest: int = 0     # the highest claim that the agent has seen
    targets: frozenset = frozenset()  # (claim, host) of the promises that the agent remembers


class Controller(NamedTuple):
    """A controller, and what it knows of the other controller's host. `answers` has for each host
    None, one of the words above, or (targets, forgot)."""
    listed: frozenset       # the hosts on its list
    phase: str = "roll"
    claim: int = 0
    answers: tuple = ()
    known: bool = True      # true if it has heard the host's names, or an agent keeps them
    had: bool = False       # true if they contain the name
    promised: bool = False  # true if the host might still create the name at the barrier
    barrier: int = 0
    record: str = ""        # FORGOTTEN, or BACK if the host has answered since

    @property
    def lists(self):
        """The list, and that with which the call has begun."""
        asked = frozenset(at for at, answer in enumerate(self.answers) if answer != OFF)
        return {self.listed, asked} if self.answers else {self.listed}


NOTHING = Controller(frozenset())


class State(NamedTuple):
    agents: tuple
    controllers: tuple
    claims: int = 0  # how many were made; the next five are accidents that may still happen
    restarts: int = 0
    evictions: int = 0
    expiries: int = 0
    changes: int = 0  # changes of a list
    forgets: int = 0


def put(items, at, item):
    return items[:at] + (item,) + items[at + 1:]


def look_up(agent, claim, target):
    """Return the agent after a lookup with a claim, and its answer."""
    if agent.made != NEVER:
        return agent, FOUND
    if claim <= max(agent.promise, agent.floor):
        return agent, LATER
    answer = (agent.targets, agent.forgot)
    return agent._replace(promise=claim, valid=True, highest=max(agent.highest, claim),
                          targets=agent.targets | {(claim, target)}), answer


def are_most(promised, controller, rule):
    """Return True if that many agents are more than half of those that were asked, and of those on
    the list."""
    asked = sum(answer != OFF for answer in controller.answers)
    if "majority of those asked" not in rule:
        asked = 0
    return "majority" not in rule or promised > max(asked, len(controller.listed)) // 2


def excludes(me, controller, heard, rule):
    """Return True if the other controller's host, which is on the list and silent, cannot have the
    name (claim_excludes)."""
    if not controller.known and "unknown names" in rule:
        return False
    remember = [forgot for _, forgot in heard
                if forgot <= controller.barrier or "memory" not in rule]
    claimed = any(host != me and claim > controller.barrier
                  for targets, _ in heard for claim, host in targets)
    return not (controller.had and "names" in rule or controller.promised
                or claimed and "targets" in rule or not are_most(len(remember), controller, rule))


def is_missing(me, controller, gone, heard, rule):
    """Return True if the other controller's host, which is off the list, cannot have the name
    (roster_check_missing and claim_check_targets)."""
    barrier = controller.barrier
    if controller.record == FORGOTTEN:
        barrier = gone
        if "targets since a host was forgotten" not in rule:
            return True
    elif not controller.known and "unknown names" in rule:
        return False
    elif (controller.had and "kept names" in rule
          or controller.promised and "promises off the list" in rule):
        return False
    return "targets off the list" not in rule or not any(
        host != me and claim > barrier for targets, _ in heard for claim, host in targets)


def may_create(me, controller, gone, rule):
    """Return True if the controller creates the name after these answers. gone: the last claim
    before the other controller's host was forgotten."""
    answers = controller.answers
    heard = [answer for answer in answers if isinstance(answer, tuple)]
    if FOUND in answers or LATER in answers or answers[me] not in heard:
        return False
    if ("hosts that come meanwhile" in rule
            and any(answers[host] == OFF for host in controller.listed)):
        return False
    if (SILENT in answers or LATE in answers) and not are_most(len(heard), controller, rule):
        return False
    other = answers[1 - me]
    if other == OFF:
        known = NOTHING if 1 - me in controller.listed else controller
        return is_missing(me, known, gone, heard, rule)
    return other in heard or excludes(me, controller, heard, rule)


def call_roll(state, me, rule):
    """Return the state after a roll call: the controller learns whether the other controller's host
    may have the name, and that host promises nothing to claims up to the barrier."""
    agent, controller = state.agents[1 - me], state.controllers[me]
    barrier = max(agent.highest, state.claims)
    promised = agent.valid and (agent.promise, 1 - me) in agent.targets
    heard = controller._replace(
        known=True, had=agent.made != NEVER, promised=promised and "promised" in rule,
        barrier=barrier, record=controller.record and BACK)
    if "barrier" in rule:
        agent = agent._replace(floor=barrier, highest=barrier)
    return state._replace(agents=put(state.agents, 1 - me, agent),
                          controllers=put(state.controllers, me, heard))


def create(state, me, rule):
    agent, controller = state.agents[me], state.controllers[me]
    if agent.made == NEVER and ("promise" not in rule
                                or agent.valid and agent.promise == controller.claim):
        agent = agent._replace(made=controller.claim, valid=False)
    return state._replace(agents=put(state.agents, me, agent),
                          controllers=put(state.controllers, me, controller._replace(phase="end")))


def steps_of(state, me, rule):
    """Yield the states after each step of a controller, or of its requests."""
    controller = state.controllers[me]

    def become(agents=state.agents, **fields):
        return state._replace(agents=agents, controllers=put(
            state.controllers, me, controller._replace(**fields)))
    if controller.phase in ("roll", "ask") and 1 - me in controller.listed:
        yield call_roll(state, me, rule)
    if controller.phase == "roll":
        # Controller 0 is first: the two differ only in their numbers.
        if me in controller.listed and (not me or state.claims):
            yield become(phase="ask", claim=state.claims + 1, answers=tuple(
                None if host in controller.listed else OFF
                for host in range(len(state.agents))))._replace(claims=state.claims + 1)
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
        if may_create(me, controller, state.agents[1 - me].gone, rule):
            # Only the requests that are under way matter from now on.
            yield become(phase="create", answers=tuple(
                answer if answer in (LATE, OFF) else SILENT for answer in controller.answers),
                known=True, had=False, promised=False, barrier=0, record="")
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


def changes_of(state):
    """Yield the states after a host has left a list or returned to it. The lists of the two
    controllers differ by one host at most, also those with which running calls have begun."""
    for me, controller in enumerate(state.controllers):
        theirs = state.controllers[1 - me].lists
        for host in range(len(state.agents) if state.changes else 0):
            changed = controller._replace(listed=controller.listed ^ {host})
            if all(len(one ^ other) <= 1 for one in changed.lists for other in theirs):
                yield state._replace(changes=state.changes - 1, controllers=put(
                    state.controllers, me, changed))


def records_of(state):
    """Yield the states after a host was forgotten that is on no list, and after a controller has
    got that record."""
    for me, controller in enumerate(state.controllers):
        host = 1 - me
        agent = state.agents[host]
        if state.forgets and not any(host in each.listed for each in state.controllers):
            yield state._replace(forgets=state.forgets - 1, agents=put(
                state.agents, host, agent._replace(gone=state.claims)))
        if agent.gone != NEVER and not controller.record and host not in controller.listed:
            yield state._replace(controllers=put(state.controllers, me, controller._replace(
                record=FORGOTTEN, known=False, had=False, promised=False, barrier=0)))


def may_have(agent, controller, at, rule):
    """Return False if this controller's host has not got the name, and will never get it."""
    answers, claim = controller.answers, controller.claim
    if agent.made > agent.gone or controller.phase == "roll":
        return True
    if controller.phase == "end" or FOUND in answers or LATER in answers:
        return False
    if answers[at] is None:
        return claim > max(agent.promise, agent.floor)
    return "promise" not in rule or agent.valid and agent.promise == claim


def start_of(hosts, made, accidents_left):
    """Return the first state. made: host 1 has the name, and controller 0 does not know it."""
    listed = frozenset(range(hosts))
    agents = (Agent(), Agent(made=0 if made else NEVER)) + (Agent(),) * (hosts - 2)
    return State(agents, (Controller(listed, known=not made), Controller(listed)),
                 claims=int(made), **accidents_left)


def twice(rule, hosts=2, made=False, **accidents_left):
    """Return the states that lead to one in which the name exists twice, or None after all states
    were seen."""
    start = start_of(hosts, made, accidents_left)
    before, left = {start: None}, [start]
    while left:
        state = left.pop()
        for after in (*steps_of(state, 0, rule), *steps_of(state, 1, rule),
                      *accidents(state, rule), *changes_of(state), *records_of(state)):
            if after in before or not all(
                    may_have(agent, controller, at, rule) for at, (agent, controller) in
                    enumerate(zip(after.agents, after.controllers))):
                continue
            before[after] = state
            if all(agent.made > agent.gone for agent in after.agents[:2]):
                return way_to(after, before)
            left.append(after)
    return None


def way_to(state, before):
    way = []
    while state:
        way.append(state)
        state = before[state]
    return way[::-1]


def text_of(way):
    """Return the changes of each step, a line each."""
    lines = []
    for one, other in zip(way or (), way[1:] if way else ()):
        lines.append("; ".join(
            f"{kind} {at}: " + ", ".join(f"{name}={value}" for name, value in
                                         new._asdict().items() if value != getattr(old, name))
            for kind, olds, news in (("agent", one.agents, other.agents),
                                     ("controller", one.controllers, other.controllers))
            for at, (old, new) in enumerate(zip(olds, news)) if old != new))
    return "\n".join(lines)


def id_of(bounds):
    return " ".join(f"{name}={value}" for name, value in bounds.items())


@pytest.mark.parametrize(
    "bounds", LARGER if os.environ.get("CLAIMS") == "larger" else BOUNDS, ids=id_of)
def test_a_name_is_never_created_twice(bounds):
    found = twice(set(RULE), **bounds)
    assert not found, text_of(found)


@pytest.mark.parametrize("part", sorted(RULE))
def test_each_part_of_the_rule_is_needed(part):
    assert twice(set(RULE) - {part}, **RULE[part])


def test_a_claim_for_a_host_off_the_list_is_lost_with_all_that_remember_it():
    """README.md says so: no agent remembers the target, and the names are older than the claim."""
    assert twice(set(RULE), changes=1, restarts=1)


def test_both_may_create_in_turn():
    """Check that controllers do create the name; otherwise it could never exist twice."""
    def created(listed=(0, 1, 2), **fields):
        controller = Controller(frozenset(listed), "ask", 1, **fields)
        return may_create(0, controller, NEVER, set(RULE))
    free, claimed = (frozenset(), 0), (frozenset({(2, 1)}), 0)
    assert created(answers=(free, free, free))
    assert created(answers=(free, SILENT, free), barrier=1)
    assert not created(answers=(free, SILENT, SILENT), barrier=1)
    assert created(listed=(0, 2), answers=(free, OFF, free))
    assert created(listed=(0, 2), answers=(free, OFF, claimed), barrier=2)
    assert not created(listed=(0, 2), answers=(free, OFF, claimed), barrier=1)
    assert not created(listed=(0, 2), answers=(free, OFF, free), promised=True)
    assert not created(answers=(free, OFF, free))
