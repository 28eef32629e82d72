/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Allocation that aborts instead of failing, cleanups of scopes, and the arena.
 *
 * An arena is a list of blocks. Each block is at least twice as large as the previous one, up to
 * BLOCK_MAX; memory is allocated from the newest block.
 *
 * Invariant: arena_try never lets used exceed cap.
 */
#include "common/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Largest size in the per-thread cache of glibc's malloc(3). calloc(3) does not use this cache. */
#define AT_HAND   ((size_t)1032)
#define BLOCK_MIN (AT_HAND - sizeof(struct arena_block))
#define BLOCK_MAX ((size_t)256 * 1024)
#define ALIGN     _Alignof(max_align_t)

struct arena_block {
	struct arena_block *next;
	size_t size;
	size_t used;
	_Alignas(max_align_t) char bytes[];
};

static void *checked(void *memory)
{
	if (!memory) {
		fputs("out of memory\n", stderr);
		abort();
	}
	return memory;
}

void *mem_alloc(size_t size)
{
	if (size <= AT_HAND)
		return memset(mem_resize(NULL, size), 0, size);
	return checked(calloc(1, size));
}

void *mem_resize(void *memory, size_t size)
{
	return checked(realloc(memory, size ? size : 1));
}

char *mem_strdup(const char *text)
{
	return checked(strdup(text));
}

void mem_cleanup_free(void *pointer_to_pointer)
{
	void *memory;

	memcpy(&memory, pointer_to_pointer, sizeof(memory));
	free(memory);
}

void mem_cleanup_close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

void mem_cleanup_fclose(FILE **file)
{
	if (*file)
		fclose(*file);
}

void mem_cleanup_unlock(pthread_mutex_t **mutex)
{
	pthread_mutex_unlock(*mutex);
}

struct arena_owned {
	struct arena_owned *next;
	void (*release)(void *what);
	void *what;
};

void arena_own(struct arena *arena, void (*release)(void *what), void *what)
{
	struct arena_owned *owned = arena_alloc(arena, sizeof(*owned));

	*owned = (struct arena_owned){arena->owned, release, what};
	arena->owned = owned;
}

void arena_init(struct arena *arena, size_t cap)
{
	*arena = (struct arena){.cap = cap};
}

void arena_fini(struct arena *arena)
{
	for (; arena->owned; arena->owned = arena->owned->next)
		arena->owned->release(arena->owned->what);
	while (arena->blocks) {
		struct arena_block *block = arena->blocks;
		arena->blocks = block->next;
		explicit_bzero(block->bytes, block->used);
		free(block);
	}
	arena->used = 0;
}

static struct arena_block *grow(struct arena *arena, size_t need)
{
	size_t size = arena->blocks ? arena->blocks->size * 2 : BLOCK_MIN;

	if (size > BLOCK_MAX)
		size = BLOCK_MAX;
	if (size < need)
		size = need;
	struct arena_block *block = mem_resize(NULL, sizeof(*block) + size);
	*block = (struct arena_block){.next = arena->blocks, .size = size};
	arena->blocks = block;
	return block;
}

static size_t aligned(size_t size)
{
	/* Sizes above half of the range are refused, so that no later sum overflows. */
	if (size > SIZE_MAX / 2)
		checked(NULL);
	return (size + ALIGN - 1) & ~(ALIGN - 1);
}

void *arena_alloc(struct arena *arena, size_t size)
{
	size_t need = aligned(size);
	struct arena_block *block = arena->blocks;

	if (!block || block->size - block->used < need)
		block = grow(arena, need);
	void *memory = block->bytes + block->used;
	block->used += need;
	arena->used += need;
	return memset(memory, 0, need);
}

void *arena_try(struct arena *arena, size_t size)
{
	if (arena->used > arena->cap || size > arena->cap - arena->used ||
	    aligned(size) > arena->cap - arena->used)
		return NULL;
	return arena_alloc(arena, size);
}

char *arena_strdup(struct arena *arena, const char *text)
{
	size_t size = strlen(text) + 1;

	return memcpy(arena_alloc(arena, size), text, size);
}

char *arena_printf(struct arena *arena, const char *fmt, ...)
{
	auto_free char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		checked(NULL);
	va_end(ap);
	return arena_strdup(arena, text);
}
