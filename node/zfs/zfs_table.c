/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The reader of user properties for everything but the catalog, which has its own list of them
 * (zfs_read.c).
 *
 * Invariant: a row that is not damaged has the values that zfs has of its name, and no row has a
 * name that does not exist. A caller takes a damaged row for none, or fails with its name.
 */
#include "node/zfs/zfs_table.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/log.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"

#define WARNINGS_MAX 1024
/* Bytes of a list of properties, which is one argument of zfs: Linux permits 128 KiB. */
#define NAMES_MAX    ((size_t)64 << 10)

/* Returns `last` if the text is the same, else a copy of the text in the arena. */
static char *share(struct arena *arena, const char *last, const char *text)
{
	return last && strcmp(last, text) == 0 ? (char *)last : arena_strdup(arena, text);
}

static bool is_set(const struct zfs_value *value)
{
	return strcmp(value->text, "-") != 0 || strcmp(value->source, "-") != 0;
}

/*
 * Returns a copy of a row in the arena, without the properties that it does not have. last: the
 * values of earlier rows, because many snapshots have the same.
 */
static struct zfs_fields keep(struct arena *arena, const struct zfs_fields *row,
			      struct zfs_value *last)
{
	struct zfs_fields kept = {.name = arena_strdup(arena, row->name), .damaged = row->damaged};
	size_t n = row->n ? 1 : 0;

	for (size_t i = 1; i < row->n; i++)
		n += is_set(&row->values[i]);
	kept.values = arena_alloc(arena, n * sizeof(*kept.values));
	kept.n = n ? 1 : 0;
	for (size_t i = 1; i < row->n; i++) {
		const struct zfs_value *value = &row->values[i];
		if (!is_set(value))
			continue;
		last[i] = (struct zfs_value){share(arena, last[i].property, value->property),
					     share(arena, last[i].text, value->text),
					     share(arena, last[i].source, value->source)};
		kept.values[kept.n++] = last[i];
	}
	return kept;
}

bool zfs_table_parse(struct arena *arena, const char *properties, char *text, struct zfs_table *ret)
{
	auto_arena struct arena scratch = {.cap = SIZE_MAX};
	struct zfs_fields row;
	struct zfs_rows rows;

	zfs_rows_begin(&scratch, properties, text, &rows);
	row.values = arena_alloc(&scratch, rows.n * sizeof(*row.values));
	struct zfs_value *last = arena_alloc(&scratch, rows.n * sizeof(*last));
	*ret = (struct zfs_table){.rows = arena_alloc(arena, (rows.most + 1) * sizeof(*ret->rows))};
	while (zfs_rows_next(&rows, &row))
		ret->rows[ret->n++] = keep(arena, &row, last);
	return zfs_rows_accepted(&rows);
}

/* Returns the words of `zfs get` with these parts, each of which ends with NULL, or is NULL. */
static const char **argv_of(struct arena *arena, const char *const *words,
			    const char *const *format, const char *const *names)
{
	static const char *const begin[] = {"zfs", "get", "-Hp", NULL};
	const char *const *const parts[] = {begin, words, format, names};
	size_t most = 1, n = 0;

	for (size_t i = 0; i < COUNT(parts); i++)
		for (const char *const *word = parts[i]; word && *word; word++)
			most++;
	const char **argv = arena_alloc(arena, most * sizeof(*argv));
	for (size_t i = 0; i < COUNT(parts); i++)
		for (const char *const *word = parts[i]; word && *word; word++)
			argv[n++] = *word;
	return argv;
}

static int64_t timeout_of(const char *const *words)
{
	return words ? zfs_run_list_timeout() : 0;
}

int zfs_table_read(struct arena *arena, const struct zfs_query *query, struct zfs_table *ret,
		   struct error *err)
{
	const char *properties = arena_printf(arena, "%s,%s%stype", zfs_read_marker(arena),
					      query->properties, *query->properties ? "," : "");
	const char *const format[] = {"-o", "name,property,value,source", properties, NULL};
	/* A program that prints anything else than the name first is stopped at once. */
	const struct exec exec = {.argv = argv_of(arena, query->words, format, query->names),
				  .timeout_ms = timeout_of(query->words),
				  .max_output = ZFS_POOL_OUTPUT_MAX,
				  .begins = query->names[1] ? NULL : query->names[0]};
	auto_free char *out = NULL;

	*ret = (struct zfs_table){.n = 0};
	int failed = zfs_run_once(&exec, &out, err);
	if (failed && (err->code != ERR_NOT_FOUND || !out))
		return -1;
	if (!zfs_table_parse(arena, properties, out, ret))
		return zfs_fail_rejected(err);
	return failed;
}

bool zfs_table_is_of(const struct zfs_fields *row, const char *dataset)
{
	size_t length = strlen(dataset);

	return strncmp(row->name, dataset, length) == 0 && strchr("@", row->name[length]);
}

size_t zfs_table_end(const struct zfs_table *table, size_t first)
{
	size_t end = first + 1;

	while (end < table->n && zfs_table_is_of(&table->rows[end], table->rows[first].name))
		end++;
	return end;
}

