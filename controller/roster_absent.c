/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The names of the agents that left the list.
 *
 * Invariant: the names are those of the agent as long as it is on the list, and then those of its
 * record; each function takes the roster's lock.
 */
#include "controller/roster_absent.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/mem.h"

void roster_add_name(struct roster *roster, const struct agent *agent, enum name_kind kind,
		     const char *name)
{
	scoped_lock(&roster->lock);
	/* A call may still use an agent that has left the list. */
	struct agent *same = (struct agent *)agent;
	struct absent *absent =
		same->state.node_id ? absent_node(roster->absent, same->state.node_id) : NULL;

	names_add(absent ? &absent->names : &same->state.names, name_hash(kind, name));
}

/* Fail because this host is needed; what: the begin of the text, up to its name. */
static int fail_absent(const struct absent *absent, const char *what, struct error *err)
{
	char since[32];
	struct tm tm;

	strftime(since, sizeof(since), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&absent->since, &tm));
	return fail(err, ERR_UNAVAILABLE,
		    "%s '%s', whose agent '%s' is off the list since %s: start zcsi-node there "
		    "again; if that host will not come back, restart zcsi-controller",
		    what, absent->node_id, absent->endpoint, since);
}

int roster_check_absent(struct roster *roster, enum name_kind kind, const char *name,
			const char *what, struct error *err)
{
	scoped_lock(&roster->lock);
	const struct absent *absent = absent_with(roster->absent, name_hash(kind, name));
	auto_free char *where = NULL;

	if (!absent)
		return 0;
	if (asprintf(&where, "%s was on node", what) < 0)
		abort();
	return fail_absent(absent, where, err);
}

int roster_check_absent_node(struct roster *roster, const char *node_id, struct error *err)
{
	scoped_lock(&roster->lock);
	const struct absent *absent = absent_node(roster->absent, node_id);

	return absent ? fail_absent(absent, "the volume cannot be used on node", err) : 0;
}

void roster_forget(struct roster *roster, int64_t after_ms)
{
	scoped_lock(&roster->lock);

	absent_expire(&roster->absent, after_ms);
}
