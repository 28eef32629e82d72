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
#include "proto/copy.h"

#define N_AGENTS        3
#define DATASETS_MAX    2000
#define KEPT_MAX        8
#define SCRIPTED_COPIES 16 /* of all volumes of an agent, and moves */

struct client {
	const char *endpoint, *node, *rack, *pool, *problem;
	const char *no_export, *no_copies; /* NULL: it can */
	int64_t available, ahead_us;       /* ahead_us: its clock minus the local one */
	uint64_t pool_guid, names;         /* names: the version of the names; 0: unknown */
	enum error_code silent;            /* if not ERR_OK, all calls fail with it */
	enum error_code lookup;            /* if not ERR_OK, all look-ups fail with it */
	enum error_code closed;            /* if not ERR_OK, GetDataset fails with it */
	uint64_t promised;                 /* the highest claim of all names */
	uint64_t target;                   /* the target of the last claim */
	uint64_t forgot, barrier;          /* as in Promise and GetHostResponse */
	uint64_t may_have;                 /* the hash of the name that it reports as promised */
	PromiseTarget before;              /* a target that it reports, if its claim is not 0 */
	unsigned n_aborts;                 /* number of creations to refuse with ABORTED */
	bool in_use;                       /* its volumes are published to another node */
	enum error_code unsettled;         /* if not ERR_OK, SettleDataset fails with it */
	Dataset *datasets[DATASETS_MAX];
	size_t n_datasets;
	DatasetSnapshot *snapshots[DATASETS_MAX];
	size_t n_snapshots;
	struct host_list hosts;           /* of KeepHosts */
	KeepNamesRequest *kept[KEPT_MAX]; /* of KeepNames */
	size_t n_kept;
	const CreateDatasetRequest *create_request; /* the last request of each kind */
	const ModifyDatasetRequest *modify_request;
	PushState *pushes[SCRIPTED_COPIES];
	MoveState *moves[SCRIPTED_COPIES];
	size_t n_pushes, n_moves;
	unsigned move_looks;       /* how often a move is listed as running before it ends */
	enum error_code unmovable; /* if not ERR_OK, StartMove fails with it */
	CopyState *copy;           /* of any volume; or NULL */
	bool older;                /* it is of a version that knows of no copies */

	/* Moves (scripted_moves.c). */
	const char *moves_to;       /* the node that the volume moves to; NULL: it does not */
	unsigned looks;             /* after so many questions it is there; 0: it never is */
	const char *move_fails;     /* why the move fails instead; NULL: it does not */
	const char *failed_before;  /* why the move before did */
	int64_t sent, total, since; /* of the move; since: for how many ms */
	enum error_code immovable;  /* if not ERR_OK, MoveDataset fails with it */
	bool closes;                /* look-ups fail while the volume moves */
	bool hangs;                 /* MoveDataset and GetDatasetMove get no answer in time */
	int64_t copy_time;          /* as in GetDatasetCopyResponse */
	unsigned moves_begun, moves_asked;

	/* The number of calls of each kind. */
	unsigned names_read, looked, created, destroyed, published, unpublished, resized, listed;
	unsigned modified, snapshotted, grouped, snapshots_destroyed, hosts_kept, hosts_listed;
	unsigned unanswered, settled, moved, moving, moving_max; /* moving_max: at a time */
};

extern struct client scripted[N_AGENTS];
extern unsigned silent_answers; /* how many calls get no answer, before the others */
extern void (*meanwhile)(void); /* called once, before the next answer; NULL: nothing */
extern struct rpc_call call;    /* the handlers' call; each test gets a new arena */

/* Start with three hosts that have a pool each: a and b in rack 1, c in rack 2; b has the most
 * space. */
int scripted_setup(void **state);
int scripted_teardown(void **state);
/* Set the nodes that have copies of the dataset, with ' ' between; it follows its workload. */
void set_copies(Dataset *dataset, const char *nodes);
Dataset *add_dataset(struct client *client, const char *id, int64_t size, const char *parameters);
/* Add a snapshot of the dataset. Its dataset_guid is that of the dataset, its id is
 * "<dataset>@<name>". */
DatasetSnapshot *add_snapshot(struct client *client, const Dataset *of, const char *name);

/* Add a copy of a volume of this agent, so many seconds behind; negative: not complete. */
PushState *add_push(struct client *client, const char *id, const char *node, int64_t behind);
/* Add a move away from this agent that runs. */
MoveState *add_move(struct client *client, const char *id, const char *node);

#define SCRIPTED_TEST(name) cmocka_unit_test_setup_teardown(name, scripted_setup, scripted_teardown)

/* Assert that the result is -1, with that code and a text that contains the word. */
#define assert_failed(result, expected_code, word)                                                 \
	do {                                                                                       \
		assert_int_equal(result, -1);                                                      \
		assert_int_equal(err.code, expected_code);                                         \
		if (!strstr(err.text, word))                                                       \
			print_error("%s\n", err.text);                                             \
		assert_non_null(strstr(err.text, word));                                           \
	} while (0)

#endif
