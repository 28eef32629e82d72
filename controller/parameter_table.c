/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The table of parameters, and the refusals that follow from it.
 *
 * A value is checked here and not left to zfs, so that a wrong one is refused before anything is
 * made, in the same words on every platform. Invariant: a key or value that got through holds no
 * newline, so lines of "key=value" can be told apart again.
 */
#include "controller/parameter_table.h"

#include <fnmatch.h>
#include <string.h>

#include "common/volume/format.h"
#include "common/mem.h"
#include "controller/edit_distance.h"

#define HELP_COLUMNS      79
#define USER_PROPERTY_MAX 255 /* bytes of a property's name in ZFS */

#define OURS(key, kind, words, fallback)                                                           \
	{                                                                                          \
		key, NULL, false, ON_ANY, {kind, words, 0, 0}, fallback                            \
	}
#define NATIVE(on, name, words)                                                                    \
	{                                                                                          \
		"zfs." name, name, true, on, {VALUE_WORD, words, 0, 0}, NULL                       \
	}
#define ONCE(on, name, words)                                                                      \
	{                                                                                          \
		"zfs." name, name, false, on, {VALUE_WORD, words, 0, 0}, NULL                      \
	}
#define SIZED(on, name, words, lo, hi)                                                             \
	{                                                                                          \
		"zfs." name, name, true, on, {VALUE_SIZE, words, lo, hi}, NULL                     \
	}
#define FAMILY(prefix)                                                                             \
	{                                                                                          \
		prefix, "", true, ON_ANY, {VALUE_TEXT, NULL, 0, 0}, NULL                           \
	}

/* In order of key. What is not mutable is decided when the dataset is made or first mounted. */
const struct parameter parameter_table[] = {
	OURS("attach", VALUE_WORD, "local|nfs", "local"),
	OURS("group", VALUE_ID, NULL, NULL),
	OURS("mode", VALUE_MODE, NULL, NULL),
	OURS("node", VALUE_TEXT, NULL, NULL),
	OURS("owner", VALUE_ID, NULL, NULL),
	OURS("pool", VALUE_TEXT, NULL, NULL),
	OURS("provisioning", VALUE_WORD, "thin|thick", "thin"),
	NATIVE(ON_FILESYSTEM, "acltype", "off|noacl|nfsv4|posix|posixacl"),
	NATIVE(ON_FILESYSTEM, "atime", "on|off"),
	/* Not "off": damaged data would stay unnoticed. */
	NATIVE(ON_ANY, "checksum", "on|fletcher2|fletcher4|sha256|sha512|skein|edonr|blake3"),
	NATIVE(ON_ANY, "compression",
	       "on|off|lz4|lzjb|zle|gzip|gzip-[1-9]|zstd|zstd-[1-9]|zstd-1[0-9]|"
	       "zstd-fast|zstd-fast-[1-9]"),
	NATIVE(ON_ANY, "copies", "1|2|3"),
	SIZED(ON_FILESYSTEM, "dnodesize", "legacy|auto", KIB, 16 * KIB),
	ONCE(ON_ANY, "encryption",
	     "on|aes-128-ccm|aes-192-ccm|aes-256-ccm|aes-128-gcm|aes-192-gcm|aes-256-gcm"),
	NATIVE(ON_ANY, "logbias", "latency|throughput"),
	NATIVE(ON_ANY, "primarycache", "all|metadata|none"),
	SIZED(ON_FILESYSTEM, "recordsize", NULL, 512, 16 * MIB),
	NATIVE(ON_FILESYSTEM, "relatime", "on|off"),
	NATIVE(ON_ANY, "secondarycache", "all|metadata|none"),
	NATIVE(ON_FILESYSTEM, "snapdir", "hidden|visible"),
	SIZED(ON_FILESYSTEM, "special_small_blocks", "0", 512, MIB),
	NATIVE(ON_ANY, "sync", "standard|always|disabled"),
	FAMILY("zfs.user."),
	/* As large as every version takes; a volume's size is a multiple of it. */
	{"zfs.volblocksize",
	 "volblocksize",
	 false,
	 ON_ZVOL,
	 {VALUE_SIZE, NULL, 512, FORMAT_GRAIN},
	 NULL},
	NATIVE(ON_FILESYSTEM, "xattr", "on|off|sa|dir"),
};
const size_t parameter_count = COUNT(parameter_table);

/* Properties that exist, and that zcsi or the host's operator decides. */
static const struct {
	const char *key; /* a glob */
	const char *why;
} reserved[] = {
	{"zfs.canmount", "zcsi mounts a volume where the orchestrator says"},
	{"zfs.casesensitivity", "workloads take names for what they are"},
	{"zfs.dedup", "its tables weigh on the whole pool, which is for its operator to decide"},
	{"zfs.key*", "the key is a secret, 'encryption_key', and says itself what it is"},
	{"zfs.mountpoint", "zcsi mounts a volume where the orchestrator says"},
	{"zfs.quota", "the size is capacity_range's; it leaves out snapshots, as refquota"},
	{"zfs.readonly", "publish the volume read-only instead"},
	{"zfs.refquota", "the size is capacity_range's"},
	{"zfs.refreservation", "give provisioning=thick"},
	{"zfs.reservation", "give provisioning=thick"},
	{"zfs.share*", "give attach=nfs: a volume is for the nodes it is published to"},
	{"zfs.volmode", "a node finds a volume's device by its name"},
	{"zfs.volsize", "the size is capacity_range's"},
	{"zfs.zoned", "zcsi could not mount the volume any more"},
	{"zfs.user.zcsi:*", "properties that begin with zcsi: are zcsi's own"},
};

