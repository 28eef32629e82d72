/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Keys of encrypted volumes.
 *
 * Invariant: a key goes from the request to the stdin of zfs and nowhere else. The encryption root
 * is read from ZFS each time, because the volume that owns a shared key is renamed when it is
 * deleted.
 */
#include "node/zfs/key.h"

#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "common/volume/plugin.h"
#include "node/zfs/zfs_run.h"

#define HEX_DIGITS     64 /* zfsprops(7), keyformat */
#define PASSPHRASE_MIN 8
#define PASSPHRASE_MAX 512

/* Returns true if zfs accepts the key as a passphrase; zfs reads one line from stdin. */
static bool is_passphrase(const char *key)
{
	size_t length = strlen(key);

	return length >= PASSPHRASE_MIN && length <= PASSPHRASE_MAX && !strpbrk(key, "\r\n");
}

static bool is_hex(const char *key)
{
	return strlen(key) == HEX_DIGITS && strspn(key, "0123456789abcdefABCDEF") == HEX_DIGITS;
}

int key_check_possible(struct error *err)
{
	if (zfs_is_the_kernels())
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "zfs-fuse cannot encrypt; use a host with OpenZFS, or leave out the parameter "
		    "zfs.encryption");
}

int key_describe(const char *key, struct zfs_properties *properties, struct error *err)
{
	if (key_check_possible(err) < 0)
		return -1;
	if (!*key)
		return fail(
			err, ERR_UNAUTHENTICATED,
			"an encrypted volume needs a key; give it as the secret '" PLUGIN_KEY_SECRET
			"'");
	if (!is_passphrase(key))
		return fail(err, ERR_INVALID_ARGUMENT,
			    "the secret '" PLUGIN_KEY_SECRET
			    "' is not a key; give %d hexadecimal digits, "
			    "or a passphrase of %d to %d bytes in one line",
			    HEX_DIGITS, PASSPHRASE_MIN, PASSPHRASE_MAX);
	zfs_property(properties, "keyformat", is_hex(key) ? "hex" : "passphrase");
	zfs_property(properties, "keylocation", "prompt");
	properties->key = key;
	return 0;
}

int key_read(const char *dataset, struct key *ret, struct error *err)
{
	const char *argv[] = {"zfs",   "get", "-Hp", "-o", "value", "encryptionroot,keystatus",
			      dataset, NULL};
	auto_free char *out = NULL;
	size_t folder = (size_t)(strrchr(dataset, '/') + 1 - dataset);

	if (zfs_run_once(&(struct exec){.argv = argv}, &out, err) < 0)
		return -1;
	size_t first = strcspn(out, "\n");
	snprintf(ret->root, sizeof(ret->root), "%.*s", (int)first, out);
	ret->loaded = !strcmp(out + first, "\navailable\n");
	ret->managed = !strncmp(ret->root, dataset, folder);
	return 0;
}

/*
 * Give the secret to zfs on stdin (-L prompt), also if keylocation of a volume made by hand is a
 * file. check: only check that it is the key, which may be loaded already.
 */
static int give(const struct key *key, const char *secret, bool check, struct error *err)
{
	const char *argv[] = {"zfs",
			      "load-key",
			      "-L",
			      "prompt",
			      check ? "-n" : key->root,
			      check ? key->root : NULL,
			      NULL};

	if (zfs_run_with(argv, secret, err) == 0)
		return 0;
	return fail_context(err, "the secret '" PLUGIN_KEY_SECRET "' is not its key");
}

/* Without a secret, the key that is loaded already is used. */
static int check_loaded(const struct key *key, const char *secret, struct error *err)
{
	return key->managed && secret && *secret ? give(key, secret, true, err) : 0;
}

int key_load(const char *dataset, const struct key *key, const char *secret, struct error *err)
{
	if (key->loaded)
		return check_loaded(key, secret, err);
	if (!strcmp(key->root, "-"))
		return fail(err, ERR_PERMISSION_DENIED,
			    "the kernel refuses to mount '%s', which is not encrypted; run "
			    "'zcsi-node --check'",
			    dataset);
	if (!key->managed)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "the key of '%s' is not loaded; run 'zfs load-key %s'", key->root,
			    key->root);
	if (!secret || !*secret)
		return fail(err, ERR_UNAUTHENTICATED,
			    "the volume is encrypted and its key is not loaded; give the key "
			    "as the secret '" PLUGIN_KEY_SECRET "'");
	if (give(key, secret, false, err) == 0)
		return 0;
	/* Another program has loaded the key since *key was read. */
	return err->code == ERR_ALREADY_EXISTS ? check_loaded(key, secret, err) : -1;
}

/* The value of a native property is a name or "-", so the output has one line for each name. */
int key_is_shared(struct arena *arena, const struct key *key, const char *const *names, size_t n,
		  bool *ret, struct error *err)
{
	const char **argv = arena_alloc(arena, (n + 8) * sizeof(*argv));
	size_t used = 0;
	auto_free char *out = NULL;
	char *state;

	*ret = false;
	if (!n || !key->loaded)
		return 0;
	for (const char *const *word = (const char *const[]){"zfs", "get", "-Hp", "-o", "value",
							     "encryptionroot", NULL};
	     *word; word++)
		argv[used++] = *word;
	memcpy(argv + used, names, n * sizeof(*names));
	if (zfs_run_once(&(struct exec){.argv = argv}, &out, err) < 0 &&
	    (!out || err->code != ERR_NOT_FOUND))
		return -1;
	for (char *line = strtok_r(out, "\n", &state); line; line = strtok_r(NULL, "\n", &state))
		*ret |= !strcmp(line, key->root);
	return 0;
}

int key_unload(const struct key *key, struct error *err)
{
	if (!key->loaded || !key->managed)
		return 0;
	if (zfs_run((const char *const[]){"zfs", "unload-key", key->root, NULL}, err) == 0 ||
	    err->code == ERR_ALREADY_EXISTS)
		return 0;
	if (!strstr(err->text, "is busy"))
		return -1;
	log_debug("key is in use, keeping it loaded", log_str("dataset", key->root));
	return 0;
}
