/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The table of parameters, and the check of a key and value against it.
 *
 * A value is checked here and not left to zfs, so that a wrong one is refused before anything is
 * created, with the same error text on every platform. Invariant: a key or value that passes has no
 * newline, so a text of lines "key=value" can be parsed again.
 */
#include "controller/request/parameter_table.h"

#include <fnmatch.h>
#include <string.h>

#include "common/volume/format.h"
#include "common/mem.h"
#include "common/edit_distance.h"

#define HELP_COLUMNS      79
#define USER_PROPERTY_MAX 255 /* bytes of a property's name in ZFS */

#define OURS(key, kind, words, fallback)                                                           \
	{                                                                                          \
		key, NULL, false, ON_ANY, {kind, words, 0, 0}, fallback, NULL                      \
	}
#define COPIES(key, kind, words)                                                                   \
	{                                                                                          \
		key, NULL, true, ON_ANY, {kind, words, 0, 0}, NULL, NULL                           \
	}
#define BACKUP(key, kind)                                                                          \
	{                                                                                          \
		key, NULL, false, ON_ANY, {kind, NULL, 0, 0}, NULL,                                \
			"run 'zcsi backup add VOLUME NODE'"                                        \
	}
#define NATIVE(on, name, words)                                                                    \
	{                                                                                          \
		"zfs." name, name, true, on, {VALUE_WORD, words, 0, 0}, NULL, NULL                 \
	}
#define ONCE(on, name, words)                                                                      \
	{                                                                                          \
		"zfs." name, name, false, on, {VALUE_WORD, words, 0, 0}, NULL, NULL                \
	}
#define SIZED(on, name, words, lo, hi)                                                             \
	{                                                                                          \
		"zfs." name, name, true, on, {VALUE_SIZE, words, lo, hi}, NULL, NULL               \
	}
#define FAMILY(prefix)                                                                             \
	{                                                                                          \
		prefix, "", true, ON_ANY, {VALUE_TEXT, NULL, 0, 0}, NULL, NULL                     \
	}

/*
 * The parameters, sorted by key. Those that are not mutable take effect only when the dataset is
 * created or first mounted.
 */
const struct parameter parameter_table[] = {
	OURS("attach", VALUE_WORD, "local|nfs", "local"),
	BACKUP("backup", VALUE_TEXT),
	BACKUP("backup_every", VALUE_TIME),
	BACKUP("backup_keep", VALUE_SCHEDULE),
	COPIES("bandwidth", VALUE_RATE, NULL),
	COPIES("follow", VALUE_WORD, "members|anywhere|no"),
	OURS("group", VALUE_ID, NULL, NULL),
	{"keep", "zcsi:keep", true, ON_ANY, {VALUE_SCHEDULE, NULL, 0, 0}, NULL, NULL},
	{"members",
	 NULL,
	 false,
	 ON_ANY,
	 {VALUE_TEXT, NULL, 0, 0},
	 NULL,
	 "run 'zcsi copy add VOLUME NODE' and 'zcsi copy drop VOLUME NODE'"},
	OURS("mode", VALUE_MODE, NULL, NULL),
	OURS("node", VALUE_TEXT, NULL, NULL),
	OURS("owner", VALUE_ID, NULL, NULL),
	COPIES("pin_limit", VALUE_TIME, NULL),
	OURS("pool", VALUE_TEXT, NULL, NULL),
	OURS("provisioning", VALUE_WORD, "thin|thick", "thin"),
	COPIES("repair_after", VALUE_TIME, "never"),
	COPIES("replicas", VALUE_WORD, "[1-8]"),
	COPIES("snapshots", VALUE_WORD, "ours|all"),
	COPIES("sync_every", VALUE_TIME, NULL),
	NATIVE(ON_FILESYSTEM, "acltype", "off|noacl|nfsv4|posix|posixacl"),
	NATIVE(ON_FILESYSTEM, "atime", "on|off"),
	/* The value "off" is not accepted, because damaged data would not be detected. */
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
	/* All versions of ZFS accept FORMAT_GRAIN, and each zvol's size is a multiple of it. */
	{"zfs.volblocksize",
	 "volblocksize",
	 false,
	 ON_ZVOL,
	 {VALUE_SIZE, NULL, 512, FORMAT_GRAIN},
	 NULL,
	 NULL},
	NATIVE(ON_FILESYSTEM, "xattr", "on|off|sa|dir"),
};
const size_t parameter_count = COUNT(parameter_table);

/* ZFS properties that volumes may not set, because zcsi or the host's operator sets them. */
static const struct {
	const char *key; /* a glob */
	const char *why;
} reserved[] = {
	{"zfs.canmount", "zcsi mounts a volume where the orchestrator requests it"},
	{"zfs.casesensitivity", "workloads expect file names to be case-sensitive"},
	{"zfs.dedup", "its tables cost the whole pool memory, so the pool's operator sets it"},
	{"zfs.key*", "give the key as the secret 'encryption_key'; zcsi detects its format"},
	{"zfs.mountpoint", "zcsi mounts a volume where the orchestrator requests it"},
	{"zfs.quota", "the capacity sets the size, as refquota, which does not count snapshots"},
	{"zfs.readonly", "request the volume read-only in the job or pod that uses it instead"},
	{"zfs.refquota", "the capacity sets the size"},
	{"zfs.refreservation", "give provisioning=thick"},
	{"zfs.reservation", "give provisioning=thick"},
	{"zfs.share*", "give attach=nfs; zcsi exports a volume only to the nodes that use it"},
	{"zfs.volmode", "zcsi finds a volume's device by its name"},
	{"zfs.volsize", "the capacity sets the size"},
	{"zfs.zoned", "zcsi could not mount the volume any more"},
	{"zfs.user.zcsi:*", "properties that begin with zcsi: are reserved for zcsi"},
	{"zfs.user.kubernetes:*",
	 "zcsi sets the property kubernetes:claim; give yours another prefix"},
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

/*
 * Returns the known key that is most similar to the given one, which may lack its "zfs."; NULL if
 * none is similar.
 */
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

/* Check a user property: its name has a colon, unlike those of native ones (zfsprops(7)). */
static int check_user_property(const char *key, const char *property, struct error *err)
{
	static const char legal[] = "abcdefghijklmnopqrstuvwxyz0123456789:._-+";

	if (strchr(property, ':') && *property >= 'a' && *property <= 'z' &&
	    parameter_value_consists_of(legal, 2, USER_PROPERTY_MAX, property))
		return 0;
	return fail(err, ERR_INVALID_ARGUMENT,
		    "parameter '%.128s' names no user property: its name begins with a lower-case "
		    "letter, contains a ':', and otherwise only lower-case letters, digits and "
		    ".-_+ (com.sun:auto-snapshot)",
		    key);
}

int parameter_check(const char *key, const char *value, struct error *err)
{
	const struct parameter *row = parameter_find(key);

	for (size_t i = 0; i < COUNT(reserved); i++)
		if (fnmatch(reserved[i].key, key, 0) == 0)
			return fail(err, ERR_INVALID_ARGUMENT, "parameter '%.128s' is refused: %s",
				    key, reserved[i].why);
	if (!row)
		return fail_unknown(key, err);
	if (is_family(row) && check_user_property(key, parameter_property(row, key), err) < 0)
		return -1;
	return parameter_value_fits(&row->takes, value) ? 0 : fail_value(row, key, value, err);
}

/* Print the words from the given column on, in lines of at most HELP_COLUMNS. */
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
