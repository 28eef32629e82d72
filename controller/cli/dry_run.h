/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_DRY_RUN_H
#define ZCSI_CLI_DRY_RUN_H

/*
 * Calls that change something. With --dry-run they are not sent: a sentence says what each would
 * do.
 */

#include "controller/cli/cli.h"

/* A call that changes something. */
struct change {
	const struct member *member; /* the agent that is called */
	const char *method;
	const ProtobufCMessage *request;
	const char *text; /* the effect: "resize volume 'acme' on node 'n1'" */
};

/*
 * Call the agent, or with --dry-run only record the text. Returns 1 with the response in
 * *ret_response, which points to a pointer to a message; 0 with --dry-run; or -1 with *err.
 */
int dry_run_or_ask(struct cli *cli, const struct change *change, void *ret_response,
		   struct error *err);
/* As above, for a call whose response has nothing to read: returns 0, or -1 with *err. */
int dry_run_or_send(struct cli *cli, const struct change *change, struct error *err);
/*
 * For a change that is no such call: returns false without --dry-run. Otherwise records the text
 * and returns true, and the caller changes nothing.
 */
bool dry_run_says(struct cli *cli, const char *text);
/* Print the recorded texts on stdout, a line "would TEXT" for each. */
void dry_run_print(const struct cli *cli);

#endif
