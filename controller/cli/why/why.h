/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_WHY_H
#define ZCSI_CLI_WHY_H

/*
 * The page of zcsi why: sentences about a volume, from the answers of the agents. All live in the
 * arena of the cli.
 */

#include "controller/cli/cli.h"
#include "controller/cli/move.h"
#include "proto/copy.h"

enum why_effect { WHY_STOPS, WHY_MAY_STOP, WHY_FACT };

struct why_line {
	enum why_effect effect;
	const char *text;
	const char *type; /* the command that mends what the text says, or NULL */
	struct why_line *next;
};

struct why {
	struct cli *cli;
	const char *id;
	const struct owned *volumes; /* the volumes with this name */
	size_t n_volumes;
	const struct move_seen *moves; /* the moves of the volume */
	size_t n_moves;
	const struct reply *pushes;   /* the answers of all agents to ListPushes */
	const struct reply *accounts; /* the answers of all agents to GetDataset; or NULL */
	bool no_nodes;                /* leave out sentences about nodes and pools */
	struct why_line *lines, **end;
};

/* Put a sentence on the page; the text is in the arena. */
void why_say(struct why *why, enum why_effect effect, const char *text);
/* Put a sentence on the page, and, unless the text has it, the command that mends the cause. */
void why_mend(struct why *why, enum why_effect effect, const char *text, const char *type);
/* The sentence about a volume that several nodes have. */
void why_twice(struct why *why);
/* The sentences about a volume at its owner: its place, its use, its space. */
void why_volume(struct why *why, const struct owned *volume);
/* Sentences about the volume's moves, even if no agent lists it. True if a move is running. */
bool why_moves(struct why *why);
/* Sentences about the volume's copies, from the owner's list of pushes. */
void why_copies(struct why *why, const struct owned *volume);
/*
 * Sentences about hosts that may have the volume and do not answer or were not asked, and about
 * agents that do not list the volume and refuse calls for it. Returns true if there is one.
 */
bool why_hosts(struct why *why);
/* Sentences about the rest of the volume: copies, if no agent has the volume, and the trash. */
void why_remains(struct why *why);

#endif
