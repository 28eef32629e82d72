/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The parsers of the output of zfs(8): `zfs get`, and its error texts. Every dataset and snapshot
 * is counted once; one that is recognised as zcsi's has the name that belongs to its id; and a
 * recognised volume or snapshot, printed as zfs does, is parsed to the same. A value of a property
 * neither adds nor removes other volumes.
 */
#include <inttypes.h>
#include <string.h>

#include "common/volume/escape.h"
#include "node/record/listing.h"
#include "node/zfs/zfs_run.h"
#include "tests/fuzz/fuzz.h"
#include "tests/zfs_get.h"

#define PARENT "t/p"

/* Returns the number of lines "name\tmarker\t-\t-", with which `zfs get` begins the output for each
 * name. */
static size_t count_names(const char *text)
{
	static const char end[] = "\t" MARKER "\t-\t-";
	size_t n = 0;

	for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
		size_t name = strcspn(text, "\t\n");
		size_t length = strcspn(text, "\n");
		n += length == name + strlen(end) && !strncmp(text + name, end, strlen(end));
	}
	return n;
}

static bool same_dataset(const struct dataset *a, const struct dataset *b)
{
	return !strcmp(a->id, b->id) && !strcmp(a->name, b->name) &&
	       !strcmp(a->parameters, b->parameters) && !strcmp(a->published, b->published) &&
	       !strcmp(a->source, b->source) && !strcmp(a->root, b->root) && a->guid == b->guid &&
	       a->size == b->size && a->reserved == b->reserved && a->used == b->used &&
	       a->creation == b->creation && a->deleted == b->deleted && a->keep == b->keep;
}

static bool same_snapshot(const struct snapshot *a, const struct snapshot *b)
{
	return !strcmp(a->id, b->id) && !strcmp(a->name, b->name) &&
	       !strcmp(a->dataset_id, b->dataset_id) && !strcmp(a->zfs_name, b->zfs_name) &&
	       !strcmp(a->group, b->group) && a->guid == b->guid && a->creation == b->creation &&
	       a->size == b->size;
}

/* Prints properties as `zfs get` does. */
struct printer {
	struct arena *arena;
	const char *name;
	char *text;
};

static void print(struct printer *printer, const char *property, const char *value,
		  const char *source)
{
	printer->text = arena_printf(printer->arena, "%s%s\t%s\t%s\t%s\n", printer->text,
				     printer->name, property, value, source);
}

static void print_number(struct printer *printer, const char *property, uint64_t value)
{
	print(printer, property, arena_printf(printer->arena, "%" PRIu64, value), "-");
}

static void print_ours(struct printer *printer, const char *property, const char *value)
{
	if (*value)
		print(printer, property, value, "local");
}

static void print_escaped(struct printer *printer, const char *property, const char *value)
{
	print_ours(printer, property, escape_text(printer->arena, value));
}

static struct listing read_back(struct printer *printer)
{
	const char *properties = zfs_row_properties(printer->arena, MARKER, true);
	struct listing listing;

	MUST(listing_parse(printer->arena, PARENT, properties,
			   zfs_get_complete(printer->arena, printer->text), &listing));
	return listing;
}

static void check_dataset(struct arena *arena, const struct dataset *dataset, bool trashed)
{
	struct printer printer = {arena, dataset->name, arena_strdup(arena, "")};

	MUST(dataset_is_trash(PARENT, dataset->name) == trashed);
	MUST(trashed || !strcmp(dataset_name(arena, PARENT, dataset->id), dataset->name));
	print(&printer, "type", "filesystem", "-");
	print_number(&printer, "guid", dataset->guid);
	print_number(&printer, "creation", (uint64_t)dataset->creation);
	print_number(&printer, "used", (uint64_t)dataset->used);
	print_number(&printer, "refquota", (uint64_t)dataset->size);
	print_number(&printer, "refreservation", (uint64_t)dataset->reserved);
	print_ours(&printer, "zcsi:version", DATASET_VERSION);
	print_escaped(&printer, "zcsi:volume", dataset->id);
	print_escaped(&printer, "zcsi:parameters", dataset->parameters);
	print_ours(&printer, "zcsi:published", dataset->published);
	print_escaped(&printer, "zcsi:source", dataset->source);
	print_ours(&printer, "zcsi:root", dataset->root);
	print_ours(&printer, "zcsi:deleted",
		   arena_printf(arena, "%" PRId64 "+%" PRId64, dataset->deleted, dataset->keep));
	struct listing again = read_back(&printer);
	MUST(again.n_datasets + again.n_trashed == 1);
	MUST(same_dataset(again.n_trashed ? again.trashed[0] : again.datasets[0], dataset));
}