/* A list of properties that grows, and the names in it in their order, to find them again. */
struct names {
	char text[NAMES_MAX];
	const char *sorted[NAMES_MAX / 2]; /* no name is empty, and each has a comma before it */
	size_t n, used;
};

/* Returns the index of the first name that is not before this one. */
static size_t index_of(const struct names *names, const char *name)
{
	size_t from = 0, to = names->n;

	while (from < to) {
		size_t middle = (from + to) / 2;
		if (strcmp(names->sorted[middle], name) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* Add a name, unless it is there. Returns false if the list would be too long. */
static bool add_name(struct names *names, const char *name)
{
	size_t i = index_of(names, name), length = strlen(name);

	if (i < names->n && strcmp(names->sorted[i], name) == 0)
		return true;
	if (names->used + 1 + length >= NAMES_MAX)
		return false;
	memmove(&names->sorted[i + 1], &names->sorted[i], (names->n++ - i) * sizeof(name));
	names->sorted[i] = name;
	if (names->used)
		names->text[names->used++] = ',';
	memcpy(names->text + names->used, name, length);
	names->used += length;
	return true;
}

/* The name of a property has no line break, so all lines are names. */
int zfs_table_names(struct arena *arena, const char *const *words, const char *name, char **ret,
		    struct error *err)
{
	static const char *const format[] = {"-s", "local,received", "-o", "property", "all", NULL};
	const char *const names[] = {name, NULL};
	const struct exec exec = {.argv = argv_of(arena, words, format, names),
				  .timeout_ms = timeout_of(words),
				  .max_output = ZFS_LIST_OUTPUT_MAX};
	auto_free struct names *list = mem_alloc(sizeof(*list));
	auto_free char *out = NULL;
	char *state;

	if (zfs_run_once(&exec, &out, err) < 0)
		return -1;
	for (char *line = strtok_r(out, "\n", &state); line; line = strtok_r(NULL, "\n", &state))
		if (!add_name(list, line))
			return fail(err, ERR_FAILED_PRECONDITION,
				    "'%s'%s more than %zu KiB of names of properties, and zfs "
				    "reads no more at once; find user properties that nothing "
				    "needs with 'zfs get -s local,received all', and remove them "
				    "with 'zfs inherit'",
				    name, words ? " and its snapshots have" : " has",
				    NAMES_MAX >> 10);
	*ret = arena_strdup(arena, list->text);
	return 0;
}

int zfs_table_check(const struct zfs_table *table, struct error *err)
{
	for (size_t i = 0; i < table->n; i++)
		if (table->rows[i].damaged)
			return zfs_fail_damaged(table->rows[i].name, err);
	return 0;
}

/* Hashes of the warnings that were logged, and are not to be logged again. */
static struct {
	pthread_mutex_t lock;
	uint64_t hashes[WARNINGS_MAX];
	size_t n;
} warnings = {.lock = PTHREAD_MUTEX_INITIALIZER};

/*
 * Note whether the cause of a warning is there. Returns true if it is and was not noted yet. If
 * there are too many, they are all forgotten, so that a new one is never lost.
 */
static bool note(uint64_t hash, bool damaged)
{
	scoped_lock(&warnings.lock);
	size_t i = 0;

	while (i < warnings.n && warnings.hashes[i] != hash)
		i++;
	bool noted = i < warnings.n;
	if (damaged == noted)
		return false;
	if (!damaged) {
		warnings.hashes[i] = warnings.hashes[--warnings.n];
		return false;
	}
	warnings.n = warnings.n < WARNINGS_MAX ? warnings.n : 0;
	warnings.hashes[warnings.n++] = hash;
	return true;
}

void zfs_table_warn(const struct zfs_table *table, const char *message)
{
	struct error damage;

	for (size_t i = 0, end; i < table->n; i = end) {
		const char *dataset = table->rows[i].name;
		end = zfs_table_end(table, i);
		const struct zfs_table rows = {table->rows + i, end - i};
		bool damaged = zfs_table_check(&rows, &damage) < 0;
		if (note(hash_text(hash_text(HASH_START, message), dataset), damaged))
			log_warn(message, log_str("dataset", dataset),
				 log_str("error", damage.text));
	}
}

int zfs_table_one(struct arena *arena, const char *name, const char *properties,
		  struct zfs_fields *ret, struct error *err)
{
	const struct zfs_query query = {.properties = properties,
					.names = (const char *const[]){name, NULL}};
	struct zfs_table table;

	*ret = (struct zfs_fields){.name = name};
	if (zfs_table_read(arena, &query, &table, err) < 0)
		return -1;
	if (zfs_table_check(&table, err) < 0) {
		ret->damaged = true;
		return -1;
	}
	if (table.n != 1 || strcmp(table.rows[0].name, name) != 0)
		return fail(err, ERR_UNAVAILABLE, "zfs printed no properties of '%s'", name);
	*ret = table.rows[0];
	return 0;
}
