/* SPDX-License-Identifier: MPL-2.0 */
/* Tests of zcsi why: the contents of the page about a volume, and the exit status. */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_agents.c"
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_cli.c"

static struct client *const a = &scripted[0], *const b = &scripted[1], *const c = &scripted[2];
static const char *page; /* output of the last zcsi why */

enum verdict { NOTHING, MAY, STOPS };

static void ask_why(enum verdict expected)
{
	int result;

	cli.failed = cli.degraded = false;
	page = printed(cli_why, "data", &result);
	assert_int_equal(result, 0);
	if (cli.failed != (expected == STOPS) || (!cli.failed && cli.degraded != (expected == MAY)))
		print_error("%s", page);
	assert_int_equal(cli.failed, expected == STOPS);
	if (!cli.failed)
		assert_int_equal(cli.degraded, expected == MAY);
	assert_true(!strstr(page, "nothing stops it") == (expected == STOPS));
}

static void assert_says(const char *line)
{
	if (!strstr(page, line))
		print_error("%s", page);
	assert_non_null(strstr(page, line));
}

static void assert_never_says(const char *line)
{
	if (strstr(page, line))
		print_error("%s", page);
	assert_null(strstr(page, line));
}

/* Let b keep the record of an agent's host, and the names of the agent's datasets. */
static void know(const struct client *client)
{
	const struct host_row row = {.node_id = arena_strdup(&call.arena, client->node),
				     .endpoint = arena_strdup(&call.arena, client->endpoint),
				     .dataset = arena_strdup(&call.arena, client->pool),
				     .stamp = 1};
	KeepNamesRequest *kept = new_keep_names_request(&call.arena);

	host_list_set(&b->hosts, &row);
	kept->node_id = arena_strdup(&call.arena, client->node);
	kept->read = 1000000;
	kept->hashes = arena_alloc(&call.arena, (client->n_datasets + 1) * sizeof(*kept->hashes));
	for (size_t i = 0; i < client->n_datasets; i++)
		kept->hashes[kept->n_hashes++] = name_hash(NAME_VOLUME, client->datasets[i]->id);
	b->kept[b->n_kept++] = kept;
}

static Dataset *data(struct client *client)
{
	return add_dataset(client, "data", 100 << 20, "");
}

static void nothing_stops_a_volume_with_copies(void **state)
{
	(void)state;
	Dataset *volume = data(a);
	volume->used = 10 << 20;
	add_push(a, "data", "b", 12);
	ask_why(NOTHING);
	assert_string_equal(page,
			    "-\tit is on node 'a', as pool-a/csi/data, with 10.0M of 100M used; "
			    "jobs can use it on that node alone\n"
			    "-\tit is attached to no node\n"
			    "-\tthe copy on node 'b' is complete, and 12 s behind\n"
			    "-\tnothing stops it\n");
}

static void a_volume_without_copies(void **state)
{
	(void)state;
	data(a);
	ask_why(NOTHING);
	assert_says("-\tit has no copy, so its data is on node 'a' alone; 'zcsi copy add data "
		    "NODE' makes one\n");
}

static void a_volume_in_use(void **state)
{
	(void)state;
	Dataset *volume = data(a);
	volume->n_published = 2;
	volume->published = arena_alloc(&call.arena, 2 * sizeof(*volume->published));
	for (size_t i = 0; i < 2; i++) {
		volume->published[i] = new_publication(&call.arena);
		volume->published[i]->node_id = arena_strdup(&call.arena, i ? "c" : "a");
	}
	ask_why(NOTHING);
	assert_says("-\tit is in use, attached to node 'a' and node 'c'; to move or delete it, "
		    "stop the job");
	c->silent = ERR_UNAVAILABLE;
	ask_why(MAY);
	assert_says("may stop\tnode 'c', to which it is attached, does not answer");
}

