/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_SCRIPTED_CLIENT_H
#define ZCSI_SCRIPTED_CLIENT_H

/* An agent in memory (scripted_agents.h). A test sets what it has and how it answers. */

#include "common/error.h"
#include "common/volume/host_list.h"
#include "proto/agent.h"
#include "proto/copy.h"

#define N_AGENTS        3
#define DATASETS_MAX    2000
#define KEPT_MAX        8
#define SCRIPTED_COPIES 16 /* of all volumes of an agent, and moves */

struct client {
	const char *endpoint, *node, *rack, *pool, *problem;
	struct tls_certificate certificate; /* that it shows; without names: none */
	const char *version;                /* NULL: "1" */
	const char *no_export, *no_copies;  /* NULL: it can */
	int64_t available, ahead_us;        /* ahead_us: its clock minus the local one */
	SizeLimit *size_limit;              /* NULL: none */
	const char *boot;                   /* NULL: of an earlier version */
	uint64_t diverged;                  /* as in GetHostResponse; 0: none */
	uint64_t pool_guid, names;          /* names: the version of the names; 0: unknown */
	enum error_code silent;             /* if not ERR_OK, all calls fail with it */
	enum error_code lookup;             /* if not ERR_OK, all look-ups fail with it */
	enum error_code closed;             /* if not ERR_OK, GetDataset fails with it */
	uint64_t promised;                  /* the highest claim of all names */
	uint64_t target;                    /* the target of the last claim */
	uint64_t forgot, barrier;           /* as in Promise and GetHostResponse */
	uint64_t may_have;                  /* the hash of the name that it reports as promised */
	PromiseTarget before;               /* a target that it reports, if its claim is not 0 */
	unsigned n_aborts;                  /* number of creations to refuse with ABORTED */
	bool in_use;                        /* its volumes are published to another node */
	enum error_code unsettled;          /* if not ERR_OK, SettleDataset fails with it */
	Dataset *datasets[DATASETS_MAX];
	size_t n_datasets;
	DatasetSnapshot *snapshots[DATASETS_MAX];
	size_t n_snapshots;
	TrashedDataset *trashed;          /* or NULL */
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
	BackupState *backup;       /* or NULL */
	const AddBackupRequest *backup_request; /* the last one */
	unsigned backup_looks;    /* how often a backup is asked for before it is there */
	const char *backup_fails; /* why it is not made; NULL: it is */
	bool older;               /* it is of a version that knows of no copies */

	/* Moves (scripted_moves.c). */
	const char *moves_to;       /* the node that the volume moves to; NULL: it does not */
	unsigned looks;             /* after so many questions the volume is there; 0: never */
	const char *move_fails;     /* why the move fails instead; NULL: it does not */
	const char *failed_before;  /* why the move before failed */
	int64_t sent, total, since; /* bytes sent and to send; how many ms the move has run */
	enum error_code immovable;  /* if not ERR_OK, MoveDataset fails with it */
	bool closes;                /* look-ups fail while the volume moves */
	bool hangs, hides;   /* MoveDataset and GetDatasetMove; or GetHost: no answer in time */
	int64_t copy_time;   /* as in GetDatasetCopyResponse; or HeldCopy.synced */
	const char *speaker; /* the owner that has told of the copy; NULL: none has */
	int64_t heard;       /* as in HeldCopy */
	unsigned moves_begun, moves_asked;

	/* The number of calls of each kind. */
	unsigned names_read, looked, created, destroyed, published, unpublished, resized, listed;
	unsigned modified, snapshotted, grouped, snapshots_destroyed, hosts_kept, hosts_listed;
	unsigned unanswered, settled, moved, moving, moving_max, backups_asked;
};

#endif
