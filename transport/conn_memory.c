/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The memory of nghttp2. Some of its functions report that there is none, others have no way to. It
 * is recorded here for all of them, and the connection ends. The amount follows from what a peer
 * sends, so a peer too many costs that peer its connection and not the process its life.
 */
#include <stdlib.h>

#include "transport/conn_inside.h"

static void *given(void *memory, void *conn)
{
	if (!memory)
		conn_fail(conn, "out of memory");
	return memory;
}

static void *alloc(size_t size, void *conn)
{
	return given(malloc(size), conn);
}

static void *alloc_zeroed(size_t n, size_t size, void *conn)
{
	return given(calloc(n, size), conn);
}

static void *resize(void *memory, size_t size, void *conn)
{
	return given(realloc(memory, size), conn);
}

static void give_back(void *memory, void *conn)
{
	(void)conn;
	free(memory);
}

nghttp2_mem conn_memory(struct conn *conn)
{
	return (nghttp2_mem){.mem_user_data = conn,
			     .malloc = alloc,
			     .free = give_back,
			     .calloc = alloc_zeroed,
			     .realloc = resize};
}
