/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_WHY_H
#define ZCSI_CLI_WHY_H

/*
 * The page of zcsi why: sentences about a volume, from what the agents tell. All live in the arena
 * of the cli.
 */

#include "controller/cli/cli.h"
#include "controller/cli/move.h"
#include "proto/copy.h"

enum why_effect { WHY_STOPS, WHY_MAY_STOP, WHY_FACT };

struct why_line {
	enum why_effect effect;
	const char *text;
	const char *type; /* the command that mends it, or NULL */
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
	bool no_nodes;                /* say nothing that is so for all volumes of a node */
	struct why_line *lines, **end;
};

/* Put a sentence on the page; the text is in the arena. */
void why_say(struct why *why, enum why_effect effect, const char *text);
/* The same, with the command that mends it, which is printed unless the text has it. */
void why_mend(struct why *why, enum why_effect effect, const char *text, const char *type);
/* The sentence about a volume that several nodes have. */
void why_twice(struct why *why);
/* The sentences about a volume at its owner: its place, its use, its space. */
void why_volume(struct why *why, const struct owned *volume);
/* About its moves, also those after which no agent lists it. Returns true if it is on its way. */
bool why_moves(struct why *why);
/* About its copies, as its owner pushes them. */
void why_copies(struct why *why, const struct owned *volume);
/*
 * About hosts that do not answer or are not asked, as far as they may have a volume of this name,
 * and about agents that do not list it and refuse calls for it. Returns true if there is one.
 */
bool why_hosts(struct why *why);
/* About what is left of it: copies, if no agent has it, and what is in the trash. */
void why_remains(struct why *why);

#endif
