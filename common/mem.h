/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_MEM_H
#define ZCSI_MEM_H

/*
 * Memory and scopes. A scope owns what it declares with auto_*, and passes it on with steal_*. The
 * memory of a call is in the call's arena and freed with it. Out of memory, the process aborts; the
 * size of requests from a peer is limited before they get here.
 */

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>

#define COUNT(array)                      (sizeof(array) / sizeof((array)[0]))
/* Returns the struct of a type from a pointer to its member of this name. */
#define container_of(pointer, type, name) ((type *)((char *)(pointer)-offsetof(type, name)))
#define auto_free                         __attribute__((cleanup(mem_cleanup_free)))
#define auto_close                        __attribute__((cleanup(mem_cleanup_close)))
#define auto_fclose                       __attribute__((cleanup(mem_cleanup_fclose)))
/* auto_arena struct arena arena = {.cap = SIZE_MAX}; */
#define auto_arena                        __attribute__((cleanup(arena_fini)))
#define auto_unlock                       __attribute__((cleanup(mem_cleanup_unlock), unused))
/* Hold a mutex until the end of the scope. */
#define scoped_lock(mutex)                auto_unlock pthread_mutex_t *held_ = lock_take(mutex)

/* Cleanups of auto_* variables. Each takes the address of the variable. */
void mem_cleanup_free(void *pointer_to_pointer);
void mem_cleanup_close(const int *fd);
void mem_cleanup_fclose(FILE **file);
void mem_cleanup_unlock(pthread_mutex_t **mutex);

/* Lock a mutex. Returns it, for an auto_unlock variable. */
static inline pthread_mutex_t *lock_take(pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
	return mutex;
}

/* Returns the value of a variable, which becomes NULL, so that its scope does not free it. */
#define steal_ptr(variable)                                                                        \
	({                                                                                         \
		__typeof__(variable) v_ = variable;                                                \
		(variable) = NULL;                                                                 \
		v_;                                                                                \
	})

/* Returns the descriptor in *fd, which becomes -1. */
static inline int steal_fd(int *fd)
{
	int taken = *fd;
	*fd = -1;
	return taken;
}

/* Like calloc, realloc and strdup, but abort instead of returning NULL. Freed by free(3). */
void *mem_alloc(size_t size);
void *mem_resize(void *memory, size_t size);
char *mem_strdup(const char *text);

/* An arena: memory that is wiped and freed all at once. One thread at a time. */
struct arena {
	struct arena_block *blocks;
	struct arena_owned *owned;
	size_t used, cap; /* bytes allocated; limit of used for arena_try (not for arena_alloc) */
};

void arena_init(struct arena *arena, size_t cap);
void arena_fini(struct arena *arena);
/* Have arena_fini call release(what); the last one registered is called first. */
void arena_own(struct arena *arena, void (*release)(void *what), void *what);
/* Returns zeroed memory, aligned for every type; never NULL. */
void *arena_alloc(struct arena *arena, size_t size);
/* Returns memory as arena_alloc does, or NULL if the cap would be exceeded. */
void *arena_try(struct arena *arena, size_t size);
char *arena_strdup(struct arena *arena, const char *text);
__attribute__((format(printf, 2, 3))) char *arena_printf(struct arena *arena, const char *fmt, ...);

#endif
