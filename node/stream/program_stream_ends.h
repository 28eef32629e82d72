/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_STREAM_PROGRAM_STREAM_ENDS_H
#define ZCSI_NODE_STREAM_PROGRAM_STREAM_ENDS_H

/* The functions of a kind of program stream (program_stream.h), for either direction. */

#include "node/stream/program_stream.h"

/*
 * For kind->start, kind->pump and the begin of kind->end, if the program reads: start the program
 * with a pipe as stdin, pass the messages on to the pipe, and close the pipe and wait for the end
 * of the program. program_stream_reap_reader returns the status of child_reap.
 */
int program_stream_start_reader(struct program_stream *ps, const char *const *argv,
				struct error *err);
void program_stream_feed(struct program_stream *ps);
int program_stream_reap_reader(struct program_stream *ps);

/*
 * For kind->start, kind->pump and kind->end, if the program is a `zfs send`: start it, pass its
 * output on as the messages, and wait for its end. If the call ended before `zfs send`, `zfs send`
 * is killed.
 */
int program_stream_start_sender(struct program_stream *ps, const char *const *argv,
				struct error *err);
void program_stream_drain(struct program_stream *ps);
int program_stream_end_sender(struct program_stream *ps, struct error *err);

#endif
