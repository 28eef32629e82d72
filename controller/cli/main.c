/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi: the operator's command. It parses the command line, asks every agent who it is, and runs
 * one of the commands of command.c.
 *
 * Invariant: stdout has the answer and nothing else; every error is a line on stderr.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/options.h"
#include "controller/cli/command.h"
#include "controller/cli/dry_run.h"

#define FOLDER      "/etc/zcsi"
#define AGENTS_FILE FOLDER "/agents"

static const char local_agent[] = "unix:///run/zcsi/agent.sock";
static struct option_list agents, words, lost;
static const char *agents_file, *timeout_text, *output, *from, *node, *volume_size, *format,
	*accept_loss, *to, *as, *every, *keep, *destroy;
static struct style style;
static bool cancel, drop, dry_run, force, gone;
static struct trust trust;

static const struct option_row options[] = {
	{.name = "agent",
	 .env = "ZCSI_AGENT",
	 .metavar = "ENDPOINT",
	 .help = "An agent: the --agent-endpoint of a zcsi-node. Without this and --agents-file: "
		 "those in " AGENTS_FILE ", or this host's, unix:///run/zcsi/agent.sock.",
	 .ret_list = &agents},
	{.name = "agents-file",
	 .env = "ZCSI_AGENTS_FILE",
	 .metavar = "PATH",
	 .help = "More agents, an endpoint a line.",
	 .ret_text = &agents_file},
	{.name = "timeout",
	 .env = "ZCSI_TIMEOUT",
	 .metavar = "SECONDS",
	 .fallback = "10",
	 .help = "How long to wait for agents.",
	 .ret_text = &timeout_text},
	{.name = "bare",
	 .letter = 'H',
	 .help = "For scripts: no heading, and one tab between columns.",
	 .ret_flag = &style.bare},
	{.name = "exact",
	 .letter = 'p',
	 .help = "Bytes and seconds since 1970 instead of rounded amounts and dates.",
	 .ret_flag = &style.exact},
	{.name = "output",
	 .letter = 'o',
	 .metavar = "FORMAT",
	 .fallback = "table",
	 .help = "table or json.",
	 .ret_text = &output},
	{.name = "from",
	 .letter = 'i',
	 .metavar = "SNAPSHOT",
	 .help = "For send: only what changed since this snapshot of the volume.",
	 .ret_text = &from},
	{.name = "node",
	 .metavar = "NODE",
	 .help = "For receive and adopt: the node that gets the volume. Default: the only one "
		 "with a pool. For diverged mount, diff and drop, snapshot --drop and restore: the "
		 "node that has it. For backup restore: the node whose backup is meant.",
	 .ret_text = &node},
	{.name = "size",
	 .metavar = "SIZE",
	 .help = "For receive and adopt: the size of the volume, such as 10G; of a filesystem "
		 "only. Default for adopt: its refquota, or else its quota.",
	 .ret_text = &volume_size},
	{.name = "format",
	 .metavar = "FORMAT",
	 .help = "For receive and adopt, of a zvol: block, ext4 or xfs. Default for adopt of a "
		 "DATASET: the filesystem that is on it.",
	 .ret_text = &format},
	{.name = "cancel",
	 .ret_flag = &cancel,
	 .help = "For move: end it, and leave the volume where it is."},
	{.name = "drop",
	 .ret_flag = &drop,
	 .help = "For snapshot: destroy the snapshot of this name in the list of snapshots."},
	{.name = "lost",
	 .metavar = "NODE",
	 .help = "For failover: a node that is off, or cut off from its clients, and is started "
		 "again only with zcsi-node on it. May be repeated.",
	 .ret_list = &lost},
	{.name = "accept-loss",
	 .metavar = "TIME",
	 .help = "For failover: how much of what was written last may be lost, such as 5m.",
	 .ret_text = &accept_loss},
	{.name = "to",
	 .metavar = "NODE",
	 .help = "For failover: the node that takes the volume over. Default: the one with the "
		 "newest copy.",
	 .ret_text = &to},
	{.name = "as",
	 .metavar = "NAME",
	 .help = "For restore and backup restore: the name of the new volume. Default of backup "
		 "restore: that of the old one, which must be gone. For adopt: the name of the "
		 "volume. Default: the last part of DATASET.",
	 .ret_text = &as},
	{.name = "every",
	 .metavar = "TIME",
	 .help = "For backup add: run it by itself, such as 1d or 6h; never: only when asked.",
	 .ret_text = &every},
	{.name = "keep",
	 .metavar = "SCHEDULE",
	 .help = "For backup add: how many snapshots are kept, such as daily=30,monthly=12; none: "
		 "all are.",
	 .ret_text = &keep},
	{.name = "force",
	 .ret_flag = &force,
	 .help = "For unpublish: the node does not answer, since it is off."},
	{.name = "gone",
	 .ret_flag = &gone,
	 .help = "For forget and copy drop: the node never comes back with its pool."},
	{.name = "destroy",
	 .metavar = "COUNT",
	 .help = "How many are destroyed for good. For trash empty: deleted volumes. For backup "
		 "drop: snapshots. For diverged drop, and for copy drop of the only complete "
		 "copy: 1.",
	 .ret_text = &destroy},
	{.name = "dry-run",
	 .ret_flag = &dry_run,
	 .help = "For all commands that change something: print what would be done, and do "
		 "nothing."},
	TRUST_CLIENT_OPTIONS(trust),
};