static void a_missing_volume(void **state)
{
	(void)state;
	data(a)->id = arena_strdup(&call.arena, "date");
	ask_why(STOPS);
	assert_string_equal(page, "stops\tno node that answers has a volume of this name; 'zcsi "
				  "list' prints those that exist\n");
}

static void a_volume_that_is_there_twice(void **state)
{
	(void)state;
	data(a);
	data(c)->maybe_blank = true;
	ask_why(STOPS);
	assert_says("stops\tit exists on node 'a' and node 'c': calls for it fail until only one");
	assert_says("-\tthe one on node 'c' was never used");
	assert_says("as pool-c/csi/data");
}

static void copies_that_are_not_well(void **state)
{
	(void)state;
	data(a);
	PushState *push = add_push(a, "data", "b", 1);
	push->paused = true;
	ask_why(MAY);
	assert_says("may stop\tthe copy on node 'b' is complete, and 1 s behind; it is paused and "
		    "gets nothing; run 'zcsi resume data'\n");
	push->paused = false;
	push->failed = 60000000;
	push->error = arena_strdup(&call.arena, "node 'b' is full");
	ask_why(MAY);
	assert_says("the last push failed at 1970-01-01 00:01: node 'b' is full; mend that first; "
		    "run 'zcsi sync data'\n");
	push->failed = 0;
	push->synced -= (int64_t)1000 * USEC;
	ask_why(MAY);
	assert_says("and 17 min behind, where 5 min are allowed; it waits for its turn; run 'zcsi "
		    "sync data'\n");
	push->synced = 0;
	push->running = true;
	ask_why(NOTHING);
	assert_says("-\tthe copy on node 'b' is not known to be complete; a push runs\n");
	b->problem = "the pool is suspended";
	ask_why(MAY);
	assert_says("may stop\tnode 'b', which has a copy: the pool is suspended\n");
	b->silent = ERR_UNAVAILABLE;
	ask_why(MAY);
	assert_says("may stop\tnode 'b', which has a copy: it does not answer");
	push->deleted = true;
	ask_why(MAY);
	assert_says("of a volume of this name that was deleted, and is being dropped\n");
	assert_never_says("which has a copy");
}

static void a_volume_that_moves(void **state)
{
	(void)state;
	data(a);
	MoveState *move = add_move(a, "data", "b");
	move->sending_ms = 1000;
	move->sent = 1 << 20;
	a->move_looks = 2;
	ask_why(MAY);
	assert_says("may stop\tit is moving from node 'a' to node 'b', b: 1.00M, 1.00M/s; for some "
		    "seconds at the end calls for it are refused; 'zcsi move data b --cancel' ends "
		    "that\n");
	a->closed = ERR_FAILED_PRECONDITION;
	ask_why(STOPS);
	assert_says("stops\tit is moving from node 'a'");
	assert_never_says("refuses calls");
	a->n_datasets = 0;
	move->given_up = true;
	move->error = arena_strdup(&call.arena, "cannot reach 'b'");
	ask_why(STOPS);
	assert_string_equal(page,
			    "stops\tnode 'a' has given it up for node 'b', which has not "
			    "taken it yet: cannot reach 'b'; it does as soon as the two reach "
			    "each other\n");
}

static void a_move_that_failed(void **state)
{
	(void)state;
	data(a);
	MoveState *move = add_move(a, "data", "b");
	move->running = false;
	move->error = arena_strdup(&call.arena, "it was mounted");
	ask_why(NOTHING);
	assert_says("-\tits last move, to node 'b', failed: it was mounted\n");
}

static void calls_that_are_refused(void **state)
{
	(void)state;
	a->closed = ERR_FAILED_PRECONDITION;
	ask_why(STOPS);
	assert_string_equal(page, "stops\tnode 'a': it is closed\n");
	data(a);
	ask_why(STOPS);
	assert_says("stops\tnode 'a' refuses calls for it: it is closed\n");
	a->problem = "the pool is suspended";
	ask_why(STOPS);
	assert_says("stops\tthe pool of node 'a' cannot be used: the pool is suspended\n");
	assert_never_says("refuses calls");
}

