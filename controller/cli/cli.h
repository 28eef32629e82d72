/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_CLI_H
#define ZCSI_CLI_CLI_H

/* The commands of zcsi. A command prints its answer on stdout, or fails with a sentence. */

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"
#include "common/mem.h"
#include "controller/cli/fleet.h"
#include "controller/cli/fleet_list.h"
#include "controller/cli/print/table.h"

enum { /* exit statuses */
       CLI_OK = 0,
       CLI_FAILED = 1,
       CLI_USAGE = 2,
       CLI_DEGRADED = 3, /* an agent did not answer, or something needs attention */
};

struct cli {
	const struct program *program;
	struct fleet *fleet; /* NULL for an offline command */
	struct arena arena;
	struct style style;
	/* The values of the options with these names, as --from; NULL or false if not given. */
	const char *from, *node, *size, *format, *accept_loss, *to, *as, *every, *keep, *destroy;
	const struct option_list *lost;
	bool cancel, force, gone, drop, dry_run;
	const struct cell *would; /* the sentences of --dry-run (dry_run.h) */
	size_t n_would;
	const char *const *args; /* the arguments after the name of the command */
	size_t n_args;
	const char *own_file;       /* the file of our certificate; NULL: none */
	struct tls_certificate own; /* the contents of that certificate */
	struct member *members;     /* the agents, asked who they are before the command runs */
	size_t n_members;
	int64_t asked_ms; /* when the agents were asked, a now_ms() value */
	bool failed;      /* exit with CLI_FAILED; the error was printed on stdout already */
	bool degraded;    /* unless failed: exit with CLI_DEGRADED */
};

typedef int command_fn(struct cli *cli, struct error *err);

command_fn cli_list, cli_show, cli_status, cli_snapshots, cli_nodes, cli_copies, cli_copy, cli_sync,
	cli_pause, cli_resume, cli_move, cli_drain, cli_modify, cli_why, cli_send, cli_receive,
	cli_adopt, cli_trash, cli_completion, cli_failover, cli_confirm, cli_diverged, cli_backup,
	cli_unpublish, cli_forget, cli_doctor, cli_resize, cli_snapshot, cli_rollback, cli_rename,
	cli_detach, cli_check, cli_restore;

/*
 * Print the table on stdout, and on stderr each agent that did not answer; then the exit status is
 * CLI_DEGRADED, because rows may be missing.
 */
void cli_print(struct cli *cli, const struct table *table);

/* Returns the volumes of all agents in order of id; only those with this id unless id is NULL. */
struct owned *cli_volumes(struct cli *cli, const char *id, size_t *ret_n);
/* *ret is the volume with this id. Returns -1 with *err if it is not on exactly one agent. */
int cli_volume(struct cli *cli, const char *id, const struct owned **ret, struct error *err);
/* Returns the volume on another agent with the same id as volume number `at` of n, or NULL. */
const struct owned *cli_duplicate(const struct owned *volumes, size_t n, size_t at);
/*
 * cli_snapshots_of returns the snapshots on all agents, of one volume unless id is NULL, and
 * cli_snapshot_table a table of snapshots.
 */
const struct owned *cli_snapshots_of(struct cli *cli, const char *id, size_t *ret_n);
struct table cli_snapshot_table(struct cli *cli, const struct owned *all, size_t n);
/* Returns the deleted volumes with this id or this name in the trash, or all if name is NULL. */
const struct owned *cli_trashed(struct cli *cli, const char *name, size_t *ret_n);
/*
 * cli_nearly_full returns true if a volume is nearly full, cli_users the nodes that it is published
 * to.
 */
bool cli_nearly_full(const Dataset *volume);
const char *const *cli_users(struct cli *cli, const Dataset *volume);

#endif
