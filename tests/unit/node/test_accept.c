/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of Accept: a node with a copy asks the lost nodes before it promises the copy. This host is
 * n3, which has a copy of v. The tests say what a lost node answers. Each test uses node names of
 * its own, because failures to answer are cached.
 */
#include "node/owner/heard.h"
#include "node/owner/silent.h"
#include "node/service.h"

#include <string.h>

#include "common/clock.h"
#include "node/catalog/catalog.h"
#include "node/catalog/change.h"
#include "node/host/node.h"
#include "node/peers/peers.h"
#include "node/replica/replica.h"
#include "node/zfs/zfs.h"
#include "tests/cmocka.h"

#define LINEAGE "00112233aabbccdd"

static struct node node = {.id = "n3"};
static struct rpc_call call;
static struct error err;
static enum error_code dialled, says; /* how peers_dial and FindBase end */
static bool speaks;                   /* a lost node calls Hear while it is dialled */
static unsigned dials, records;

/* Record a call of Hear by the lost node, as the owner of the volume. */
static void speak(const char *owner)
{
	const struct heard_row row = {
		.id = "v", .lineage = LINEAGE, .owner = owner, .at_ms = now_ms()};

	heard_put(node.heard, &row);
}

int __wrap_peers_dial(struct peers *peers, const char *node_id, int64_t deadline,
		      struct client **ret, struct error *error);
int __wrap_peers_dial(struct peers *peers, const char *node_id, int64_t deadline,
		      struct client **ret, struct error *error)
{
	(void)peers;
	dials++;
	assert_in_range(deadline - now_ms(), SILENT_MS / 2, SILENT_MS);
	assert_true(deadline <= call.deadline);
	*ret = NULL;
	if (speaks)
		speak(node_id);
	return dialled ? fail(error, dialled, "it is not reached") : 0;
}

void __wrap_peers_hang_up(struct peers *peers, struct client *client);
void __wrap_peers_hang_up(struct peers *peers, struct client *client)
{
	(void)peers, (void)client;
}

struct client_call *__wrap_client_begin(struct client *client, struct arena *arena,
					const ProtobufCServiceDescriptor *service,
					const char *method, const ProtobufCMessage *message,
					int64_t deadline);
struct client_call *__wrap_client_begin(struct client *client, struct arena *arena,
					const ProtobufCServiceDescriptor *service,
					const char *method, const ProtobufCMessage *message,
					int64_t deadline)
{
	const FindBaseRequest *request = (const FindBaseRequest *)message;

	(void)client, (void)arena, (void)service;
	assert_string_equal(method, "FindBase");
	assert_string_equal(request->id, "v");
	assert_string_equal(request->lineage, LINEAGE);
	assert_string_equal(request->node_id, "n3");
	assert_true(deadline <= now_ms() + SILENT_MS);
	return NULL;
}

int __wrap_client_finish(struct client_call *begun, void *ret_response, struct error *error);
int __wrap_client_finish(struct client_call *begun, void *ret_response, struct error *error)
{
	(void)begun, (void)ret_response;
	return says ? fail(error, says, "no") : 0;
}

int __wrap_catalog_get(struct catalog *catalog, int64_t deadline, struct arena *arena,
		       const char *id, struct dataset **ret, struct error *error);
int __wrap_catalog_get(struct catalog *catalog, int64_t deadline, struct arena *arena,
		       const char *id, struct dataset **ret, struct error *error)
{
	(void)catalog, (void)deadline, (void)arena, (void)id, (void)ret;
	return fail(error, ERR_NOT_FOUND, "it has only a copy");
}

int __wrap_replica_read(struct arena *arena, const char *parent, const char *id, CopyState **ret,
			struct error *error);
int __wrap_replica_read(struct arena *arena, const char *parent, const char *id, CopyState **ret,
			struct error *error)
{
	(void)parent, (void)id, (void)error;
	*ret = new_copy_state(arena);
	(*ret)->name = (char *)"t/p/_replica/v";
	(*ret)->lineage = (char *)LINEAGE;
	return 0;
}

int __wrap_zfs_set(const char *dataset, const struct zfs_properties *properties,
		   struct error *error);
int __wrap_zfs_set(const char *dataset, const struct zfs_properties *properties,
		   struct error *error)
{
	(void)properties, (void)error;
	assert_string_equal(dataset, "t/p/_replica/v");
	records++;
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	arena_init(&call.arena, SIZE_MAX);
	node.catalog = catalog_new("t/p", 0);
	node.heard = heard_new();
	call.app = &node;
	call.deadline = NO_DEADLINE;
	dialled = ERR_UNAVAILABLE;
	says = ERR_OK;
	speaks = false;
	dials = records = 0;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	heard_free(node.heard);
	catalog_free(node.catalog);
	arena_fini(&call.arena);
	return 0;
}

static int accept_with(char **lost, size_t n, bool check)
{
	AcceptRequest *request = new_accept_request(&call.arena);
	AcceptResponse *response = new_accept_response(&call.arena);

	request->id = (char *)"v";
	request->lineage = (char *)LINEAGE;
	request->node_id = (char *)"n2";
	request->epoch = 2;
	request->lost_node_ids = lost;
	request->n_lost_node_ids = n;
	request->check = check;
	return accept_owner(&call, request, response, &err);
}

static void promised(const char *lost)
{
	char *list[] = {(char *)lost};
	unsigned before = records;

	assert_int_equal(accept_with(list, 1, false), 0);
	assert_int_equal(records, before + 1);
}

