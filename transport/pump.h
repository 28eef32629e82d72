/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_PUMP_H
#define ZCSI_PUMP_H

/*
 * Pumps between a descriptor and a stream of either side, for bulk data: bytes read from a pipe or
 * socket become messages { bytes data = 1; }, and such messages are written to a pipe or socket, at
 * the pace of the slower end. A pump runs in the loop without a thread and holds at most one
 * message and one window. The stream should have a connection of its own, with limits_bulk
 * (transport/limits.h).
 *
 * A pump owns the descriptor, makes it non-blocking and closes it when it is done. The process must
 * ignore SIGPIPE.
 */

#include "transport/stream.h"

/*
 * Called once, after pump_out or pump_in has returned. bytes is the number of bytes moved. The
 * outcome is ERR_OK at the end of the data; else the descriptor failed, or the stream was closed
 * and its closed() follows.
 */
typedef void pump_done_fn(struct rpc_stream *stream, uint64_t bytes, const struct error *outcome);

/* Send the bytes of fd until its end. The caller finishes the stream afterwards. */
void pump_out(struct rpc_stream *stream, int fd, pump_done_fn *done);
/*
 * Add the number of bytes that a pump_out moves to *count, as it moves them. Any thread may read
 * *count. Call right after pump_out.
 */
void pump_count(struct rpc_stream *stream, _Atomic uint64_t *count);
/*
 * Send not more than rate bytes a second (transport/bucket.h); 0: no limit. Call right after
 * pump_out.
 */
void pump_limit(struct rpc_stream *stream, uint64_t rate);
/*
 * Write all further messages to fd, until the other side sends no more. Call while a message is
 * being delivered or the stream is paused. After an error further messages go to the stream's
 * events again.
 */
void pump_in(struct rpc_stream *stream, int fd, pump_done_fn *done);

#endif
