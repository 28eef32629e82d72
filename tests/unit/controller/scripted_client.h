/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_SCRIPTED_CLIENT_H
#define ZCSI_SCRIPTED_CLIENT_H

/* An agent in memory (scripted_agents.h). A test sets what the agent has and how it answers. */

#include "common/error.h"
#include "common/volume/host_list.h"
#include "proto/agent.h"
#include "proto/copy.h"

#define N_AGENTS        3
#define DATASETS_MAX    2000
#define KEPT_MAX        8
#define SCRIPTED_COPIES 16 /* limit of the copies of an agent, and of its moves */

struct client {
	const char *endpoint, *node, *rack, *pool, *problem;
	struct tls_certificate certificate; /* certificate of the agent; without names: none */
	const char *version;                /* version of zcsi-node; NULL: "1" */
	const char *no_export, *no_copies;  /* reason against NFS, against copies; or NULL */
	int64_t available, ahead_us;        /* ahead_us: the agent's clock minus the local one */
	SizeLimit *size_limit;              /* limit of the sizes of volumes, or NULL */
	const char *boot;                   /* boot id; NULL: a version that has none */
	uint64_t diverged;                  /* hash in GetHostResponse.diverged; 0: no hash */
	uint64_t pool_guid, names;          /* names: the version of the names; 0: unknown */
	enum error_code silent;             /* code with which all calls fail, unless ERR_OK */
	enum error_code lookup;             /* code with which look-ups fail, unless ERR_OK */
	enum error_code closed;             /* code with which GetDataset fails, unless ERR_OK */
	uint64_t promised;                  /* highest claim that was received for any name */
	uint64_t target;                    /* target in the last request with a claim */
	uint64_t forgot, barrier;           /* Promise.forgot and GetHostResponse.barrier */
	uint64_t may_have;                  /* name hash in GetHostResponse.promised; 0: no hash */
	PromiseTarget before;               /* target in Promise, unless its claim is 0 */
	unsigned n_aborts;                  /* number of creations that fail with ABORTED */
	bool in_use;                        /* the agent's volumes are published to another node */
	enum error_code unsettled;          /* code with which SettleDataset fails, unless ERR_OK */
	Dataset *datasets[DATASETS_MAX];
	size_t n_datasets;
	DatasetSnapshot *snapshots[DATASETS_MAX];
	size_t n_snapshots;
	TrashedDataset *trashed;          /* the one entry of the trash, or NULL */
	struct host_list hosts;           /* hosts received by KeepHosts */
	KeepNamesRequest *kept[KEPT_MAX]; /* requests received by KeepNames */
	size_t n_kept;
	const CreateDatasetRequest *create_request; /* the last request of CreateDataset */
	const ModifyDatasetRequest *modify_request;
	PushState *pushes[SCRIPTED_COPIES];
	MoveState *moves[SCRIPTED_COPIES];
	size_t n_pushes, n_moves;
	unsigned move_looks;       /* how often a move is listed as running before it ends */
	enum error_code unmovable; /* code with which StartMove fails, unless ERR_OK */
	CopyState *copy;           /* copy that the agent has, of any volume; or NULL */
	BackupState *backup;       /* backup that the agent has, or NULL */
	const AddBackupRequest *backup_request; /* the last request of AddBackup */
	unsigned backup_looks;    /* number of AddBackup calls before the backup exists */
	const char *backup_fails; /* error with which AddBackup fails, or NULL */
	bool older;               /* an earlier version, in which volumes have no copies */

	/* The move of the agent's volumes (scripted_moves.c). */
	const char *moves_to;       /* node to which the volumes move; NULL: they do not move */
	unsigned looks;             /* GetDatasetMove calls until the volumes moved; 0: never */
	const char *move_fails;     /* error with which the move fails, or NULL */
	const char *failed_before;  /* error of the previous move, or NULL */
	int64_t sent, total, since; /* bytes sent and to send; how many ms the move has run */
	enum error_code immovable;  /* code with which MoveDataset fails, unless ERR_OK */
	bool closes;                /* look-ups fail while the volume moves */
	bool hangs, hides;          /* MoveDataset and GetDatasetMove hang; GetHost hangs */
	int64_t copy_time;          /* GetDatasetCopyResponse.time and HeldCopy.synced */
	const char *speaker;        /* HeldCopy.owner_node_id, or NULL */
	int64_t heard;              /* HeldCopy.heard */
	unsigned moves_begun, moves_asked;

	/* The number of calls of each kind. */
	unsigned names_read, looked, created, destroyed, published, unpublished, resized, listed;
	unsigned modified, snapshotted, grouped, snapshots_destroyed, hosts_kept, hosts_listed;
	unsigned unanswered, settled, moved, moving, moving_max, backups_asked;
};

#endif
