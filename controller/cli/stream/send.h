/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_STREAM_SEND_H
#define ZCSI_CLI_STREAM_SEND_H

#include "controller/cli/cli.h"

/* A stream that an agent sends. */
struct download {
	const char *method; /* a method of zcsi.v1.Copy; its messages are SendResponse */
	const ProtobufCMessage *request;
	uint64_t total; /* the length by an estimate; 0: not known */
	bool text;      /* lines for a person: no progress is shown */
};

/* Copy a stream to stdout until its end. Returns 0 if it was whole, or -1 with *err. */
int send_to_stdout(struct cli *cli, const struct member *from, const struct download *download,
		   struct error *err);

#endif
