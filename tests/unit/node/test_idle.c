/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the threads that work in rounds: when they are idle until the catalog changes. No thread
 * runs: the test calls the function of the rounds itself.
 */
#include <string.h>

#include "common/log.h"
#include "node/backup/backups.h"
#include "node/backup/stored.h"
#include "node/backup/verify.h"
#include "node/catalog/change.h"
#include "node/host/owner.h"
#include "node/host/troubles.h"
#include "node/owner/beat.h"
#include "node/owner/diverged.h"
#include "node/owner/herald.h"
#include "node/peers/peers.h"
#include "node/repair/mender.h"
#include "node/replica/held.h"
#include "node/schedule/keeper.h"
#include "node/stream/copies.h"
#include "node/stream/keyed.h"
#include "tests/arena.h"
#include "tests/cmocka.h"

/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_rounds.c */
#include "tests/unit/node/scripted_rounds.c"

#define MEMBERS "00112233aabbccdd:60:n1,n2"

static struct troubles unrepaired;
static struct copies copies;
static struct node node = {.id = "n1", .copies = &copies, .unrepaired = &unrepaired};
static struct loop *loop;
static struct error err;
static size_t n_backups;    /* the number of backups of this host */
static bool unreadable;     /* the backups cannot be read */
static struct dataset *row; /* the volume of this host that has a schedule or copies, or NULL */
static enum beat beat;      /* how a round of questions to the nodes with copies ends */
static unsigned n_looks;    /* how often data that was put aside was looked at */
static int64_t ahead_s;     /* how many seconds the clock is ahead */

typeof(held_possible) __wrap_held_possible;
typeof(verify_run) __wrap_verify_run;
typeof(stored_read_all) __wrap_stored_read_all;
typeof(catalog_scheduled) __wrap_catalog_scheduled;
typeof(catalog_with_members) __wrap_catalog_with_members;
typeof(keyed_run) __wrap_keyed_run;
typeof(peers_dial) __wrap_peers_dial;
typeof(peers_hang_up) __wrap_peers_hang_up;
typeof(beat_all) __wrap_beat_all;
typeof(diverged_look) __wrap_diverged_look;
typeof(clock_gettime) __wrap_clock_gettime, __real_clock_gettime;

bool __wrap_held_possible(void)
{
	return true;
}

int __wrap_verify_run(const struct node *of, struct rounds *rounds, const char *id,
		      struct error *ret_err)
{
	(void)of, (void)rounds, (void)id, (void)ret_err;
	return 0;
}

int __wrap_stored_read_all(struct arena *at, const char *parent, struct stored_list *ret,
			   struct error *ret_err)
{
	(void)parent;
	if (unreadable)
		return fail(ret_err, ERR_UNAVAILABLE, "a zfs is hung");
	ret->rows = arena_alloc(at, (n_backups + 1) * sizeof(*ret->rows));
	for (ret->n = 0; ret->n < n_backups; ret->n++) {
		ret->rows[ret->n] = new_backup_state(at);
		ret->rows[ret->n]->id = (char *)"v";
	}
	return 0;
}

static void show(struct arena *at, struct dataset_list *ret)
{
	ret->rows = arena_alloc(at, sizeof(*ret->rows));
	ret->rows[0] = row;
	ret->n = row != NULL;
}

void __wrap_catalog_scheduled(struct catalog *catalog, struct arena *at, struct dataset_list *ret)
{
	(void)catalog;
	show(at, ret);
}

void __wrap_catalog_with_members(struct catalog *catalog, struct arena *at,
				 struct dataset_list *ret, uint64_t **ret_marks)
{
	(void)catalog;
	*ret_marks = NULL;
	show(at, ret);
}

void __wrap_keyed_run(struct copies *of, const char *id, void (*fn)(void *arg), void *arg)
{
	(void)of, (void)id, (void)fn, (void)arg;
}

int __wrap_peers_dial(struct peers *peers, const char *node_id, int64_t deadline,
		      struct client **ret, struct error *ret_err)
{
	(void)peers, (void)deadline, (void)ret_err;
	assert_string_equal(node_id, "n2");
	*ret = NULL;
	return 0;
}

void __wrap_peers_hang_up(struct peers *peers, struct client *client)
{
	(void)peers, (void)client;
}

enum beat __wrap_beat_all(const struct node *of, struct rounds *rounds)
{
	(void)of, (void)rounds;
	return beat;
}

