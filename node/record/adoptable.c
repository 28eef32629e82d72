/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Judging a dataset that is to become a volume.
 *
 * Invariant: of a dataset that passes, no stream is missing a part; no dataset is below it; ZFS can
 * rename it to a volume, with its key; and it has no property that a new volume must not have. One
 * that was received has a snapshot, which proves that its first stream was whole, and is no clone.
 */
#include "node/record/adoptable.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "node/record/dataset.h"
#include "node/record/zfs_row.h"

/* Properties that must have exactly this value, or be unset ("-"). */
static const struct {
	const char *name, *value;
	bool adopted; /* an adoption may set it */
} foreign[] = {
	{"readonly", "off", false},     {"sharenfs", "off", false},
	{"sharesmb", "off", false},     {"zcsi:members", "-", false},
	{"zcsi:published", "-", false}, {"zcsi:source", "-", false},
	{"zcsi:deleted", "-", false},   {"zcsi:root", "-", true},
	{"zcsi:parameters", "-", true}, {"zcsi:formatted", "-", true},
};

/* zcsi:volume comes before the properties that it explains. */
#define NATIVE                                                                                     \
	"guid,creation,volsize,referenced,origin,refquota,quota,refreservation,reservation,"       \
	"zcsi:volume"
#define FOREIGN                                                                                    \
	"readonly,sharenfs,sharesmb,zcsi:members,zcsi:published,zcsi:source,zcsi:deleted,"         \
	"zcsi:root,zcsi:parameters,zcsi:formatted"
#define OPENZFS "encryptionroot,keystatus,inconsistent"

/* Returns the rest of a name behind a dataset that it is below, or NULL. */
static const char *below(const char *name, const char *dataset)
{
	size_t length = strlen(dataset);

	return !strncmp(name, dataset, length) && name[length] == '/' ? name + length + 1 : NULL;
}

/* The folders of zcsi begin with '_' and a letter, with which no volume does (escape.h). */
static int check_folder(const char *parent, const char *name, const char *rest, struct error *err)
{
	size_t folder = strcspn(rest, "/");

	if (rest[0] != '_' || rest[1] < 'a' || rest[1] > 'z')
		return 0;
	if (!strncmp(rest, DATASET_RECEIVED "/", folder + 1) && rest[folder + 1])
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "'%s' is none to adopt, because zcsi needs '%s/%.*s' itself: see 'zcsi trash "
		    "list', 'zcsi copies', 'zcsi diverged list' and 'zcsi backup list'",
		    name, parent, (int)folder, rest);
}

int adoptable_check_name(const char *parent, const char *name, struct error *err)
{
	int pool = (int)strcspn(parent, "/");

	if (!*name || strlen(name) > DATASET_NAME_MAX || strpbrk(name, "@#%") ||
	    strstr(name, "//") || name[strlen(name) - 1] == '/' || strstr(name, "/.."))
		return fail(err, ERR_INVALID_ARGUMENT,
			    "'%s' is not the name of a dataset, as 'zfs list' prints it", name);
	if (!strcmp(name, parent) || below(parent, name))
		return fail(err, ERR_FAILED_PRECONDITION,
			    "the volumes of zcsi-node are below '%s', which cannot become one of "
			    "them",
			    name);
	if (strncmp(name, parent, (size_t)pool) != 0 || name[pool] != '/')
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' is not in the pool '%.*s' of this node, and is not renamed into "
			    "it: copy a snapshot with 'zfs send %s@NAME | zcsi receive'",
			    name, pool, parent, name);
	const char *rest = below(name, parent);
	return rest ? check_folder(parent, name, rest, err) : 0;
}

bool adoptable_is_received(const struct adoptable *found)
{
	const char *rest = below(found->name, found->parent);

	return rest && !strncmp(rest, DATASET_RECEIVED "/", strlen(DATASET_RECEIVED "/"));
}

