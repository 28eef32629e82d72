/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_DOCTOR_H
#define ZCSI_CLI_DOCTOR_H

/*
 * The findings of zcsi doctor, from the answers of the agents. All live in the arena of the cli.
 */

#include "controller/cli/cli.h"
#include "controller/cli/move.h"
#include "proto/copy.h"

enum doctor_level {
	DOCTOR_STOPS,    /* a volume cannot be used now */
	DOCTOR_MAY_STOP, /* a volume may be stopped, or data be lost, by what happens next */
	DOCTOR_WAITS,    /* data is kept until a person decides about it */
	DOCTOR_NOTE,     /* nothing is wrong */
};

struct finding {
	enum doctor_level level;
	const char *volume, *node; /* subject of the finding; or NULL */
	const char *text;
	const char *type; /* the command that mends the finding, or NULL */
	unsigned part;    /* findings of one part and level are printed together */
	struct finding *next;
};

struct doctor {
	struct cli *cli;
	const struct owned *volumes; /* the volumes of all agents, in the order of ids */
	size_t n_volumes;
	const struct owned *trash;
	size_t n_trash;
	const struct move_seen *moves;
	size_t n_moves;
	const struct reply *pushes;    /* the answers of all agents to ListPushes */
	const KnownHost *const *hosts; /* the hosts that agents keep in their lists */
	size_t n_hosts;
	struct finding *findings, **end;
	unsigned part;
};

/* Returns true if every host has listed its volumes, so that no host has a volume not listed. */
bool doctor_list_is_complete(const struct doctor *doctor);

/* Returns true if a node that answers has the volume, or if it is on its way to another node. */
bool doctor_has_volume(const struct doctor *doctor, const char *id);

/* Add a copy of the finding to the part whose function runs. */
void doctor_say(struct doctor *doctor, const struct finding *finding);

/* Each of these functions adds the findings of one part. */
void doctor_certificates(struct doctor *doctor); /* certificates of the agents, and of zcsi */
void doctor_nodes(struct doctor *doctor);        /* agents, their hosts and their pools */
void doctor_volumes(struct doctor *doctor);      /* volumes, their copies, moves and publications */
void doctor_members(struct doctor *doctor); /* nodes that are to have copies, and replaced ones */
void doctor_lost(struct doctor *doctor);    /* copies of volumes that no agent has */
void doctor_backups(struct doctor *doctor); /* the backups on all nodes */
void doctor_aside(struct doctor *doctor);   /* data that was put aside, and deleted volumes */

/* Returns true if an agent's certificate, which doctor_certificates reports, was refused. */
bool doctor_certificate_refused(const struct member *member);

#endif