static bool is_family(const struct parameter *row)
{
	return row->key[strlen(row->key) - 1] == '.';
}

const struct parameter *parameter_find(const char *key)
{
	for (size_t i = 0; i < parameter_count; i++) {
		const struct parameter *row = &parameter_table[i];
		if (is_family(row) ? strncmp(row->key, key, strlen(row->key)) == 0
				   : strcmp(row->key, key) == 0)
			return row;
	}
	return NULL;
}

const char *parameter_property(const struct parameter *row, const char *key)
{
	return row->property && !*row->property ? key + strlen(row->key) : row->property;
}

bool parameter_is_for(const struct parameter *row, const struct format *format)
{
	return row->on == ON_ANY || (row->on == ON_ZVOL) == format->zvol;
}

static void print_key(const struct parameter *row, FILE *out)
{
	fprintf(out, "%s%s", row->key, is_family(row) ? "<user property>" : "");
}

/* The known key that is closest to what was given, also when it was given without its "zfs.". */
static const char *meant(const char *key)
{
	const char *found = NULL;
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < parameter_count; i++) {
		const char *known = parameter_table[i].key;
		size_t distance = edit_distance(key, known);
		if (strncmp(known, "zfs.", 4) == 0) {
			size_t bare = edit_distance(key, known + 4);
			distance = bare < distance ? bare : distance;
		}
		if (distance < least && edit_close(known, distance)) {
			least = distance;
			found = known;
		}
	}
	return found;
}

static int fail_unknown(const char *key, struct error *err)
{
	const char *known = meant(key);
	auto_free char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fprintf(out, known ? "; did you mean '%s'?" : "%s", known ? known : "");
	fprintf(out, "%s there are: ", known ? "" : ";");
	for (size_t i = 0; i < parameter_count; i++) {
		fputs(i ? ", " : "", out);
		print_key(&parameter_table[i], out);
	}
	fclose(out);
	return fail(err, ERR_INVALID_ARGUMENT, "parameter '%.128s' is unknown%s", key, text);
}

static int fail_value(const struct parameter *row, const char *key, const char *value,
		      struct error *err)
{
	auto_free char *accepted = NULL;
	size_t size;
	FILE *out = open_memstream(&accepted, &size);

	parameter_value_describe(&row->takes, out);
	fclose(out);
	return fail(err, ERR_INVALID_ARGUMENT, "parameter %.128s cannot be '%.128s'; it takes: %s",
		    key, value, accepted);
}

/* A user property has a colon in its name, which tells it from ZFS' own (zfsprops(7)). */
static int check_user_property(const char *key, const char *property, struct error *err)
{
	static const char legal[] = "abcdefghijklmnopqrstuvwxyz0123456789:._-+";

	if (strchr(property, ':') && *property >= 'a' && *property <= 'z' &&
	    parameter_value_consists_of(legal, 2, USER_PROPERTY_MAX, property))
		return 0;
	return fail(err, ERR_INVALID_ARGUMENT,
		    "parameter '%.128s' names no user property: that begins with a lower-case "
		    "letter, has a ':' in it, and else such letters, digits and .-_+ "
		    "(com.sun:auto-snapshot)",
		    key);
}

int parameter_check(const char *key, const char *value, struct error *err)
{
	const struct parameter *row = parameter_find(key);

	for (size_t i = 0; i < COUNT(reserved); i++) {
		if (fnmatch(reserved[i].key, key, 0) == 0)
			return fail(err, ERR_INVALID_ARGUMENT, "parameter '%.128s' is refused: %s",
				    key, reserved[i].why);
	}
	if (!row)
		return fail_unknown(key, err);
	if (is_family(row) && check_user_property(key, parameter_property(row, key), err) < 0)
		return -1;
	return parameter_value_fits(&row->takes, value) ? 0 : fail_value(row, key, value, err);
}

/* Words from the column on, in lines of at most 79. */
static void print_wrapped(const char *text, size_t column, FILE *out)
{
	size_t at = column;

	while (*text) {
		size_t word = strcspn(text, " ");
		bool fits = at + 1 + word <= HELP_COLUMNS;
		if (!fits)
			fprintf(out, "\n%*s", (int)column, "");
		fprintf(out, " %.*s", (int)word, text);
		at = (fits ? at : column) + 1 + word;
		text += word + (text[word] == ' ');
	}
	fputc('\n', out);
}

void parameters_help(FILE *out)
{
	for (size_t i = 0; i < parameter_count; i++) {
		auto_free char *values = NULL, *key = NULL;
		size_t size;
		FILE *memory = open_memstream(&values, &size);

		parameter_value_describe(&parameter_table[i].takes, memory);
		fclose(memory);
		memory = open_memstream(&key, &size);
		print_key(&parameter_table[i], memory);
		fclose(memory);
		fprintf(out, "  %-24s", key);
		print_wrapped(values, 26, out);
	}
}