const char *adoptable_properties(bool kernel_zfs)
{
	return kernel_zfs ? NATIVE "," FOREIGN "," OPENZFS : NATIVE "," FOREIGN;
}

static void take_foreign(const char *name, const char *value, struct adoptable *ret)
{
	/* Accept "-" for each property: zfs prints it as the sharenfs of a zvol. */
	for (size_t i = 0; i < COUNT(foreign); i++) {
		if (strcmp(foreign[i].name, name) != 0 || strcmp(foreign[i].value, value) == 0 ||
		    strcmp(value, "-") == 0 || (ret->described && foreign[i].adopted))
			continue;
		ret->property = name;
		ret->value = value;
	}
}

static bool take_number(const char *name, const char *value, struct adoptable *ret)
{
	const struct {
		const char *name;
		int64_t *number;
	} numbers[] = {
		{"creation", &ret->creation},       {"volsize", &ret->volsize},
		{"refquota", &ret->refquota},       {"quota", &ret->quota},
		{"refreservation", &ret->reserved}, {"reservation", &ret->reservation},
	};

	for (size_t i = 0; i < COUNT(numbers); i++) {
		if (strcmp(numbers[i].name, name) != 0)
			continue;
		*numbers[i].number = zfs_row_number(value);
		return true;
	}
	return false;
}

/* Returns false if the dataset is neither a filesystem nor a zvol. */
static bool take(const char *name, const char *value, struct adoptable *ret)
{
	if (!strcmp(name, "type")) {
		ret->zvol = !strcmp(value, "volume");
		return ret->zvol || !strcmp(value, "filesystem");
	}
	if (take_number(name, value, ret))
		return true;
	if (!strcmp(name, "guid"))
		ret->guid = strtoull(value, NULL, 10);
	else if (!strcmp(name, "referenced"))
		ret->data = strtoull(value, NULL, 10);
	else if (!strcmp(name, "origin"))
		ret->origin = value;
	else if (!strcmp(name, "encryptionroot"))
		ret->root = value;
	else if (!strcmp(name, "keystatus"))
		ret->locked = !strcmp(value, "unavailable");
	else if (!strcmp(name, "inconsistent"))
		ret->incomplete = !strcmp(value, "1");
	else if (!strcmp(name, "zcsi:volume"))
		ret->described = !strcmp(value, ret->volume);
	else
		take_foreign(name, value, ret);
	return true;
}

bool adoptable_parse(const struct zfs_fields *row, struct adoptable *ret)
{
	ret->origin = ret->root = "-";
	ret->ours = "";
	for (size_t i = 1; i < row->n; i++) {
		const struct zfs_value *value = &row->values[i];
		/* As a volume it inherits from the parent of volumes. */
		if (value->source && !strncmp(value->source, "inherited ", strlen("inherited ")))
			continue;
		if (!take(value->property, value->text, ret))
			return false;
	}
	return !row->damaged && ret->guid && (!ret->zvol || ret->volsize > 0);
}

void adoptable_count(const char *printed, struct adoptable *ret)
{
	size_t length = strlen(ret->name);

	for (const char *at = printed; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		if (strncmp(at, ret->name, length) != 0)
			continue;
		ret->snapshots += at[length] == '@';
		ret->children += at[length] == '/';
	}
}

/* Check what only a dataset below DATASET_RECEIVED, or only another one, must not be. */
static int check_kind(const struct adoptable *found, struct error *err)
{
	const char *name = found->name;
	bool received = adoptable_is_received(found);

	if (received && !found->snapshots)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' has no snapshot: it is still being received, or take one with "
			    "'zfs snapshot %s@NAME'",
			    name, name);
	if (received && strcmp(found->origin, "-") != 0)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' is a clone of '%s': run 'zfs promote %s' first", name,
			    found->origin, name);
	if (!received && !found->described && *found->ours)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' has the properties %s, so it is or was a volume of zcsi: if no "
			    "zcsi-node needs it, run 'zfs inherit PROPERTY %s' for each of them",
			    name, found->ours, name);
	return 0;
}

