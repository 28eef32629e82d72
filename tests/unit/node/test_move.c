/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of moves: what `zfs get` prints of a volume, the next step, and all ways in which two
 * zcsi-nodes can be killed between the steps.
 */
#include "node/move/rules.h"
#include "node/move/step.h"
#include "node/record/ownership.h"

#include <string.h>

#include "tests/arena.h"
#include "tests/cmocka.h"

/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_rounds.c */
#include "tests/unit/node/scripted_table.c"

#define LINEAGE "00112233aabbccdd"

/* Parsing a place: what `zfs get` prints of a volume or a copy, here as lines of columns */

static const char columns[] =
	"guid,written,clones,type,volmode,refreservation,receive_resume_token,"
	"encryptionroot,zcsi:epoch,zcsi:moving,zcsi:members";
static bool parse(const char *text, struct place *ret)
{
	const struct zfs_table table = zfs_table_of(&arena, columns, text);

	return place_parse(&arena, "t/p/v", &table, ret);
}

/* A line of a snapshot: name, guid, bytes written, zcsi:moving. */
#define SNAPSHOT(leaf, guid, written, moving)                                                      \
	"t/p/v@" leaf "\t" guid "\t" written "\t\tsnapshot\tnone\t-\t-\t-\t4\t" moving "\t-\n"
#define DATASET(written, epoch, moving)                                                            \
	"t/p/v\t1\t" written FILESYSTEM "-\t-\t" epoch "\t" moving "\t" LINEAGE ":300:n1,n2\n"
/* The columns of a filesystem from `clones` to `refreservation`. */
#define FILESYSTEM "\t-\tfilesystem\tdefault\t0\t"

static void a_record_is_parsed_as_it_was_formatted(void **state)
{
	static const char *const wrong[] = {"",     "-",     "n2",    "n2:",  ":5",
					    "n2:0", "n2:-1", "n2:5x", "_zz:5"};
	const char *to;
	int64_t epoch;

	(void)state;
	assert_string_equal(mark_format(&arena, "n2", 5), "n2:5");
	assert_true(mark_parse(&arena, mark_format(&arena, "a:b,c", 7), &to, &epoch));
	assert_string_equal(to, "a:b,c");
	assert_int_equal(epoch, 7);
	for (size_t i = 0; i < COUNT(wrong); i++)
		assert_false(mark_parse(&arena, wrong[i], &to, &epoch));
}

static void the_newest_record_counts_until_its_epoch_has_come(void **state)
{
	struct place place;

	(void)state;
	assert_true(parse(DATASET("0", "4", "-") SNAPSHOT("a", "11", "10", "n3:5")
				  SNAPSHOT("b", "12", "20", "n2:5"),
			  &place));
	assert_string_equal(place_marked(&place)->name, "t/p/v@b");
	assert_string_equal(place_marked(&place)->to, "n2");
	assert_true(place_ends_with(&place, place_marked(&place)));
	assert_true(parse(DATASET("0", "5", "-") SNAPSHOT("b", "12", "20", "n2:5"), &place));
	assert_null(place_marked(&place));
	assert_true(parse(DATASET("0", "-", "-") SNAPSHOT("b", "12", "20", "n2:5"), &place));
	assert_null(place_marked(&place));
	/* Only the newest record (zcsi:moving) of a snapshot counts, never an older one. */
	assert_true(parse(DATASET("0", "4", "-") SNAPSHOT("a", "11", "10", "n2:5")
				  SNAPSHOT("b", "12", "20", "n2:4"),
			  &place));
	assert_null(place_marked(&place));
}

static void a_record_that_a_snapshot_inherits_does_not_count(void **state)
{
	struct place place;

	(void)state;
	assert_true(parse(DATASET("0", "4", "n2:5") SNAPSHOT("a", "11", "10", "^n2:5"), &place));
	assert_null(place_marked(&place));
}

