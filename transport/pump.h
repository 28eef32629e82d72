/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_PUMP_H
#define ZCSI_PUMP_H

/*
 * Pumps between a descriptor and a stream of either side, for much data: what a pipe or socket
 * gives becomes messages { bytes data = 1; }, and such messages go into one, at the pace of the
 * slower end. In the loop, without a thread, and without holding more than a message and a window.
 * The connection had best have limits_bulk (transport/limits.h) and be the stream's own.
 *
 * A pump takes the descriptor, which it makes non-blocking and closes when it is done. SIGPIPE must
 * be ignored.
 */

#include "transport/stream.h"

/*
 * Once, never before the pump's function has returned: how many bytes went, and whether that was
 * all of it (ERR_OK). Otherwise the descriptor failed, or the stream was closed: closed() follows.
 */
typedef void pump_done_fn(struct rpc_stream *stream, uint64_t bytes, const struct error *outcome);

/* Until the end of the file. The stream goes on: to finish it is the caller's. */
void pump_out(struct rpc_stream *stream, int fd, pump_done_fn *done);
/*
 * Write all messages from here on into fd, until the other side sends no more. Begin while a
 * message is being delivered, or while the stream is paused. After an error the messages are the
 * caller's again.
 */
void pump_in(struct rpc_stream *stream, int fd, pump_done_fn *done);

#endif
