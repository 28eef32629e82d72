/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_FUZZ_ASKING_H
#define ZCSI_FUZZ_ASKING_H

/* A streaming call of the client, one at a time. It checks what transport/stream.h promises. */

#include "transport/client_stream.h"

void asking_begin(struct client *client, int64_t deadline);
/* Pause, resume, send, finish or cancel the stream, as chosen by the number. Does nothing if it is
 * closed. */
void asking_act(unsigned number);
bool asking_is_over(void);

#endif
