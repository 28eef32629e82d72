/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The table of commands. main.c parses the command line and runs one of them.
 *
 * Invariant: --help, the completions of shells and the check of arguments are made from this table.
 */
#include "controller/cli/command.h"

#include <string.h>

#include "controller/cli/print/completion.h"

#define WORDS_MAX 64

const struct command cli_commands[] = {
	{"status", "", 0, 0, "Each volume, who uses it, and what is wrong with it.", cli_status,
	 NULL, false},
	{"doctor", "", 0, 0, "All that is wrong, the worst first, and what to type.", cli_doctor,
	 NULL, false},
	{"check", "[NODE]", 0, 1, "What the hosts lack for their volumes, and what to do.",
	 cli_check, NULL, false},
	{"list", "", 0, 0, "The volumes of all nodes.", cli_list, NULL, false},
	{"show", "VOLUME", 1, 1, "All about a volume.", cli_show, NULL, false},
	{"why", "VOLUME", 1, 1, "All that stops a volume or could stop it, and what to type.",
	 cli_why, NULL, false},
	{"snapshots", "[VOLUME]", 0, 1, "The snapshots of a volume, or of all.", cli_snapshots,
	 NULL, false},
	{"nodes", "", 0, 0, "The nodes, their pools, free space and versions.", cli_nodes, NULL,
	 false},
	{"copies", "[VOLUME]", 0, 1, "The copies on other nodes, and how far they are behind.",
	 cli_copies, NULL, false},
	{"copy", "add|drop VOLUME NODE", 3, 3, "Keep a copy of a volume on a node, or drop it.",
	 cli_copy, "drop.gone drop.destroy dry-run", false},
	{"sync", "VOLUME", 1, 1, "Bring the copies of a volume up to date now, and wait for it.",
	 cli_sync, "dry-run", false},
	{"pause", "VOLUME", 1, 1, "Send nothing to the copies of a volume, until it is resumed.",
	 cli_pause, "dry-run", false},
	{"resume", "VOLUME", 1, 1, "Keep the copies of a volume up to date again.", cli_resume,
	 "dry-run", false},
	{"move", "VOLUME NODE", 2, 2,
	 "Give a volume to a node that has a copy of it, and wait for it.", cli_move,
	 "cancel dry-run", false},
	{"drain", "NODE", 1, 1, "Move the volumes of a node to the nodes that have copies of them.",
	 cli_drain, "dry-run", false},
	{"failover", "[VOLUME]", 0, 1,
	 "Have other nodes take over a volume of a lost node, or all of them, with their copies.",
	 cli_failover, "lost accept-loss to dry-run", false},
	{"confirm", "VOLUME", 1, 1,
	 "Use a volume after a reboot of its node, though nodes with copies do not answer.",
	 cli_confirm, "dry-run", false},
	{"diverged", "list|mount|diff|drop [NAME [DIR]]", 1, 3,
	 "The data that only a host that returned has of a volume; its files, and its end.",
	 cli_diverged, "mount.node diff.node drop.node drop.destroy mount.dry-run drop.dry-run",
	 false},
	{"backup", "add|run|list|verify|restore|drop [VOLUME [NODE]]", 1, 3,
	 "Have another node pull snapshots of a volume, and make a volume of such a snapshot.",
	 cli_backup,
	 "add.every add.keep restore.as restore.node drop.destroy add.dry-run run.dry-run "
	 "verify.dry-run restore.dry-run drop.dry-run",
	 false},
	{"modify", "VOLUME KEY=VALUE...", 2, WORDS_MAX, "Change parameters of a volume.",
	 cli_modify, "dry-run", false},
	{"resize", "VOLUME SIZE", 2, 2, "Make a volume larger, also while it is used.", cli_resize,
	 "dry-run", false},
	{"rename", "VOLUME NEW", 2, 2,
	 "Give a volume that is not used another name, and its snapshots with it.", cli_rename,
	 "dry-run", false},
	{"snapshot", "VOLUME [NAME]|mount SNAPSHOT DIR", 1, 3,
	 "Take a snapshot of a volume; with --drop: destroy one; or mount one on this host.",
	 cli_snapshot, "drop node dry-run", false},
	{"rollback", "VOLUME SNAPSHOT", 2, 2,
	 "Make a volume that is not used what it was at a snapshot, and keep what it is.",
	 cli_rollback, "dry-run", false},
	{"restore", "SNAPSHOT", 1, 1,
	 "Make a new volume of a snapshot, and leave the snapshot's own volume as it is.",
	 cli_restore, "as node dry-run", false},
	{"detach", "VOLUME", 1, 1,
	 "Copy the data of a volume that is a clone, so that it depends on no other volume.",
	 cli_detach, "dry-run", false},
	{"send", "SNAPSHOT", 1, 1, "A snapshot as a stream for zfs receive, on stdout.", cli_send,
	 "from", false},
	{"receive", "NAME", 1, 1, "Make a new volume of a stream of zfs send on stdin.",
	 cli_receive, "node size format dry-run", false},
	{"adopt", "DATASET|NAME", 1, 1,
	 "Make a volume of a dataset of another driver, or of what was received.", cli_adopt,
	 "node size format as dry-run", false},
	{"trash", "list|restore|empty [VOLUME]", 1, 2,
	 "The deleted volumes; have one back, or destroy them.", cli_trash,
	 "empty.destroy restore.dry-run empty.dry-run", false},
	{"unpublish", "VOLUME [NODE]", 1, 2,
	 "Detach a volume from a node that does not use it, and that Nomad has forgotten.",
	 cli_unpublish, "force dry-run", false},
	{"forget", "NODE", 1, 1,
	 "Free the names that a host had which never comes back, so that they can be made again.",
	 cli_forget, "gone dry-run", false},
	{"completion", "SHELL", 1, 1, "A script that completes words for bash, zsh or fish.",
	 cli_completion, NULL, true},
};
const size_t cli_n_commands = COUNT(cli_commands);

const char *command_reads(struct arena *arena, const struct command *command, const char *verb,
			  const char *option)
{
	const char *readers = NULL;
	size_t length;

	for (const char *at = command->options ? command->options : ""; *at; at += length) {
		at += strspn(at, " ");
		length = strcspn(at, " ");
		const char *dot = memchr(at, '.', length), *name = dot ? dot + 1 : at;
		if (strncmp(name, option, strlen(option)) != 0 ||
		    name + strlen(option) != at + length)
			continue;
		if (!dot)
			return command->name;
		if (!verb || (strncmp(verb, at, (size_t)(dot - at)) == 0 && !verb[dot - at]))
			readers = arena_printf(arena, "%s%s%s %.*s", readers ? readers : "",
					       readers ? ", " : "", command->name, (int)(dot - at),
					       at);
	}
	return readers;
}

static enum completion_word word_of(const struct command *command)
{
	return strstr(command->args, "VOLUME") ? COMPLETION_VOLUME
	       : strstr(command->args, "NODE") ? COMPLETION_NODE
					       : COMPLETION_NONE;
}

int cli_completion(struct cli *cli, struct error *err)
{
	struct completion_command *commands =
		arena_alloc(&cli->arena, cli_n_commands * sizeof(*commands));

	for (size_t i = 0; i < cli_n_commands; i++)
		commands[i] = (struct completion_command){
			cli_commands[i].name, cli_commands[i].help, word_of(&cli_commands[i])};
	return completion_print(stdout, cli->program, commands, cli_n_commands, cli->args[0], err);
}