static void space_that_ends(void **state)
{
	(void)state;
	Dataset *volume = data(a);
	a->names = 1;
	a->available = 4 << 20;
	volume->used = 95 << 20;
	ask_why(MAY);
	assert_says("may stop\tit is nearly full: delete files");
	assert_says("may stop\tthe pool of node 'a' is nearly full: 4.00M are left\n");
	a->available = 6 << 20;
	volume->used = 94 << 20;
	ask_why(NOTHING);
	a->available = 0;
	ask_why(STOPS);
	assert_says("stops\tthe pool of node 'a' is full");
	/* While an agent reads its pool for the first time, its free space is not judged. */
	a->names = 0;
	ask_why(NOTHING);
	volume->used = volume->size;
	ask_why(STOPS);
	assert_says("stops\tit is full: delete files");
}

static void a_volume_for_all_nodes_needs_nfs(void **state)
{
	(void)state;
	add_dataset(a, "data", 1, "access=x\nattach=nfs\nzfs.encryption=on\n");
	ask_why(NOTHING);
	assert_says("jobs can use it on every node, by NFS\n");
	assert_says("-\tit is encrypted");
	a->no_export = "exportfs is missing";
	ask_why(STOPS);
	assert_says("stops\tnode 'a' cannot export it by NFS: exportfs is missing\n");
	a->datasets[0]->parameters = arena_strdup(&call.arena, "compression=attach=nfs\n");
	ask_why(NOTHING);
}

/* Another agent keeps the names of the silent node, so the page says what the node had. */
static void a_volume_on_a_silent_node(void **state)
{
	(void)state;
	data(a);
	know(a);
	a->silent = ERR_UNAVAILABLE;
	ask_why(STOPS);
	assert_string_equal(page, "stops\tit was on node 'a' at 1970-01-01 00:00, and its agent "
				  "did not list its volumes: no answer from 'unix:///a'; if it is "
				  "down, start zcsi-node there\n");
	/* Another node has a volume of the same name. */
	data(b);
	ask_why(MAY);
	assert_says("may stop\tnode 'a' had a volume of this name too at");
}

static void a_silent_node_that_did_not_have_the_volume(void **state)
{
	(void)state;
	know(c);
	c->silent = ERR_UNAVAILABLE;
	ask_why(STOPS);
	assert_says("stops\tno node that answers has a volume of this name");
	assert_says("-\tnode 'c' did not have it at 1970-01-01 00:00, and");
	data(a);
	ask_why(NOTHING);
	assert_never_says("'c'");
}

static void a_silent_node_that_nothing_is_known_of(void **state)
{
	(void)state;
	c->silent = ERR_UNAVAILABLE;
	ask_why(STOPS);
	assert_says("stops\tit may be on 'unix:///c', and its agent did not list its volumes: no "
		    "answer");
	assert_never_says("no node that answers");
	data(a);
	ask_why(MAY);
	assert_says("may stop\t'unix:///c' may have a volume of this name too");
	/* The agent answers GetHost, but cannot read its pool. */
	c->silent = ERR_OK;
	c->lookup = ERR_UNAVAILABLE;
	ask_why(MAY);
	assert_says("may stop\t'c' may have a volume of this name too, and its agent did not "
		    "list its volumes: cannot look");
}

static void a_silent_node_without_a_pool_has_no_volume(void **state)
{
	(void)state;
	c->pool = "";
	know(c);
	b->n_kept = 0;
	c->silent = ERR_UNAVAILABLE;
	data(a);
	ask_why(NOTHING);
}

static void a_node_whose_agent_is_not_asked(void **state)
{
	struct client other = {.node = "d", .endpoint = "tcp://d:1", .pool = "tank/csi"};

	(void)state;
	data(&other);
	know(&other);
	ask_why(STOPS);
	assert_string_equal(page, "stops\tit was on node 'd' at 1970-01-01 00:00, and its agent, "
				  "tcp://d:1, was not asked; add it to the agents (--agent)\n");
	b->n_kept = 0;
	ask_why(STOPS);
	assert_says("stops\tit may be on 'd', and its agent, tcp://d:1, was not asked");
	/* If an agent has the volume, no other agent has to be asked. */
	data(a);
	ask_why(NOTHING);
}

