/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Rounds of calls to agents.
 *
 * Invariant: the roster's lock is not held while an agent is asked.
 */
#include "controller/roll_round.h"

#include "common/clock.h"

#define ANSWER_MS 2000
#define AT_ONCE   32 /* calls at a time, which bounds the memory of their requests */

static void ask_some(struct round *round, struct agent *const *list, size_t n)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct client_call *asked[AT_ONCE];

	for (size_t i = 0; i < n; i++)
		asked[i] = client_begin(list[i]->client, &arena, &zcsi__v1__agent__descriptor,
					round->method, round->request, now_ms() + ANSWER_MS);
	for (size_t i = 0; i < n; i++) {
		const void *answer = NULL;
		struct error err = {.code = ERR_OK};
		if (client_finish(asked[i], &answer, &err) < 0)
			answer = NULL;
		scoped_lock(&round->roster->lock);
		round->use(round, list[i], answer, &err);
	}
}

void round_ask(struct round *round)
{
	for (size_t from = 0; from < round->n; from += AT_ONCE) {
		size_t left = round->n - from;
		ask_some(round, round->list + from, left < AT_ONCE ? left : AT_ONCE);
	}
}

struct round round_begin(struct roster *roster, struct agent_set *set, struct arena *arena)
{
	return (struct round){.roster = roster,
			      .set = set,
			      .arena = arena,
			      .list = arena_alloc(arena, (set->n + 1) * sizeof(struct agent *))};
}