static void bytes_written_after_a_snapshot_are_added_up(void **state)
{
	struct place place;

	(void)state;
	assert_true(parse(DATASET("3", "4", "-") SNAPSHOT("a", "11", "10", "-")
				  SNAPSHOT("b", "12", "20", "-") SNAPSHOT("c", "13", "0", "-"),
			  &place));
	assert_int_equal(place_written_after(&place, place_snapshot(&place, 11)), 23);
	assert_int_equal(place_written_after(&place, place_snapshot(&place, 12)), 3);
	assert_int_equal(place_written_after(&place, place_snapshot(&place, 13)), 3);
	assert_false(place_ends_with(&place, place_snapshot(&place, 13)));
	assert_null(place_snapshot(&place, 14));
}

/* The rules by which a volume is given up and taken (node/move/rules.h) */

static struct place copy_of(const char *text)
{
	struct place place;

	assert_true(parse(text, &place));
	place.role = PLACE_COPY;
	return place;
}

static void a_volume_is_given_up_for_one_node_once(void **state)
{
	static const struct {
		const char *text, *asks, *why; /* why: NULL if the answer is yes */
	} rows[] = {
		{DATASET("0", "4", "-") SNAPSHOT("a", "11", "9", "n2:5"), "n2", NULL},
		{DATASET("0", "4", "-") SNAPSHOT("a", "11", "9", "n2:5")
			 SNAPSHOT("b", "12", "0", "-"),
		 "n2", NULL},
		{DATASET("0", "4", "-") SNAPSHOT("a", "11", "9", "n2:5"), "n3", "for node 'n2'"},
		{DATASET("0", "5", "-") SNAPSHOT("a", "11", "9", "n2:5"), "n2", "no record"},
		{DATASET("0", "4", "-") SNAPSHOT("a", "11", "9", "-"), "n2", "no record"},
		{DATASET("1", "4", "-") SNAPSHOT("a", "11", "9", "n2:5"), "n2", "was written to"},
		{DATASET("0", "4", "-") SNAPSHOT("a", "11", "9", "n2:5")
			 SNAPSHOT("b", "12", "1", "-"),
		 "n2", "was written to"},
	};
	const struct place_snapshot *end;
	struct error err;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		GetMoveRequest ask = ZCSI__V1__GET_MOVE_REQUEST__INIT;
		struct place place = copy_of(rows[i].text);
		ask.id = (char *)"v";
		ask.node_id = (char *)rows[i].asks;
		int refused = rules_given_up("n1", &place, &ask, &end, &err);
		assert_int_equal(refused, rows[i].why ? -1 : 0);
		if (rows[i].why)
			assert_non_null(strstr(err.text, rows[i].why));
		else
			assert_true(end->guid == 11 && end->epoch == 5);
		place.role = PLACE_PRIMARY;
		assert_int_equal(rules_given_up("n1", &place, &ask, &end, &err), -1);
	}
}

