/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_FUZZ_ASKING_H
#define ZCSI_FUZZ_ASKING_H

/* A client's stream, one at a time, which holds the transport to what transport/stream.h says. */

#include "transport/client_stream.h"

void asking_begin(struct client *client, int64_t deadline);
/* Hold it, resume it, send, finish, give up: whichever the number means, when it is to be had. */
void asking_act(unsigned number);
bool asking_is_over(void);

#endif