void __wrap_diverged_look(const struct node *of)
{
	(void)of;
	n_looks++;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	int result = __real_clock_gettime(clock, ret);

	ret->tv_sec += ahead_s;
	return result;
}

static bool is_idle_after_a_round(void)
{
	return work.round(NULL, work.arg, false) == ROUNDS_IDLE;
}

static int set_up(void **state)
{
	n_backups = n_looks = 0;
	unreadable = false;
	row = NULL;
	ahead_s = 0;
	assert_int_equal(log_setup("error", "logfmt", &err), 0);
	assert_int_equal(loop_new(&loop, &err), 0);
	node.catalog = catalog_new("t/p", 0);
	node.owners = owners_new();
	troubles_init(&unrepaired);
	return arena_setup(state);
}

static int tear_down(void **state)
{
	troubles_fini(&unrepaired);
	owners_free(node.owners);
	catalog_free(node.catalog);
	loop_free(loop);
	return arena_teardown(state);
}

static void the_thread_for_backups_is_idle_without_backups(void **state)
{
	const struct backup_task task = {.kind = BACKUP_VERIFY, .id = "v"};
	struct backups *backups;
	uint64_t number;

	(void)state;
	assert_int_equal(backups_start(&backups, &node, loop, &err), 0);
	unreadable = true;
	assert_false(is_idle_after_a_round());
	unreadable = false;
	assert_false(is_idle_after_a_round());
	assert_true(is_idle_after_a_round());
	/* The first backup is made, and the first reading of the backups after that fails. */
	assert_int_equal(backups_add(backups, &task, &number, &err), 0);
	n_backups = 1;
	unreadable = true;
	assert_false(is_idle_after_a_round());
	unreadable = false;
	for (int i = 0; i < 2; i++)
		assert_false(is_idle_after_a_round());
	/* The backup was dropped. */
	n_backups = 0;
	assert_false(is_idle_after_a_round());
	assert_true(is_idle_after_a_round());
	backups_stop(backups);
}

static void the_keeper_is_idle_without_schedules(void **state)
{
	struct dataset volume = {.id = (char *)"v", .schedule = (char *)"hourly=1"};
	struct keeper *keeper;

	(void)state;
	assert_int_equal(keeper_start(&keeper, &node, loop, &err), 0);
	assert_true(is_idle_after_a_round());
	row = &volume;
	assert_false(is_idle_after_a_round());
	row = NULL;
	assert_true(is_idle_after_a_round());
	keeper_stop(keeper);
}

static void the_mender_is_idle_without_volumes_to_repair(void **state)
{
	struct dataset volume = {.id = (char *)"v",
				 .name = (char *)"t/p/v",
				 .members = (char *)MEMBERS,
				 .push = (char *)""};
	struct mender *mender;

	(void)state;
	assert_int_equal(mender_start(&mender, &node, loop, &err), 0);
	assert_true(is_idle_after_a_round());
	row = &volume;
	assert_true(is_idle_after_a_round());
	volume.push = (char *)"repair_after=3600";
	assert_false(is_idle_after_a_round());
	volume.name = (char *)"t/p/_trash/v-1";
	assert_true(is_idle_after_a_round());
	mender_stop(mender);
}

/*
 * The datasets that were put aside are looked at after a minute, and every ten minutes, also
 * without copies.
 */
static void the_herald_is_idle_without_copies_once_it_has_looked(void **state)
{
	struct rounds *herald;

	(void)state;
	assert_int_equal(herald_start(&herald, &node, loop, &err), 0);
	beat = BEAT_NONE;
	assert_false(is_idle_after_a_round());
	ahead_s = 61;
	assert_true(is_idle_after_a_round());
	assert_int_equal(n_looks, 1);
	ahead_s = 300;
	assert_true(is_idle_after_a_round());
	beat = BEAT_SETTLED;
	assert_false(is_idle_after_a_round());
	beat = BEAT_OPEN;
	assert_false(is_idle_after_a_round());
	assert_int_equal(n_looks, 1);
	beat = BEAT_NONE;
	ahead_s = 662;
	assert_true(is_idle_after_a_round());
	assert_int_equal(n_looks, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(the_thread_for_backups_is_idle_without_backups),
		TEST(the_keeper_is_idle_without_schedules),
		TEST(the_mender_is_idle_without_volumes_to_repair),
		TEST(the_herald_is_idle_without_copies_once_it_has_looked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
