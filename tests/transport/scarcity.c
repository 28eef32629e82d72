/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Injection of allocation failures: OpenSSL and nghttp2 get an allocator that can fail, and the
 * functions of the C library are wrapped for all other code.
 */
#include "tests/transport/scarcity.h"

#include <nghttp2/nghttp2.h>
#include <openssl/crypto.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "transport/conn_inside.h"

static struct {
	atomic_int owner; /* the code whose allocations fail */
	atomic_long left; /* allocations until one fails; negative: one has failed */
	atomic_bool stays;
	atomic_uint n_failed;
} memory;

static bool fails(enum owner owner)
{
	if ((int)owner != memory.owner)
		return false;
	long left = atomic_fetch_sub(&memory.left, 1);
	bool now = left == 0 || (left < 0 && memory.stays);
	if (now)
		atomic_fetch_add(&memory.n_failed, 1);
	return now;
}

void scarcity_begin(enum owner owner, unsigned n, bool stays)
{
	memory.left = n;
	memory.stays = stays;
	memory.n_failed = 0;
	memory.owner = owner;
}

unsigned scarcity_end(void)
{
	memory.owner = NO_OWNER;
	return memory.n_failed;
}

/* True while nghttp2 is in one of the allocation functions that a connection passes to it. */
static _Thread_local bool of_nghttp2;
static nghttp2_mem given;

static void *for_nghttp2(size_t size, void *conn)
{
	of_nghttp2 = true;
	void *bytes = given.malloc(size, conn);
	of_nghttp2 = false;
	return bytes;
}

static void *zeroed_nghttp2(size_t n, size_t size, void *conn)
{
	of_nghttp2 = true;
	void *bytes = given.calloc(n, size, conn);
	of_nghttp2 = false;
	return bytes;
}

static void *resized_nghttp2(void *bytes, size_t size, void *conn)
{
	of_nghttp2 = true;
	void *resized = given.realloc(bytes, size, conn);
	of_nghttp2 = false;
	return resized;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
	return fails(of_nghttp2 ? LIBRARIES : PROJECT) ? NULL : __real_malloc(size);
}

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
	return fails(of_nghttp2 ? LIBRARIES : PROJECT) ? NULL : __real_calloc(n, size);
}

void *__real_realloc(void *bytes, size_t size);
void *__wrap_realloc(void *bytes, size_t size);
void *__wrap_realloc(void *bytes, size_t size)
{
	return fails(of_nghttp2 ? LIBRARIES : PROJECT) ? NULL : __real_realloc(bytes, size);
}

static nghttp2_mem failing(const nghttp2_mem *mem)
{
	return (nghttp2_mem){.mem_user_data = mem->mem_user_data,
			     .malloc = for_nghttp2,
			     .free = mem->free,
			     .calloc = zeroed_nghttp2,
			     .realloc = resized_nghttp2};
}

#define WRAP_SESSION_NEW(name)                                                                     \
	int __real_##name(nghttp2_session **ret, const nghttp2_session_callbacks *callbacks,       \
			  void *arg, const nghttp2_option *option, nghttp2_mem *mem);              \
	int __wrap_##name(nghttp2_session **ret, const nghttp2_session_callbacks *callbacks,       \
			  void *arg, const nghttp2_option *option, nghttp2_mem *mem);              \
	int __wrap_##name(nghttp2_session **ret, const nghttp2_session_callbacks *callbacks,       \
			  void *arg, const nghttp2_option *option, nghttp2_mem *mem)               \
	{                                                                                          \
		nghttp2_mem memory_of_it = failing(mem);                                           \
		return __real_##name(ret, callbacks, arg, option, &memory_of_it);                  \
	}

WRAP_SESSION_NEW(nghttp2_session_server_new3)
WRAP_SESSION_NEW(nghttp2_session_client_new3)

int __real_nghttp2_option_new(nghttp2_option **ret);
int __wrap_nghttp2_option_new(nghttp2_option **ret);
int __wrap_nghttp2_option_new(nghttp2_option **ret)
{
	*ret = NULL;
	return fails(LIBRARIES) ? NGHTTP2_ERR_NOMEM : __real_nghttp2_option_new(ret);
}

int __real_nghttp2_session_callbacks_new(nghttp2_session_callbacks **ret);
int __wrap_nghttp2_session_callbacks_new(nghttp2_session_callbacks **ret);
int __wrap_nghttp2_session_callbacks_new(nghttp2_session_callbacks **ret)
{
	*ret = NULL;
	return fails(LIBRARIES) ? NGHTTP2_ERR_NOMEM : __real_nghttp2_session_callbacks_new(ret);
}

static void *for_openssl(size_t size, const char *file, int line)
{
	(void)file;
	(void)line;
	return fails(LIBRARIES) ? NULL : malloc(size);
}

static void *resized_openssl(void *bytes, size_t size, const char *file, int line)
{
	(void)file;
	(void)line;
	return fails(LIBRARIES) ? NULL : realloc(bytes, size);
}

static void free_openssl(void *bytes, const char *file, int line)
{
	(void)file;
	(void)line;
	free(bytes);
}

int scarcity_prepare(void)
{
	given = conn_memory(NULL);
	return CRYPTO_set_mem_functions(for_openssl, resized_openssl, free_openssl) ? 0 : -1;
}