static TrashedDataset *trash(struct client *client, const char *id, const char *leaf)
{
	TrashedDataset *entry = client->trashed = new_trashed_dataset(&call.arena);

	entry->id = arena_strdup(&call.arena, id);
	entry->leaf = arena_strdup(&call.arena, leaf);
	return entry;
}

static void a_deleted_volume_can_be_had_back(void **state)
{
	(void)state;
	trash(c, "data", "data-77");
	ask_why(STOPS);
	assert_says("-\tthe trash of node 'c' has a deleted volume of this name; 'zcsi trash list "
		    "data' shows until when, and 'zcsi trash restore data-77' brings it back");
	assert_never_says("zcsi snapshots");
	/* A trash entry of another volume may be named like the volume. */
	trash(c, "other", "data");
	ask_why(STOPS);
	assert_never_says("trash of");
}

static void a_volume_that_was_rolled_back_is_not_deleted(void **state)
{
	(void)state;
	data(c);
	trash(c, "data", "old-data-77")->snapshots = 1;
	ask_why(NOTHING);
	assert_says("-\tthe trash of node 'c' has what it was before a rollback or a detach, as "
		    "'zcsi trash list data' shows\n");
	assert_never_says("deleted");
}

static void copies_and_snapshots_of_a_volume_that_is_gone(void **state)
{
	char *nodes[] = {(char *)"a", (char *)"b"};
	CopySnapshot *newest = new_copy_snapshot(&call.arena);

	(void)state;
	trash(c, "data", "data-77")->snapshots = 1;
	b->copy = new_copy_state(&call.arena);
	b->copy->node_ids = nodes;
	b->copy->n_node_ids = COUNT(nodes);
	b->copy->snapshots = &newest;
	b->copy->n_snapshots = 1;
	ask_why(STOPS);
	assert_says("-\tnode 'b' has a copy of it, of 1970-01-01 00:00; nodes with its data were "
		    "also 'a'; ");
	assert_says("-\tthe trash of node 'c' has a deleted volume of this name, whose snapshots");
	/* The page does not mention the snapshots of a volume that exists. */
	add_snapshot(a, data(a), "tuesday");
	ask_why(NOTHING);
	assert_never_says("node 'b'");
	assert_never_says("trash of node 'a'");
	assert_says("trash of node 'c'");
}

static int local_time(void **state)
{
	(void)state;
	return setenv("TZ", "UTC", 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CLI_TEST(nothing_stops_a_volume_with_copies),
		CLI_TEST(a_volume_without_copies),
		CLI_TEST(a_volume_in_use),
		CLI_TEST(a_missing_volume),
		CLI_TEST(a_volume_that_is_there_twice),
		CLI_TEST(copies_that_are_not_well),
		CLI_TEST(a_volume_that_moves),
		CLI_TEST(a_move_that_failed),
		CLI_TEST(calls_that_are_refused),
		CLI_TEST(space_that_ends),
		CLI_TEST(a_volume_for_all_nodes_needs_nfs),
		CLI_TEST(a_volume_on_a_silent_node),
		CLI_TEST(a_silent_node_that_did_not_have_the_volume),
		CLI_TEST(a_silent_node_that_nothing_is_known_of),
		CLI_TEST(a_silent_node_without_a_pool_has_no_volume),
		CLI_TEST(a_node_whose_agent_is_not_asked),
		CLI_TEST(a_deleted_volume_can_be_had_back),
		CLI_TEST(a_volume_that_was_rolled_back_is_not_deleted),
		CLI_TEST(copies_and_snapshots_of_a_volume_that_is_gone),
	};

	return cmocka_run_group_tests(tests, local_time, NULL);
}
