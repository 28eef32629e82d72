/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The code does what the transition table of tests/follow says. tests/follow/rows.py makes a row of
 * each case, with what the table says of it; the functions here ask the code.
 */
#include <string.h>

#include "node/move/rules.h"
#include "node/move/step.h"
#include "node/owner/accept.h"
#include "node/owner/aside.h"
#include "node/owner/failover.h"
#include "node/record/ownership.h"
#include "tests/cmocka.h"

#define LINEAGE "00112233aabbccdd"
#define LAST    11 /* the guid of the last snapshot of a move */

static char *nodes[] = {(char *)"n1", (char *)"n2", (char *)"n3"};

struct move_row {
	enum place_role role;
	enum place_device device;
	bool cancelled, marked, ends, arrived, promoted;
	enum move_step step;
};

/* A copy of n2 that n1 asks it to take: its epoch, and the epoch of the move. */
struct take_row {
	int64_t epoch;
	bool marked; /* n2 has given the volume up before, at the epoch after its own */
	bool token, member, has_last, written;
	int64_t asked;
	bool says;
};

/* The volume at n1 (struct place); n2 asks n1 whether it was given up for n2. */
struct promise_row {
	enum place_role role;
	int to; /* the number of the node in the record of epoch 2; 0: there is none */
	int64_t epoch;
	bool written, says;
};

/* A copy on a survivor, whose promise a failover to n2 asks for. */
struct accept_row {
	int64_t epoch;
	int accepted; /* the node that the copy is promised to; 0: none */
	int64_t asked;
	uint64_t newest; /* 0: the copy has no snapshot */
	bool says;
};

struct failover_row {
	enum place_role role;
	int64_t epoch, asked;
	bool as_shown, says;
};

/*
 * later: how many snapshots follow the newest one that both hosts have. written: the index of the
 * one before which data was written; equal to later: after all of them; -1: nothing was written.
 */
struct return_row {
	size_t later;
	int written;
	bool says;
};

/* Sets of nodes, as bit masks: n1 is 1, n2 is 2, n3 is 4. */
struct vote_row {
	unsigned members, lost, answered, marks;
	bool says;
};

#include "tests/follow/rows.h"

static void each_step_of_a_move_is_that_of_the_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(moves); i++) {
		const struct move_row *row = &moves[i];
		const struct move_view view = {.role = row->role,
					       .device = row->device,
					       .cancelled = row->cancelled,
					       .marked = row->marked,
					       .ends = row->ends,
					       .arrived = row->arrived,
					       .promoted = row->promoted};
		assert_int_equal(move_next(&view), row->step);
	}
}

static void a_copy_is_taken_as_the_table_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(takes); i++) {
		const struct take_row *row = &takes[i];
		struct place_snapshot list[] = {
			{.name = "t/p/_replica/v@a", .guid = 10, .epoch = row->epoch + 1},
			{.name = "t/p/_replica/v@b", .guid = row->has_last ? LAST : 9},
		};
		list[0].to = row->marked ? "n3" : NULL;
		const struct place place = {.role = PLACE_COPY,
					    .name = "t/p/_replica/v",
					    .members = {.lineage = LINEAGE,
							.nodes = {row->member ? "n1" : "n3", "n2"},
							.n = 2},
					    .epoch = row->epoch,
					    .written = row->written,
					    .token = row->token,
					    .snapshots = list,
					    .n = COUNT(list)};
		PromoteRequest req = ZCSI__V1__PROMOTE_REQUEST__INIT;
		struct error err;
		req.from_node_id = nodes[0];
		req.lineage = (char *)LINEAGE;
		req.guid = LAST;
		req.epoch = row->asked;
		assert_int_equal(rules_take("n2", &place, &req, &err), row->says ? 0 : -1);
	}
}

static void a_volume_is_given_up_as_the_table_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(promises); i++) {
		const struct promise_row *row = &promises[i];
		struct place_snapshot last = {.name = "t/p/v@b", .guid = LAST, .epoch = 2};
		last.to = row->to ? nodes[row->to - 1] : NULL;
		const struct place place = {.role = row->role,
					    .name = "t/p/v",
					    .epoch = row->epoch,
					    .written = row->written,
					    .snapshots = &last,
					    .n = 1};
		const struct place_snapshot *end;
		GetMoveRequest req = ZCSI__V1__GET_MOVE_REQUEST__INIT;
		struct error err;
		req.id = (char *)"v";
		req.node_id = nodes[1];
		assert_int_equal(rules_given_up("n1", &place, &req, &end, &err),
				 row->says ? 0 : -1);
	}
}

