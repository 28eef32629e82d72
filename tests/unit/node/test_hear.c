/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of Hear: by which a node with a copy learns the owner's epoch, and reports a later owner.
 * There is a copy of epoch 1 of v.
 */
#include "node/owner/heard.h"
#include "node/replica/held.h"
#include "node/service.h"

#include <string.h>

#include "node/catalog/catalog.h"
#include "node/host/moves.h"
#include "node/host/node.h"
#include "tests/cmocka.h"

#define LINEAGE "00112233aabbccdd"

static struct node node = {.id = "n3"};
static struct rpc_call call;

bool __wrap_held_possible(void);
bool __wrap_held_possible(void)
{
	return true;
}

int __wrap_held_read(struct arena *arena, const char *parent, bool snapshots, struct held_list *ret,
		     struct error *err);
int __wrap_held_read(struct arena *arena, const char *parent, bool snapshots, struct held_list *ret,
		     struct error *err)
{
	static struct held row = {.id = "v"};

	(void)parent, (void)snapshots, (void)err;
	row.copy = new_copy_state(arena);
	row.copy->lineage = (char *)LINEAGE;
	row.copy->epoch = 1;
	*ret = (struct held_list){.rows = &row, .n = 1};
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	arena_init(&call.arena, SIZE_MAX);
	node.catalog = catalog_new("t/p", 0);
	node.heard = heard_new();
	node.moves = moves_new();
	moves_known(node.moves);
	call.app = &node;
	call.deadline = NO_DEADLINE;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	moves_free(node.moves);
	heard_free(node.heard);
	catalog_free(node.catalog);
	arena_fini(&call.arena);
	return 0;
}

static const HearResponse *hear_of(const char *owner, int64_t epoch)
{
	OwnedVolume volume = *new_owned_volume(&call.arena), *volumes[] = {&volume};
	HearRequest *request = new_hear_request(&call.arena);
	HearResponse *response = new_hear_response(&call.arena);
	struct error err;

	volume.id = (char *)"v";
	volume.lineage = (char *)LINEAGE;
	volume.epoch = epoch;
	request->node_id = (char *)owner;
	request->volumes = volumes;
	request->n_volumes = 1;
	assert_int_equal(hear(&call, request, response, &err), 0);
	assert_int_equal(response->n_ids, 1);
	return response;
}

/*
 * n2 took the volume over while this node counted as lost, so the copy here does not record n2 as
 * its owner.
 */
static void a_later_owner_is_recorded_and_returned(void **state)
{
	struct heard_row row;

	(void)state;
	assert_int_equal(hear_of("n1", 1)->n_newer, 0);
	assert_int_equal(hear_of("n2", 3)->n_newer, 0);
	const HearResponse *said = hear_of("n1", 1);
	assert_int_equal(said->n_newer, 1);
	assert_string_equal(said->newer[0]->node_id, "n2");
	assert_int_equal(said->newer[0]->epoch, 3);
	assert_true(heard_get(node.heard, &call.arena, "v", LINEAGE, &row));
	assert_string_equal(row.owner, "n2");
	assert_int_equal(hear_of("n1", 5)->n_newer, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_later_owner_is_recorded_and_returned, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
