/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_CLAIM_H
#define ZCSI_CLI_CLAIM_H

/*
 * Claiming the name of the volume or snapshot that a command makes, as a controller claims it
 * (controller/README.md). All agents must answer, and every host of which one of them has a record
 * must be among them.
 */

#include <stddef.h>
#include <stdint.h>

#include "controller/cli/cli.h"

struct naming {
	struct cli *cli;
	const char *kind, *name;    /* "volume" and its name, for error texts */
	const struct member *place; /* the agent that makes the volume or snapshot */
	const char *method;         /* the RPC that looks the name up: "GetDataset" */
	const ProtobufCMessage *request;
	uint64_t *claim, *target; /* members of the request, to be set */
	size_t promised;          /* offset of the member `promised` in the response */
	/* Returns 0, or -1 with *err if the answer of an agent shows that the name is not free. */
	int (*check)(const struct naming *naming, const struct member *member, const void *response,
		     struct error *err);
	/*
	 * Makes the volume or snapshot with the claim. Returns 0, or -1 with *err: ERR_ABORTED if
	 * the claim is lost.
	 */
	int (*make)(const struct naming *naming, uint64_t claim, struct error *err);
	const void *arg; /* the argument of check and make */
};

/* Look the name up at all agents, without a claim. Returns 0, or -1 with *err. */
int claim_look(const struct naming *naming, struct error *err);
/*
 * Claim the name and make the volume or snapshot; if the claim is lost, begin again. With --dry-run
 * only look the name up, and call `make` without a claim. Returns 0, or -1 with *err.
 */
int claim_make(const struct naming *naming, struct error *err);
/* Fail because an agent did not report whether it has the name. Returns -1 with *err. */
int claim_fail_silent(const struct naming *naming, const struct member *member,
		      const struct error *why, struct error *err);

#endif