static void check_snapshot(struct arena *arena, const struct snapshot *snapshot)
{
	struct printer printer = {arena, snapshot->zfs_name, arena_strdup(arena, "")};
	int owner = (int)strcspn(snapshot->zfs_name, "@");

	MUST(snapshot->zfs_name[owner] == '@' && *snapshot->dataset_id);
	MUST(!snapshot_leaf_is_hidden(snapshot_leaf(snapshot)));
	print_number(&printer, "guid", snapshot->guid);
	print_number(&printer, "creation", (uint64_t)snapshot->creation);
	print(&printer, "zcsi:volume", escape_text(arena, snapshot->dataset_id),
	      arena_printf(arena, "inherited from %.*s", owner, snapshot->zfs_name));
	print_ours(&printer, "zcsi:version", DATASET_VERSION);
	print_escaped(&printer, "zcsi:snapshot", snapshot->name);
	print_escaped(&printer, "zcsi:group", snapshot->group);
	print_ours(&printer, "zcsi:size", arena_printf(arena, "%" PRId64, snapshot->size));
	struct listing again = read_back(&printer);
	MUST(again.n_snapshots == 1);
	MUST(same_snapshot(again.snapshots[0], snapshot));
}

static void check_get(struct arena *arena, char *text)
{
	const char *properties = zfs_row_properties(arena, MARKER, true);
	size_t names = count_names(text);
	struct listing listing;

	if (!listing_parse(arena, PARENT, properties, text, &listing))
		return;
	MUST(listing.n_datasets + listing.n_trashed + listing.n_snapshots + listing.n_others ==
	     names);
	MUST(listing.n_origins + listing.n_damaged <= listing.n_others);
	for (size_t i = 0; i < listing.n_datasets; i++)
		check_dataset(arena, listing.datasets[i], false);
	for (size_t i = 0; i < listing.n_trashed; i++)
		check_dataset(arena, listing.trashed[i], true);
	for (size_t i = 0; i < listing.n_snapshots; i++)
		check_snapshot(arena, listing.snapshots[i]);
}

/* Returns what zfs prints for a volume. value: that of zcsi:source; NULL: unset. */
static char *print_volume(struct arena *arena, const char *id, const char *value)
{
	struct printer printer = {arena, dataset_name(arena, PARENT, id), arena_strdup(arena, "")};

	print(&printer, "type", "filesystem", "-");
	print_ours(&printer, "zcsi:version", DATASET_VERSION);
	print_escaped(&printer, "zcsi:volume", id);
	char *row = zfs_get_complete(arena, printer.text);
	const char *unset = arena_printf(arena, "%s\tzcsi:source\t-\t-\n", printer.name);
	const char *at = strstr(row, unset);
	MUST(at);
	return value ? arena_printf(arena, "%.*s%s\tzcsi:source\t%s\tlocal\n%s", (int)(at - row),
				    row, printer.name, value, at + strlen(unset))
		     : row;
}

/* Check that a listing of the volumes `a` and `b` has two volumes if the text is the value of
 * zcsi:source of `a`. */
static void check_value(struct arena *arena, const char *text)
{
	const char *properties = zfs_row_properties(arena, MARKER, true);
	char *output = arena_printf(arena, "%s%s", print_volume(arena, "a", text),
				    print_volume(arena, "b", NULL));
	struct listing listing;

	if (!listing_parse(arena, PARENT, properties, output, &listing)) {
		MUST(strstr(text, MARKER));
		return;
	}
	MUST(listing.n_datasets + listing.n_damaged == 2 && listing.n_damaged <= 1);
	MUST(listing.n_trashed + listing.n_snapshots + listing.n_others == listing.n_damaged);
	MUST(!strcmp(listing.datasets[listing.n_datasets - 1]->id, "b"));
}

static void check_error_text(const char *text)
{
	struct error err = {0};

	MUST(zfs_fail(text, &err) == -1);
	fuzz_check_error(&err);
	MUST(!strchr(err.text, '\n'));
}

void fuzz_one(const uint8_t *bytes, size_t n)
{
	struct arena arena;

	arena_init(&arena, SIZE_MAX);
	char *text = arena_alloc(&arena, n + 1);
	memcpy(text, bytes, n);
	check_error_text(text);
	check_value(&arena, text);
	check_get(&arena, text);
	arena_fini(&arena);
}
