/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The allocator of nghttp2. Some functions of nghttp2 report a failed allocation, others cannot, so
 * a failure is recorded here and ends the connection. The amount of memory depends on the bytes
 * that the peer sends: out of memory, the process loses this connection and keeps running.
 *
 * Invariant: an allocation that failed sets conn->over before nghttp2 continues.
 */
#include <stdlib.h>

#include "transport/conn_inside.h"

static void *checked(void *memory, void *conn)
{
	if (!memory)
		conn_fail(conn, "out of memory");
	return memory;
}

static void *alloc(size_t size, void *conn)
{
	return checked(malloc(size), conn);
}

static void *alloc_zeroed(size_t n, size_t size, void *conn)
{
	return checked(calloc(n, size), conn);
}

static void *resize(void *memory, size_t size, void *conn)
{
	return checked(realloc(memory, size), conn);
}

static void release(void *memory, void *conn)
{
	(void)conn;
	free(memory);
}

nghttp2_mem conn_memory(struct conn *conn)
{
	return (nghttp2_mem){.mem_user_data = conn,
			     .malloc = alloc,
			     .free = release,
			     .calloc = alloc_zeroed,
			     .realloc = resize};
}
