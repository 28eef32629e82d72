/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_MEM_H
#define ZCSI_MEM_H

/*
 * Memory and scopes. The scope owns what it declares with auto_*, and hands it over with steal_*.
 * All memory of a call is in the call's arena and is freed with it. Running out of memory aborts:
 * the sizes that a peer may ask for are bounded before.
 */

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>

#define COUNT(array)                      (sizeof(array) / sizeof((array)[0]))
/* The struct whose member of that name this is. */
#define container_of(pointer, type, name) ((type *)((char *)(pointer)-offsetof(type, name)))
#define auto_free                         __attribute__((cleanup(mem_cleanup_free)))
#define auto_close                        __attribute__((cleanup(mem_cleanup_close)))
#define auto_fclose                       __attribute__((cleanup(mem_cleanup_fclose)))
/* auto_arena struct arena arena = {.cap = SIZE_MAX}; */
#define auto_arena                        __attribute__((cleanup(arena_fini)))
#define auto_unlock                       __attribute__((cleanup(mem_cleanup_unlock), unused))
/* Hold a mutex until the end of the scope. */
#define scoped_lock(mutex)                auto_unlock pthread_mutex_t *held_ = lock_take(mutex)

void mem_cleanup_free(void *pointer_to_pointer);
void mem_cleanup_close(const int *fd);
void mem_cleanup_fclose(FILE **file);
void mem_cleanup_unlock(pthread_mutex_t **mutex);

static inline pthread_mutex_t *lock_take(pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
	return mutex;
}

/* Take the value out of a scope's variable, leaving it nothing to clean up. */
#define steal_ptr(variable)                                                                        \
	({                                                                                         \
		__typeof__(variable) v_ = variable;                                                \
		(variable) = NULL;                                                                 \
		v_;                                                                                \
	})

static inline int steal_fd(int *fd)
{
	int taken = *fd;
	*fd = -1;
	return taken;
}

/* malloc, calloc and friends that abort instead of returning NULL. mem_alloc zeroes. */
void *mem_alloc(size_t size);
void *mem_resize(void *memory, size_t size);
char *mem_strdup(const char *text);

/*
 * An arena: memory that is freed all at once, and wiped before. Not for two threads at a time. The
 * cap bounds arena_try (work whose size a peer decides), not arena_alloc.
 */
struct arena {
	struct arena_block *blocks;
	struct arena_owned *owned;
	size_t used, cap; /* bytes handed out; at most */
};

void arena_init(struct arena *arena, size_t cap);
void arena_fini(struct arena *arena);
/* release(what) when the arena ends, the last one first. */
void arena_own(struct arena *arena, void (*release)(void *what), void *what);
/* Zeroed memory, aligned for anything; never NULL. */
void *arena_alloc(struct arena *arena, size_t size);
/* Or NULL when the cap would be passed. */
void *arena_try(struct arena *arena, size_t size);
char *arena_strdup(struct arena *arena, const char *text);
__attribute__((format(printf, 2, 3))) char *arena_printf(struct arena *arena, const char *fmt, ...);

#endif