static char *trailer(void)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fputs("Commands:\n", out);
	for (size_t i = 0; i < cli_n_commands; i++) {
		const struct command *command = &cli_commands[i];
		fprintf(out, "  %-10s %-9s %s\n", command->name, command->args, command->help);
	}
	fputs("\nExit status: 0 all is well; 1 the command failed; 2 there is no such command or\n"
	      "option, or it is written wrongly; 3 an agent did not answer, or something needs\n"
	      "attention.",
	      out);
	fclose(out);
	return text;
}

static const struct command *find_command(struct error *err)
{
	if (!words.n) {
		fail(err, ERR_INVALID_ARGUMENT, "no command is given: try zcsi --help");
		return NULL;
	}
	for (size_t i = 0; i < cli_n_commands; i++) {
		const struct command *command = &cli_commands[i];
		if (strcmp(command->name, words.values[0]) != 0)
			continue;
		if (words.n - 1 >= command->min_args && words.n - 1 <= command->max_args)
			return command;
		fail(err, ERR_INVALID_ARGUMENT, "wrong number of arguments; usage: zcsi %s%s%s",
		     command->name, *command->args ? " " : "", command->args);
		return NULL;
	}
	fail(err, ERR_INVALID_ARGUMENT, "unknown command '%s': try zcsi --help", words.values[0]);
	return NULL;
}

static bool is_given(const struct option_row *row)
{
	return row->ret_text   ? *row->ret_text != NULL
	       : row->ret_flag ? *row->ret_flag
			       : row->ret_list->n > 0;
}

/* Returns the commands that read an option, as "copy drop, forget"; NULL if all read it. */
static const char *readers_of(struct arena *arena, const char *option)
{
	const char *list = NULL;

	for (size_t i = 0; i < cli_n_commands; i++) {
		const char *reader = command_reads(arena, &cli_commands[i], NULL, option);
		if (reader)
			list = arena_printf(arena, "%s%s%s", list ? list : "", list ? ", " : "",
					    reader);
	}
	return list;
}

/* Refuse an option that the command does not read: a user of --dry-run relies on its effect. */
static int check_options(const struct command *command, struct error *err)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	const char *verb = words.n > 1 ? words.values[1] : "";

	for (size_t i = 0; i < COUNT(options); i++) {
		const char *name = options[i].name;
		if (!is_given(&options[i]) || command_reads(&arena, command, verb, name))
			continue;
		const char *readers = readers_of(&arena, name);
		if (readers)
			return fail(err, ERR_INVALID_ARGUMENT,
				    "nothing was done: --%s is not for this command, but for: %s",
				    name, readers);
	}
	return 0;
}

