/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_DOCTOR_H
#define ZCSI_CLI_DOCTOR_H

/*
 * The findings of zcsi doctor, from what the agents tell. All live in the arena of the cli.
 */

#include "controller/cli/cli.h"
#include "controller/cli/move.h"
#include "proto/copy.h"

enum doctor_level {
	DOCTOR_STOPS,    /* somebody cannot use a volume now */
	DOCTOR_MAY_STOP, /* a volume may be stopped, or data be lost, by what happens next */
	DOCTOR_WAITS,    /* it waits until a person decides */
	DOCTOR_NOTE,     /* nothing is wrong */
};

struct finding {
	enum doctor_level level;
	const char *volume, *node; /* or NULL */
	const char *text;
	const char *type; /* the command that mends it, or NULL */
	unsigned part;    /* findings of one part and level are printed together */
	struct finding *next;
};

struct doctor {
	struct cli *cli;
	const struct owned *volumes; /* of all agents, by id */
	size_t n_volumes;
	const struct owned *trash;
	size_t n_trash;
	const struct move_seen *moves;
	size_t n_moves;
	const struct reply *pushes;    /* the answers of all agents to ListPushes */
	const KnownHost *const *hosts; /* that agents know */
	size_t n_hosts;
	struct finding *findings, **end;
	unsigned part;
};

/* Returns true if every host has told which volumes it has, so that others are on none. */
bool doctor_all_told(const struct doctor *doctor);

/* Returns true if a node that answers has the volume, or if it is on its way to another node. */
bool doctor_has_volume(const struct doctor *doctor, const char *id);

/* Add a finding; its part and next are set. */
void doctor_say(struct doctor *doctor, const struct finding *finding);

/* Each of these adds the findings of a part. */
void doctor_certificates(struct doctor *doctor); /* of the agents, and ours */
void doctor_nodes(struct doctor *doctor);        /* agents, their hosts and their pools */
void doctor_volumes(struct doctor *doctor);      /* volumes, their copies, moves and publications */
void doctor_members(struct doctor *doctor); /* nodes that are to have copies, and those that had */
void doctor_lost(struct doctor *doctor);    /* copies of volumes that no agent has */
void doctor_backups(struct doctor *doctor); /* on all nodes */
void doctor_aside(struct doctor *doctor);   /* data that was put aside, and deleted volumes */

/* Returns true if the certificate of an agent is why it does not answer, which is said. */
bool doctor_certificate_refused(const struct member *member);

#endif
