/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_CLAIM_H
#define ZCSI_CLI_CLAIM_H

/*
 * Claiming the name of what a command makes, as a controller claims it (controller/README.md). All
 * agents must answer, and every host of the cluster that one of them knows of must be among them.
 */

#include <stddef.h>
#include <stdint.h>

#include "controller/cli/cli.h"

struct naming {
	struct cli *cli;
	const char *kind, *name;    /* "volume", and its name: for error texts */
	const struct member *place; /* the agent that makes it */
	const char *method;         /* looks the name up: "GetDataset" */
	const ProtobufCMessage *request;
	uint64_t *claim, *target; /* in the request */
	size_t promised;          /* in the response: the offset of the member `promised` */
	/* Returns 0 unless what an agent answers is in the way; then -1 with *err. */
	int (*check)(const struct naming *naming, const struct member *member, const void *response,
		     struct error *err);
	/* Makes it for a claim. Returns 0, or -1 with *err: ERR_ABORTED if the claim is lost. */
	int (*make)(const struct naming *naming, uint64_t claim, struct error *err);
	const void *arg; /* of these two */
};

/* Look the name up at all agents, without a claim. Returns 0, or -1 with *err. */
int claim_look(const struct naming *naming, struct error *err);
/* Claim the name and make what it names; again if the claim is lost. Returns 0, or -1 with *err. */
int claim_make(const struct naming *naming, struct error *err);
/* Returns -1, with *err: the agent does not say whether it has what is named. */
int claim_fail_silent(const struct naming *naming, const struct member *member,
		      const struct error *why, struct error *err);

#endif
