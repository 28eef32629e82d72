/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TEST_FRAMES_H
#define ZCSI_TEST_FRAMES_H

/* HTTP/2 frames as string literals: length in 24 bits, type, flags, stream id in 32 bits, payload.
 * A number is given as the bytes of a string, such as "\1". */

#define FRAME(n, type, flags, id) "\0\0" n type flags "\0\0\0" id
#define SETTINGS                  FRAME("\0", "\4", "\0", "\0")
#define MAX_STREAMS(n)            FRAME("\6", "\4", "\0", "\0") "\0\3\0\0\0" n
#define HEAD_ON(id, n, flags)     FRAME(n, "\1", flags, id)
#define DATA_ON(id, n, flags)     FRAME(n, "\0", flags, id)
#define RESET_ON(id, code)        FRAME("\4", "\3", "\0", id) "\0\0\0" code
#define HEAD(n, flags)            HEAD_ON("\1", n, flags)
#define DATA(n, flags)            DATA_ON("\1", n, flags)
#define RESET(code)               RESET_ON("\1", code)
#define GOAWAY(last, code)        FRAME("\x8", "\7", "\0", "\0") "\0\0\0" last "\0\0\0" code
#define OPEN                      "\4" /* the flag END_HEADERS */
#define END                       "\5" /* the flags END_HEADERS and END_STREAM */
#define STATUS_200                "\x88"
#define STATUS(code)              "\x08\3" code
#define FIELD(n, name, m, value)  "\0" n name m value
#define GRPC_STATUS(m, value)     FIELD("\x0b", "grpc-status", m, value)
#define EMPTY                     "\0\0\0\0\0" /* a message without fields */
#define ANSWER_ON(id)                                                                              \
	HEAD_ON(id, "\1", OPEN)                                                                    \
	STATUS_200 DATA_ON(id, "\5", "\0") EMPTY HEAD_ON(id, "\xf", END) GRPC_STATUS("\1", "0")
#define ANSWER ANSWER_ON("\1")

#endif