static int parse_values(struct fleet_options *ret, struct error *err)
{
	int64_t timeout_ms;

	if (fleet_timeout(timeout_text, &timeout_ms, err) < 0)
		return -1;
	style.json = strcmp(output, "json") == 0;
	if (!style.json && strcmp(output, "table") != 0)
		return fail(err, ERR_INVALID_ARGUMENT, "--output '%s' is neither table nor json",
			    output);
	*ret = (struct fleet_options){.named = &agents,
				      .file = agents_file,
				      .trust = &trust,
				      .timeout_ms = timeout_ms,
				      .only_reads = dry_run};
	return 0;
}

/* Choose the agents if the command line names none. */
static void find_agents(struct fleet_options *wanted)
{
	static const char *values[] = {local_agent};
	static const struct option_list local = {values, 1};

	if (agents.n || wanted->file)
		return;
	if (access(AGENTS_FILE, R_OK) == 0)
		wanted->file = AGENTS_FILE;
	else
		wanted->named = &local;
}

static int ask(struct cli *cli, const struct command *command, struct fleet_options *wanted,
	       struct error *err)
{
	find_agents(wanted);
	fleet_credentials(&trust, FOLDER, &cli->arena);
	if (trust_open(&trust, err) < 0)
		return -1;
	if (trust.tls) {
		tls_own(trust.tls, &cli->own);
		cli->own_file = trust.certificate;
	}
	int result = fleet_open(&cli->fleet, wanted, err);
	if (result == 0) {
		cli->asked_ms = now_ms();
		cli->members = fleet_members(cli->fleet, &cli->arena, &cli->n_members);
		result = command->run(cli, err);
		dry_run_print(cli);
	}
	fleet_close(cli->fleet);
	free(cli->own.names);
	trust_close(&trust);
	return result;
}

static int run(struct cli *cli, const struct command *command, struct fleet_options *wanted,
	       struct error *err)
{
	int result = command->offline ? command->run(cli, err) : ask(cli, command, wanted, err);

	if (result == 0 && (fflush(stdout) == EOF || ferror(stdout)))
		return fail_errno(err, "cannot write to stdout");
	return result;
}

/* Run the command of the command line. Returns the exit status. */
static int execute(const struct program *program, struct error *err)
{
	struct fleet_options wanted;
	struct cli cli = {.program = program};
	const struct command *command = find_command(err);

	if (!command || check_options(command, err) < 0 || parse_values(&wanted, err) < 0)
		return CLI_USAGE;
	cli.args = words.values + 1;
	cli.n_args = words.n - 1;
	cli.style = style;
	cli.from = from;
	cli.node = node;
	cli.size = volume_size;
	cli.format = format;
	cli.lost = &lost;
	cli.accept_loss = accept_loss;
	cli.as = as;
	cli.every = every;
	cli.keep = keep;
	cli.to = to;
	cli.destroy = destroy;
	cli.cancel = cancel;
	cli.force = force;
	cli.gone = gone;
	cli.drop = drop;
	cli.dry_run = dry_run;
	arena_init(&cli.arena, SIZE_MAX);
	int result = run(&cli, command, &wanted, err);
	arena_fini(&cli.arena);
	/* A command that succeeded may have left an error in *err, such as that of a first try. */
	if (result == 0)
		*err = (struct error){.code = ERR_OK};
	if (result < 0 || cli.failed)
		return CLI_FAILED;
	return cli.degraded ? CLI_DEGRADED : CLI_OK;
}

int main(int argc, char **argv)
{
	auto_free char *after_options = trailer();
	const struct program program = {
		.name = "zcsi",
		.version = ZCSI_VERSION,
		.summary = "Asks the agents of all hosts about their volumes. It needs neither "
			   "Nomad nor a controller.",
		.trailer = after_options,
		.options = options,
		.n_options = COUNT(options),
		.usage = "COMMAND [ARGUMENT]...",
		.ret_arguments = &words,
	};
	struct error err = {0};
	int status = CLI_USAGE;
	int parsed = options_parse(&program, argc, argv, &err);

	if (parsed == 0 && log_setup("error", "logfmt", &err) == 0)
		status = execute(&program, &err);
	else if (parsed > 0)
		status = CLI_OK;
	if (err.code != ERR_OK)
		fprintf(stderr, "zcsi: %s\n", err.text);
	options_fini(&program);
	return status;
}
