/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Reading the names of agents.
 *
 * Invariant: names are taken over when the last page of an agent was read, with the version that
 * the first page reports. A change while the pages are read gives the agent another version, so the
 * next roll call reads them again.
 */
#include "controller/roll_names.h"

#include <string.h>

#include "common/clock.h"
#include "proto/agent.h"

#define ANSWER_MS 2000

struct reading {
	struct agent *agent;
	const GetHostResponse *says;
	struct client_call *asked;
	uint64_t version, *hashes;
	size_t n;
	bool more;
};

/*
 * Take the barrier and the promised names of the answer to the roll call, which was given before
 * the names were read. Call it with the lock.
 */
static void take_promised(struct agent_state *state, const GetHostResponse *says)
{
	names_promise(&state->names, says->barrier, says->promised, says->n_promised);
}

/* Choose the agents whose names are to be read. Returns how many. */
static size_t begin(struct roster *roster, const struct roll_names *list, size_t n,
		    struct reading *ret)
{
	scoped_lock(&roster->lock);
	size_t used = 0;

	for (size_t i = 0; i < n; i++) {
		struct agent_state *state = &list[i].agent->state;
		const GetHostResponse *says = list[i].says;
		if (!says->names || state->refusal)
			continue;
		if (says->names == state->names.version) {
			take_promised(state, says);
			continue;
		}
		ret[used++] = (struct reading){.agent = list[i].agent, .says = says, .more = true};
	}
	return used;
}

static void ask(struct arena *arena, struct reading *reading)
{
	ListNamesRequest *request = new_list_names_request(arena);

	request->after = reading->n ? reading->hashes[reading->n - 1] : 0;
	reading->asked = client_begin(reading->agent->client, arena, &zcsi__v1__agent__descriptor,
				      "ListNames", &request->base, now_ms() + ANSWER_MS);
}

/* Append the names in the answer. Returns -1 if the agent did not answer. */
static int take_page(struct arena *arena, struct reading *reading)
{
	ListNamesResponse *page;
	struct error ignored;

	reading->more = false;
	if (client_finish(reading->asked, &page, &ignored) < 0)
		return -1;
	if (!reading->n)
		reading->version = page->names;
	uint64_t *hashes = arena_alloc(arena, (reading->n + page->n_hashes + 1) * sizeof(*hashes));
	if (reading->n)
		memcpy(hashes, reading->hashes, reading->n * sizeof(*hashes));
	if (page->n_hashes)
		memcpy(hashes + reading->n, page->hashes, page->n_hashes * sizeof(*hashes));
	reading->hashes = hashes;
	reading->n += page->n_hashes;
	reading->more = page->more && page->n_hashes;
	return 0;
}

static void take_all(struct roster *roster, struct reading *reading)
{
	scoped_lock(&roster->lock);

	names_take(&reading->agent->state.names, reading->version, reading->hashes, reading->n);
	take_promised(&reading->agent->state, reading->says);
}

void roll_names_begin(struct roster *roster, const struct agent_set *set)
{
	scoped_lock(&roster->lock);

	for (size_t i = 0; i < set->n; i++)
		names_begin(&set->list[i]->state.names);
	for (struct absent *host = roster->absent; host; host = host->next)
		names_begin(&host->names);
}

void roll_names(struct roster *roster, struct arena *arena, const struct roll_names *list, size_t n)
{
	struct reading *readings = arena_alloc(arena, (n + 1) * sizeof(*readings));
	size_t left = begin(roster, list, n, readings);

	while (left) {
		size_t again = 0;
		for (size_t i = 0; i < left; i++)
			ask(arena, &readings[i]);
		for (size_t i = 0; i < left; i++) {
			if (take_page(arena, &readings[i]) < 0)
				continue;
			if (readings[i].more)
				readings[again++] = readings[i];
			else
				take_all(roster, &readings[i]);
		}
		left = again;
	}
}