static int check_state(const struct adoptable *found, struct error *err)
{
	const char *name = found->name;

	if (found->incomplete)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' is still being received, or its stream was interrupted", name);
	if (found->children)
		return fail(
			err, ERR_FAILED_PRECONDITION,
			"%zu datasets are below '%s', and a volume is a single one: rename them "
			"with 'zfs rename'",
			found->children, name);
	if (found->property)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' has %s=%s, and a new volume has not: remove that with 'zfs "
			    "inherit %s %s'",
			    name, found->property, found->value, found->property, name);
	return 0;
}

/* ZFS renames a dataset with the key of another one only to a name below that. */
static int check_key(const struct adoptable *found, struct error *err)
{
	const char *name = found->name, *root = found->root;

	if (!strcmp(root, "-") || !strcmp(root, name) || !strcmp(root, found->parent) ||
	    below(found->parent, root))
		return 0;
	if (strcmp(found->origin, "-") != 0)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' is an encrypted clone with the key of '%s', and ZFS renames no "
			    "such dataset: copy a snapshot with 'zfs send -w %s@NAME | zcsi "
			    "receive'",
			    name, root, name);
	return fail(err, ERR_FAILED_PRECONDITION,
		    "'%s' has the key of '%s', and ZFS does not rename it to a volume with that: "
		    "give it one of its own with 'zfs change-key -o keyformat=passphrase -o "
		    "keylocation=prompt %s'",
		    name, root, name);
}

/* Returns a size that has room for twice the data of a filesystem, in MiB. */
static uint64_t room_for(uint64_t data)
{
	uint64_t size = 1;

	while (size << 20 < 2 * data)
		size *= 2;
	return size;
}

int64_t adoptable_size(const struct adoptable *found, const struct adoption_wish *wish)
{
	if (found->zvol)
		return found->volsize;
	if (wish->size)
		return wish->size;
	return found->refquota ? found->refquota : found->quota;
}

static int check_form(const struct adoptable *found, const struct adoption_wish *wish,
		      struct error *err)
{
	if (wish->format && found->zvol != wish->format->zvol)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' is a %s, which cannot have the format %s", found->name,
			    found->zvol ? "zvol" : "filesystem", wish->format->name);
	if (found->zvol && wish->size && wish->size != found->volsize)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' is a zvol and has its size: give none", found->name);
	if (adoptable_size(found, wish) <= 0)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' is a filesystem, and has no size, which would be its refquota or "
			    "quota: add --size %" PRIu64 "M, or more",
			    found->name, room_for(found->data));
	return 0;
}

int adoptable_check(const struct adoptable *found, const struct adoption_wish *wish,
		    struct error *err)
{
	if (wish->guid && wish->guid != found->guid)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' was replaced by another dataset meanwhile", found->name);
	if (check_kind(found, err) < 0 || check_state(found, err) < 0 || check_key(found, err) < 0)
		return -1;
	return check_form(found, wish, err);
}

const struct format *adoptable_format(const struct adoptable *found, const char *type,
				      const struct format *wish, struct error *err)
{
	const struct format *has = format_find(type);

	if (has && !(has->zvol && has->mounts))
		has = NULL;
	if (wish && (!wish->mounts || wish == has))
		return wish;
	if (!wish && has)
		return has;
	if (wish)
		fail(err, ERR_FAILED_PRECONDITION,
		     "'%s' does not have the format %s: its device contains '%s'; leave out "
		     "--format, or use --format block",
		     found->name, wish->name, *type ? type : "nothing");
	else
		fail(err, ERR_FAILED_PRECONDITION,
		     "'%s' has neither ext4 nor xfs: its device contains '%s'; add --format block "
		     "to have it as a block device",
		     found->name, *type ? type : "nothing");
	return NULL;
}