static void refused(const char *lost, enum error_code code, const char *part)
{
	char *list[] = {(char *)lost};
	unsigned before = records;

	assert_int_equal(accept_with(list, 1, false), -1);
	assert_int_equal(err.code, code);
	assert_non_null(strstr(err.text, part));
	assert_int_equal(records, before);
}

static void a_copy_is_promised_if_the_lost_node_is_silent(void **state)
{
	(void)state;
	promised("a1");
	dialled = ERR_DEADLINE_EXCEEDED;
	promised("a2");
	assert_int_equal(dials, 2);
}

static void a_node_that_is_reached_is_not_lost(void **state)
{
	(void)state;
	dialled = ERR_OK;
	refused("b1", ERR_FAILED_PRECONDITION,
		"node 'n3' reaches node 'b1', which has volume 'v', so it is not lost");
	assert_non_null(strstr(err.text, "run 'zcsi move v NODE'"));
	assert_non_null(strstr(err.text, "switch node 'b1' off"));
	says = ERR_UNAVAILABLE;
	refused("b1", ERR_UNAVAILABLE, "node 'n3' reaches node 'b1', which did not report");
	assert_int_equal(dials, 2);
}

/* The lost node answers that it never was the owner, or that it is not any more. */
static void a_node_that_is_reached_may_not_use_the_volume(void **state)
{
	(void)state;
	dialled = ERR_OK;
	says = ERR_NOT_FOUND;
	promised("c1");
	says = ERR_FAILED_PRECONDITION;
	promised("c1");
}

/* The node of the copy was started without a list of agents, or two agents are the lost node. */
static void a_node_that_cannot_ask_refuses(void **state)
{
	(void)state;
	dialled = ERR_FAILED_PRECONDITION;
	refused("d1", ERR_FAILED_PRECONDITION,
		"node 'n3' cannot ask node 'd1' whether it is lost: it is not reached");
}

/* The lost node cannot be called, but calls this host itself. */
static void a_node_that_speaks_is_not_lost(void **state)
{
	(void)state;
	promised("e1");
	speak("e9");
	promised("e1");
	speak("e1");
	refused("e1", ERR_FAILED_PRECONDITION,
		"node 'n3' gets calls from node 'e1', which has volume");
	assert_int_equal(dials, 1);
	speaks = true;
	refused("e2", ERR_FAILED_PRECONDITION, "gets calls from node 'e2'");
}

/* The last call of Hear by the lost node came before it was declared lost. */
static void a_call_before_the_failure_does_not_count(void **state)
{
	(void)state;
	speak("f1");
	for (int64_t now = now_ms(); now_ms() == now;)
		;
	promised("f1");
}

static void failures_of_several_nodes_are_cached(void **state)
{
	char *lost[] = {(char *)"g1", (char *)"g2", (char *)"g3"};

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_int_equal(accept_with(lost, COUNT(lost), false), 0);
	assert_int_equal(dials, 3);
}

/* A failover asks all survivors whether they would promise their copies before any of them does. */
static void a_check_records_nothing(void **state)
{
	char *lost[] = {(char *)"h1"};

	(void)state;
	assert_int_equal(accept_with(lost, 1, true), 0);
	assert_int_equal(records, 0);
	dialled = ERR_OK;
	lost[0] = (char *)"h2";
	assert_int_equal(accept_with(lost, 1, true), -1);
}

/* A caller of an earlier version names no lost nodes in Accept. */
static void without_lost_nodes_none_is_asked(void **state)
{
	(void)state;
	dialled = ERR_OK;
	assert_int_equal(accept_with(NULL, 0, false), 0);
	assert_int_equal(records, 1);
	assert_int_equal(dials, 0);
}

/* If a node were asked shortly before the call ends, it would be recorded as silent. */
static void a_node_is_asked_only_if_there_is_time(void **state)
{
	(void)state;
	call.deadline = now_ms() + SILENT_MS - 1000;
	refused("i1", ERR_DEADLINE_EXCEEDED, "too little time is left for node 'n3'");
	assert_int_equal(dials, 0);
	call.deadline = NO_DEADLINE;
	dialled = ERR_OK;
	refused("i1", ERR_FAILED_PRECONDITION, "reaches node 'i1'");
}

static void more_nodes_than_a_volume_has_are_refused(void **state)
{
	char *lost[] = {(char *)"1", (char *)"2", (char *)"3", (char *)"4", (char *)"5",
			(char *)"6", (char *)"7", (char *)"8", (char *)"9"};

	(void)state;
	assert_int_equal(accept_with(lost, COUNT(lost), false), -1);
	assert_int_equal(err.code, ERR_INVALID_ARGUMENT);
	assert_int_equal(dials, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_copy_is_promised_if_the_lost_node_is_silent),
		TEST(a_node_that_is_reached_is_not_lost),
		TEST(a_node_that_is_reached_may_not_use_the_volume),
		TEST(a_node_that_cannot_ask_refuses),
		TEST(a_node_that_speaks_is_not_lost),
		TEST(a_call_before_the_failure_does_not_count),
		TEST(failures_of_several_nodes_are_cached),
		TEST(a_check_records_nothing),
		TEST(without_lost_nodes_none_is_asked),
		TEST(a_node_is_asked_only_if_there_is_time),
		TEST(more_nodes_than_a_volume_has_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
