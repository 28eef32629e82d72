/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_SCRIPTED_AGENTS_H
#define ZCSI_SCRIPTED_AGENTS_H

/* Agents in memory, for tests of the controller's handlers. A test can make an agent fail every
 * call, be without a pool, or hold the same volume as another one. */

#include "tests/cmocka.h"

#include <string.h>

#include "common/volume/host_list.h"
#include "common/volume/map.h"
#include "common/volume/name.h"
#include "controller/agents.h"
#include "controller/service.h"
#include "tests/unit/controller/scripted_client.h"

extern struct client scripted[N_AGENTS];
extern unsigned silent_answers; /* number of calls that fail before the first answer */
extern void (*meanwhile)(void); /* called once, before the next answer; NULL: not called */
extern struct rpc_call call;    /* the call that a handler gets; each test has a new arena */

/* Start with three hosts that have a pool each: a and b in rack 1, c in rack 2; b has the most
 * space. */
int scripted_setup(void **state);
int scripted_teardown(void **state);
/* Replace the controller by one that has just started. */
void scripted_restart(void);
/* Set the nodes that have copies of the dataset, separated by ' ', and let it follow its
 * workload. */
void set_copies(Dataset *dataset, const char *nodes);
Dataset *add_dataset(struct client *client, const char *id, int64_t size, const char *parameters);
/* Add a snapshot of the dataset `of`. The snapshot gets the guid of the dataset as its
 * dataset_guid, and the id "<dataset>@<name>". */
DatasetSnapshot *add_snapshot(struct client *client, const Dataset *of, const char *name);

/* Add a copy, on `node`, of a volume of this agent. behind: the age of its data in seconds;
 * negative: the copy is not complete. */
PushState *add_push(struct client *client, const char *id, const char *node, int64_t behind);
/* Add a running move of the volume `id` from this agent to `node`. */
MoveState *add_move(struct client *client, const char *id, const char *node);

#define SCRIPTED_TEST(name) cmocka_unit_test_setup_teardown(name, scripted_setup, scripted_teardown)

/* Assert that the result is -1, and that err has this code and a text that contains the word. */
#define assert_failed(result, expected_code, word)                                                 \
	do {                                                                                       \
		assert_int_equal(result, -1);                                                      \
		assert_int_equal(err.code, expected_code);                                         \
		if (!strstr(err.text, word))                                                       \
			print_error("%s\n", err.text);                                             \
		assert_non_null(strstr(err.text, word));                                           \
	} while (0)

#endif