static void a_copy_is_promised_as_the_table_says(void **state)
{
	static uint64_t known[] = {12, 11};

	(void)state;
	for (size_t i = 0; i < COUNT(accepts); i++) {
		const struct accept_row *row = &accepts[i];
		CopySnapshot newest = {.guid = row->newest};
		CopySnapshot *list[] = {&newest};
		const CopyState copy = {.name = (char *)"t/p/_replica/v",
					.epoch = row->epoch,
					.accepted_node_id = row->accepted ? nodes[row->accepted - 1]
									  : (char *)"",
					.snapshots = list,
					.n_snapshots = row->newest != 0};
		const AcceptRequest req = {.id = (char *)"v",
					   .lineage = (char *)LINEAGE,
					   .epoch = row->asked,
					   .node_id = nodes[1],
					   .guids = known,
					   .n_guids = COUNT(known)};
		struct error err;
		assert_int_equal(accept_check(&copy, &req, &err), row->says ? 0 : -1);
	}
}

static void a_copy_takes_over_as_the_table_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(failovers); i++) {
		const struct failover_row *row = &failovers[i];
		struct place_snapshot last = {.name = "t/p/_replica/v@b", .guid = LAST};
		const struct place place = {
			.role = row->role,
			.name = "t/p/_replica/v",
			.members = {.lineage = LINEAGE, .nodes = {"n1", "n2"}, .n = 2},
			.epoch = row->epoch,
			.snapshots = &last,
			.n = 1};
		const FailoverRequest req = {.id = (char *)"v",
					     .lineage = (char *)LINEAGE,
					     .epoch = row->asked,
					     .lost_node_ids = nodes + 1,
					     .n_lost_node_ids = 1,
					     .guid = row->as_shown ? LAST : 12};
		struct error err;
		assert_int_equal(failover_check("n1", &place, &req, &err), row->says ? 0 : -1);
	}
}

static void a_host_that_returned_makes_way_as_the_table_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(returns); i++) {
		const struct return_row *row = &returns[i];
		struct place_snapshot list[] = {{.name = "t/p/v@_repl-1", .guid = LAST},
						{.name = "t/p/v@_repl-2", .guid = 12},
						{.name = "t/p/v@_repl-3", .guid = 13}};
		struct place place = {
			.role = PLACE_PRIMARY, .snapshots = list, .n = row->later + 1};
		if (row->written == (int)row->later)
			place.written = 1;
		else if (row->written >= 0)
			list[row->written + 1].written = 1;
		assert_int_equal(aside_judge(&place, LAST), row->says ? ASIDE_COPY : ASIDE_LOOK);
	}
}

static bool has(unsigned set, size_t node)
{
	return set >> node & 1;
}

/* Count as check_majority does in node/owner/outcome.c. */
static bool is_majority(const struct vote_row *row)
{
	struct ownership ownership = {.boot = "", .newer = ""};
	struct members voters = {.n = 0};
	size_t heard = 0;

	for (size_t i = 0; i < COUNT(nodes); i++) {
		if (has(row->lost, i))
			ownership_lose(&ownership, nodes[i]);
		if (has(row->members, i) && (!has(row->answered, i) || has(row->marks, i)))
			members_add(&voters, nodes[i]);
		heard += has(row->answered & row->marks & ~row->lost, i);
	}
	return ownership_is_majority(&ownership, &voters, heard);
}

static void a_majority_is_that_of_the_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(votes); i++)
		assert_int_equal(is_majority(&votes[i]), votes[i].says);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_step_of_a_move_is_that_of_the_table),
		cmocka_unit_test(a_copy_is_taken_as_the_table_says),
		cmocka_unit_test(a_volume_is_given_up_as_the_table_says),
		cmocka_unit_test(a_copy_is_promised_as_the_table_says),
		cmocka_unit_test(a_copy_takes_over_as_the_table_says),
		cmocka_unit_test(a_host_that_returned_makes_way_as_the_table_says),
		cmocka_unit_test(a_majority_is_that_of_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
