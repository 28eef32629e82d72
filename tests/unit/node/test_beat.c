/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of a round of Hear to the nodes with copies, and of the calls that wait for the first
 * round. The volumes are u, v and w of this host, n1, and n2 has a copy of each.
 */
#include "node/owner/beat.h"

#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "node/catalog/change.h"
#include "node/copy/pusher.h"
#include "node/host/owner.h"
#include "node/move/ask.h"
#include "node/owner/outcome.h"
#include "node/replica/held.h"
#include "node/stream/copies.h"
#include "proto/copy.h"
#include "tests/arena.h"
#include "tests/cmocka.h"

#define LINEAGE "00112233aabbccdd"

static struct copies copies;
static struct node node = {.id = "n1", .boot = "b-1", .copies = &copies};
static const char *owners[3];    /* zcsi:owner of each volume */
static const char *newer;        /* the volume that n2 took over, or NULL */
static const char *unsettled;    /* the volume whose outcome is still not known, or NULL */
static const char *followed;     /* the volumes whose answers were acted on, in order */
static bool none;                /* true: no volume has copies */
static void (*at_outcome)(void); /* run at each outcome; or NULL */

typeof(held_possible) __wrap_held_possible;
typeof(pusher_list) __wrap_pusher_list;
typeof(catalog_with_members) __wrap_catalog_with_members;
typeof(rounds_stopping) __wrap_rounds_stopping;
typeof(ask_node_until) __wrap_ask_node_until;
typeof(outcome_follow) __wrap_outcome_follow;

bool __wrap_held_possible(void)
{
	return true;
}

struct pushed *__wrap_pusher_list(struct pusher *pusher, struct arena *at, size_t *ret_n)
{
	(void)pusher, (void)at;
	*ret_n = 0;
	return NULL;
}

static struct dataset *volume(struct arena *at, size_t i)
{
	static const char *const ids[] = {"u", "v", "w"};
	const struct dataset row = {.id = (char *)ids[i],
				    .name = arena_printf(at, "t/p/%s", ids[i]),
				    .format = format_find(FORMAT_ZFS),
				    .members = (char *)LINEAGE ":60:n1,n2",
				    .owner = (char *)owners[i],
				    .epoch = 3};

	return dataset_copy(at, &row);
}

void __wrap_catalog_with_members(struct catalog *catalog, struct arena *at,
				 struct dataset_list *ret, uint64_t **ret_marks)
{
	(void)catalog;
	*ret_marks = NULL;
	ret->n = none ? 0 : COUNT(owners);
	ret->rows = arena_alloc(at, sizeof(*ret->rows) * COUNT(owners));
	for (size_t i = 0; i < ret->n; i++)
		ret->rows[i] = volume(at, i);
}

bool __wrap_rounds_stopping(struct rounds *rounds)
{
	(void)rounds;
	return false;
}

int __wrap_ask_node_until(const struct node *of, const char *to, struct arena *at,
			  const char *method, const ProtobufCMessage *request, int64_t deadline,
			  void *ret, struct error *err)
{
	HearResponse *response = new_hear_response(at);

	(void)of, (void)request, (void)deadline, (void)err;
	assert_string_equal(to, "n2");
	assert_string_equal(method, "Hear");
	if (newer) {
		response->newer = arena_alloc(at, sizeof(*response->newer));
		response->newer[0] = new_newer_owner(at);
		response->newer[0]->id = (char *)newer;
		response->newer[0]->node_id = (char *)"n2";
		response->newer[0]->epoch = 4;
		response->n_newer = 1;
	}
	memcpy(ret, &response, sizeof(response));
	return 0;
}

bool __wrap_outcome_follow(const struct node *of, struct arena *at, const struct outcome *outcome)
{
	(void)of, (void)at;
	if (at_outcome)
		at_outcome();
	followed = arena_printf(&arena, "%s%s", followed, outcome->id);
	return !unsettled || strcmp(outcome->id, unsettled) != 0;
}

/* Returns true if a call for the volume can go on to the check of its owner. */
static bool goes_on(size_t i)
{
	struct error err;

	return owner_wait(&node, volume(&arena, i), now_ms() + 1, &err) == 0;
}

static int set_up(void **state)
{
	struct error err;

	assert_int_equal(log_setup("error", "logfmt", &err), 0);
	node.catalog = catalog_new("t/p", 0);
	node.owners = owners_new();
	for (size_t i = 0; i < COUNT(owners); i++)
		owners[i] = "boot=b-1";
	newer = unsettled = NULL;
	followed = "";
	none = false;
	at_outcome = NULL;
	return arena_setup(state);
}

static int tear_down(void **state)
{
	owners_free(node.owners);
	catalog_free(node.catalog);
	return arena_teardown(state);
}

static void a_round_reports_unsettled_volumes(void **state)
{
	(void)state;
	assert_int_equal(beat_all(&node, NULL), BEAT_SETTLED);
	assert_string_equal(followed, "");
	owners[0] = "boot=b-0";
	unsettled = "u";
	assert_int_equal(beat_all(&node, NULL), BEAT_OPEN);
	unsettled = NULL;
	assert_int_equal(beat_all(&node, NULL), BEAT_SETTLED);
	assert_string_equal(followed, "uu");
	none = true;
	assert_int_equal(beat_all(&node, NULL), BEAT_NONE);
}

static void check_at_restart(void)
{
	assert_true(goes_on(0));
	assert_false(goes_on(1));
	assert_true(goes_on(2));
}

/* The host was not booted since. A take-over is recorded by a call in the queue of the volume. */
static void after_a_restart_only_a_volume_that_was_taken_over_waits(void **state)
{
	(void)state;
	newer = "v";
	at_outcome = check_at_restart;
	assert_false(goes_on(0));
	beat_all(&node, NULL);
	assert_string_equal(followed, "v");
	assert_true(goes_on(1));
}

static void check_after_boot(void)
{
	for (size_t i = 0; i < COUNT(owners); i++)
		assert_true(goes_on(i) == (i < strlen(followed)));
}

static void after_a_boot_a_volume_does_not_wait_for_the_next_ones(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(owners); i++)
		owners[i] = "boot=b-0";
	at_outcome = check_after_boot;
	beat_all(&node, NULL);
	assert_string_equal(followed, "uvw");
	check_after_boot();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_round_reports_unsettled_volumes),
		TEST(after_a_restart_only_a_volume_that_was_taken_over_waits),
		TEST(after_a_boot_a_volume_does_not_wait_for_the_next_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