static void a_copy_is_taken_if_it_has_all_and_the_epoch_is_new(void **state)
{
	static const struct {
		const char *text, *why;
		const char *from, *lineage;
	} rows[] = {
		{DATASET("0", "4", "-") SNAPSHOT("a", "11", "9", "-"), NULL, "n1", LINEAGE},
		{DATASET("0", "5", "-") SNAPSHOT("a", "11", "9", "-"), NULL, "n1", LINEAGE},
		{DATASET("0", "4", "-") SNAPSHOT("a", "11", "9", "-") SNAPSHOT("b", "12", "0", "-"),
		 NULL, "n1", LINEAGE},
		/* This node has given the volume up for n3 at epoch 5, so n3 may have it. */
		{DATASET("0", "4", "-") SNAPSHOT("a", "11", "9", "n3:5"), "of epoch 5", "n1",
		 LINEAGE},
		{DATASET("0", "6", "-") SNAPSHOT("a", "11", "9", "-"), "of epoch 6", "n1", LINEAGE},
		{DATASET("0", "4", "-") SNAPSHOT("b", "12", "9", "-"), "last snapshot is missing",
		 "n1", LINEAGE},
		{DATASET("7", "4", "-") SNAPSHOT("a", "11", "9", "-"), "written to by hand", "n1",
		 LINEAGE},
		{DATASET("0", "4", "-") SNAPSHOT("a", "11", "9", "-"), "no copy of a volume of",
		 "n4", LINEAGE},
		{DATASET("0", "4", "-") SNAPSHOT("a", "11", "9", "-"), "no copy of a volume of",
		 "n2", LINEAGE},
		{DATASET("0", "4", "-") SNAPSHOT("a", "11", "9", "-"), "another volume", "n1",
		 "ffffffffffffffff"},
		{"t/p/v\t1\t0" FILESYSTEM "1-abc\t-\t-\t-\t" LINEAGE
		 ":300:n1,n2\n" SNAPSHOT("a", "11", "9", "-"),
		 "part of a stream", "n1", LINEAGE},
	};
	struct error err;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		PromoteRequest ask = ZCSI__V1__PROMOTE_REQUEST__INIT;
		struct place place = copy_of(rows[i].text);
		ask.from_node_id = (char *)rows[i].from;
		ask.lineage = (char *)rows[i].lineage;
		ask.guid = 11;
		ask.epoch = 5;
		int refused = rules_take("n2", &place, &ask, &err);
		assert_int_equal(refused, rows[i].why ? -1 : 0);
		if (rows[i].why)
			assert_non_null(strstr(err.text, rows[i].why));
		place.role = PLACE_PRIMARY;
		assert_int_equal(rules_take("n2", &place, &ask, &err), -1);
	}
}

/* The steps of a move (node/move/step.h) */

static void each_state_has_its_step(void **state)
{
	static const struct {
		struct move_view view;
		enum move_step step;
	} rows[] = {
		{{.role = PLACE_PRIMARY}, MOVE_MARK},
		{{.role = PLACE_PRIMARY, .marked = true}, MOVE_UNMARK},
		{{.role = PLACE_PRIMARY, .marked = true, .ends = true}, MOVE_SEND},
		{{.role = PLACE_PRIMARY, .marked = true, .ends = true, .arrived = true},
		 MOVE_GIVE_UP},
		{{.role = PLACE_PRIMARY, .marked = true, .arrived = true}, MOVE_UNMARK},
		{{.role = PLACE_PRIMARY, .cancelled = true}, MOVE_END},
		{{.role = PLACE_PRIMARY,
		  .cancelled = true,
		  .marked = true,
		  .ends = true,
		  .arrived = true},
		 MOVE_UNMARK},
		{{.role = PLACE_COPY, .marked = true, .ends = true}, MOVE_PROMOTE},
		{{.role = PLACE_COPY, .marked = true, .ends = true, .cancelled = true},
		 MOVE_PROMOTE},
		{{.role = PLACE_COPY, .marked = true}, MOVE_PERSON},
		{{.role = PLACE_COPY, .marked = true, .promoted = true}, MOVE_UNMARK},
		{{.role = PLACE_COPY, .promoted = true}, MOVE_END},
		{{.role = PLACE_PRIMARY, .promoted = true}, MOVE_END},
		{{.role = PLACE_COPY}, MOVE_END},
		{{.role = PLACE_NONE}, MOVE_PERSON},
		{{.role = PLACE_NONE, .promoted = true}, MOVE_END},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(move_next(&rows[i].view), rows[i].step);
}

/* A device is hidden after all data has arrived. If a move is cancelled, it is shown first. */
static void the_steps_of_a_device_are_the_last_and_the_first(void **state)
{
	static const struct {
		struct move_view view;
		enum move_step shown, hidden;
	} rows[] = {
		{{.role = PLACE_PRIMARY}, MOVE_MARK, MOVE_MARK},
		{{.role = PLACE_PRIMARY, .marked = true}, MOVE_UNMARK, MOVE_UNMARK},
		{{.role = PLACE_PRIMARY, .marked = true, .ends = true}, MOVE_SEND, MOVE_SEND},
		{{.role = PLACE_PRIMARY, .marked = true, .ends = true, .arrived = true},
		 MOVE_HIDE,
		 MOVE_GIVE_UP},
		{{.role = PLACE_PRIMARY, .cancelled = true}, MOVE_END, MOVE_SHOW},
		{{.role = PLACE_PRIMARY, .cancelled = true, .marked = true, .ends = true},
		 MOVE_UNMARK,
		 MOVE_SHOW},
		{{.role = PLACE_COPY, .marked = true, .ends = true, .cancelled = true},
		 MOVE_PROMOTE,
		 MOVE_PROMOTE},
		{{.role = PLACE_COPY, .cancelled = true}, MOVE_END, MOVE_END},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct move_view view = rows[i].view;
		view.device = DEVICE_SHOWN;
		assert_int_equal(move_next(&view), rows[i].shown);
		view.device = DEVICE_HIDDEN;
		assert_int_equal(move_next(&view), rows[i].hidden);
	}
}

/* The pools of this host and of the host that the volume moves to, which outlive a zcsi-node. */
struct pools {
	enum place_role here, there;
	enum place_device device_here, device_there; /* on each host */
	int64_t epoch_here, epoch_there;
	bool marked, sent; /* the last snapshot is taken, and sent */
};

/* Returns two hosts: here the volume, there a copy, whose device is not shown. */
static struct pools two_hosts(enum place_device device)
{
	return (struct pools){.here = PLACE_PRIMARY,
			      .there = PLACE_COPY,
			      .device_here = device,
			      .device_there = device == DEVICE_NONE ? DEVICE_NONE : DEVICE_HIDDEN};
}

static enum place_device shown(enum place_device device)
{
	return device == DEVICE_NONE ? DEVICE_NONE : DEVICE_SHOWN;
}

/* Start a zcsi-node, which shows the device of its volume as earlier_show does. */
static void start(enum place_role role, enum place_device *device)
{
	if (role == PLACE_PRIMARY)
		*device = shown(*device);
}

/* Do Promote there; zcsi-node is killed after some of its zfs. Returns false if it was killed. */
static bool take(struct pools *pools, int *ret_lives)
{
	int64_t epoch = pools->epoch_here + 1;

	if (pools->there == PLACE_COPY) {
		assert_true(pools->sent);
		assert_true(pools->here == PLACE_COPY && pools->marked);
		if ((*ret_lives)-- == 0)
			return false;
		pools->epoch_there = epoch;
		if ((*ret_lives)-- == 0)
			return false;
		pools->there = PLACE_PRIMARY;
	}
	if (pools->device_there == DEVICE_HIDDEN && (*ret_lives)-- == 0)
		return false;
	pools->device_there = shown(pools->device_there);
	return (*ret_lives)-- != 0;
}

/* Do a step on this host. Returns false if zcsi-node is killed before or after it. */
static bool carry_out(struct pools *pools, enum move_step step, struct move_view *view, int *lives)
{
	if ((*lives)-- == 0)
		return false;
	switch (step) {
	case MOVE_MARK:
		pools->marked = true;
		break;
	case MOVE_SEND:
		pools->sent = view->arrived = true;
		break;
	case MOVE_HIDE:
		pools->device_here = DEVICE_HIDDEN;
		break;
	case MOVE_GIVE_UP:
		assert_int_not_equal(pools->device_here, DEVICE_SHOWN);
		pools->here = PLACE_COPY;
		break;
	case MOVE_PROMOTE:
		view->promoted = take(pools, lives);
		break;
	case MOVE_SHOW:
		pools->device_here = DEVICE_SHOWN;
		break;
	default:
		if (pools->here == PLACE_COPY)
			pools->epoch_here++;
		else
			pools->marked = false;
	}
	return (*lives)-- != 0;
}

/* Returns the next step of the move, as follows from the pool of this host. */
static enum move_step look(const struct pools *pools, struct move_view *view)
{
	view->role = pools->here;
	view->device = pools->device_here;
	view->marked = view->ends = pools->marked && pools->epoch_here == 0;
	enum move_step step = move_next(view);
	assert_int_not_equal(step, MOVE_PERSON);
	return step;
}

/* Run a move to its end; or zcsi-node is killed after `lives` points, which returns false. */
static bool run(struct pools *pools, bool cancelled, int lives)
{
	struct move_view view = {.cancelled = cancelled};
	enum move_step step;

	start(pools->here, &pools->device_here);
	start(pools->there, &pools->device_there);
	for (int steps = 0; (step = look(pools, &view)) != MOVE_END; steps++) {
		assert_in_range(steps, 0, 20);
		bool lived = carry_out(pools, step, &view, &lives);
		assert_false(pools->here == PLACE_PRIMARY && pools->there == PLACE_PRIMARY);
		if (!lived)
			return false;
	}
	return true;
}

/* Check that just one of the two hosts has the volume, with its device. */
static void check_usable(const struct pools *pools, enum place_device device)
{
	assert_int_equal((pools->here == PLACE_PRIMARY) + (pools->there == PLACE_PRIMARY), 1);
	assert_int_equal(pools->here == PLACE_PRIMARY ? pools->device_here : pools->device_there,
			 device);
}

static void kill_a_move_anywhere(enum place_device device)
{
	bool whole = false;

	for (int lives = 0; !whole; lives++) {
		struct pools pools = two_hosts(device);
		whole = run(&pools, false, lives);
		struct pools cancelled = pools, left = pools;
		assert_true(run(&pools, false, 1000));
		assert_int_equal(pools.there, PLACE_PRIMARY);
		assert_int_equal(pools.here, PLACE_COPY);
		assert_true(pools.epoch_here == 1 && pools.epoch_there == 1);
		check_usable(&pools, device);
		assert_true(run(&cancelled, true, 1000));
		check_usable(&cancelled, device);
		/* A volume that was not given up is usable once zcsi-node has started again. */
		start(left.here, &left.device_here);
		if (left.here == PLACE_PRIMARY)
			check_usable(&left, device);
	}
}

static void a_move_that_is_killed_anywhere_ends_well(void **state)
{
	(void)state;
	kill_a_move_anywhere(DEVICE_NONE);
	kill_a_move_anywhere(DEVICE_SHOWN);
}

/* Cancel a move before each step, without a restart: a device that was hidden is shown again. */
static void a_move_that_is_cancelled_anywhere_ends_well(void **state)
{
	(void)state;
	for (int after = 0; after < 20; after++) {
		struct pools pools = two_hosts(DEVICE_SHOWN);
		struct move_view view = {.cancelled = after == 0};
		int lives = 1000, steps = 0;
		for (enum move_step step; (step = look(&pools, &view)) != MOVE_END;) {
			assert_true(carry_out(&pools, step, &view, &lives));
			view.cancelled = ++steps >= after;
		}
		check_usable(&pools, DEVICE_SHOWN);
		assert_int_equal(pools.here == PLACE_PRIMARY, after < 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_is_parsed_as_it_was_formatted),
		cmocka_unit_test(the_newest_record_counts_until_its_epoch_has_come),
		cmocka_unit_test(a_record_that_a_snapshot_inherits_does_not_count),
		cmocka_unit_test(bytes_written_after_a_snapshot_are_added_up),
		cmocka_unit_test(a_volume_is_given_up_for_one_node_once),
		cmocka_unit_test(a_copy_is_taken_if_it_has_all_and_the_epoch_is_new),
		cmocka_unit_test(each_state_has_its_step),
		cmocka_unit_test(the_steps_of_a_device_are_the_last_and_the_first),
		cmocka_unit_test(a_move_that_is_killed_anywhere_ends_well),
		cmocka_unit_test(a_move_that_is_cancelled_anywhere_ends_well),
	};

	return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
