/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Lookup in the built-in descriptor set.
 *
 * The set is decoded anew for each lookup, into the arena of the call. Lookups are rare (a person
 * runs grpcurl), and a set that is not kept costs no memory between them.
 *
 * Invariant: the result contains a file together with all files that it imports.
 */
#include "transport/descriptors.h"

#include <stdbool.h>
#include <string.h>

#include "google/protobuf/descriptor.pb-c.h"
#include "transport/message.h"

typedef Google__Protobuf__FileDescriptorSet FileSet;
typedef Google__Protobuf__FileDescriptorProto File;
typedef Google__Protobuf__DescriptorProto Message;
typedef Google__Protobuf__EnumDescriptorProto Enum;
typedef Google__Protobuf__ServiceDescriptorProto Service;

static const uint8_t built_in[] = {
#include "proto/descriptors.inc"
};

/*
 * Returns the rest of a dotted symbol after the leading name: "" if the symbol is the name, NULL if
 * the symbol is NULL or does not begin with the name.
 */
static const char *enter(const char *symbol, const char *name)
{
	size_t length = name ? strlen(name) : 0;

	if (!symbol || length == 0 || strncmp(symbol, name, length) != 0)
		return NULL;
	if (symbol[length] == '\0')
		return symbol + length;
	return symbol[length] == '.' && symbol[length + 1] ? symbol + length + 1 : NULL;
}

static bool is(const char *symbol, const char *name)
{
	const char *rest = enter(symbol, name);

	return rest && !*rest;
}

static bool enum_has(const Enum *kind, const char *symbol)
{
	const char *rest = enter(symbol, kind->name);

	for (size_t i = 0; rest && *rest && i < kind->n_value; i++)
		if (is(rest, kind->value[i]->name))
			return true;
	return rest && !*rest;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as messages are nested in our own files */
static bool message_has(const Message *message, const char *symbol)
{
	const char *rest = enter(symbol, message->name);
	bool found = rest && !*rest;

	if (!rest)
		return false;
	for (size_t i = 0; !found && i < message->n_nested_type; i++)
		found = message_has(message->nested_type[i], rest);
	for (size_t i = 0; !found && i < message->n_enum_type; i++)
		found = enum_has(message->enum_type[i], rest);
	for (size_t i = 0; !found && i < message->n_field; i++)
		found = is(rest, message->field[i]->name);
	return found;
}

static bool service_has(const Service *service, const char *symbol)
{
	const char *rest = enter(symbol, service->name);

	for (size_t i = 0; rest && *rest && i < service->n_method; i++)
		if (is(rest, service->method[i]->name))
			return true;
	return rest && !*rest;
}

static bool file_has(const File *file, const char *symbol)
{
	const char *rest = enter(symbol, file->package);
	bool found = false;

	if (!rest)
		return false;
	for (size_t i = 0; !found && i < file->n_service; i++)
		found = service_has(file->service[i], rest);
	for (size_t i = 0; !found && i < file->n_message_type; i++)
		found = message_has(file->message_type[i], rest);
	for (size_t i = 0; !found && i < file->n_enum_type; i++)
		found = enum_has(file->enum_type[i], rest);
	return found;
}

static bool file_is(const File *file, const char *name)
{
	return strcmp(file->name, name) == 0;
}

static File *find(const FileSet *set, bool (*fits)(const File *file, const char *text),
		  const char *text)
{
	for (size_t i = 0; i < set->n_file; i++)
		if (fits(set->file[i], text))
			return set->file[i];
	return NULL;
}

static bool contains(File *const *files, size_t n, const File *file)
{
	for (size_t i = 0; i < n; i++)
		if (files[i] == file)
			return true;
	return false;
}

/* Append to files[0] its imports and theirs, each once. Returns the number of files. */
static size_t gather(const FileSet *set, File **files)
{
	size_t n = 1;

	for (size_t at = 0; at < n; at++) {
		for (size_t i = 0; i < files[at]->n_dependency; i++) {
			File *import = find(set, file_is, files[at]->dependency[i]);
			if (import && !contains(files, n, import))
				files[n++] = import;
		}
	}
	return n;
}

static ProtobufCBinaryData encode(struct arena *arena, const File *file)
{
	size_t size = protobuf_c_message_get_packed_size(&file->base);
	uint8_t *bytes = arena_alloc(arena, size);

	protobuf_c_message_pack(&file->base, bytes);
	return (ProtobufCBinaryData){.len = size, .data = bytes};
}

static int search(struct arena *arena, bool (*fits)(const File *file, const char *text),
		  const char *text, const char *what, struct descriptor_files *ret,
		  struct error *err)
{
	ProtobufCMessage *decoded;

	if (message_decode(arena, &google__protobuf__file_descriptor_set__descriptor, built_in,
			   sizeof(built_in), &decoded, err) < 0)
		return -1;
	const FileSet *set = (const FileSet *)decoded;
	File **files = arena_alloc(arena, (set->n_file + 1) * sizeof(*files));
	files[0] = find(set, fits, text);
	if (!files[0])
		return fail(err, ERR_NOT_FOUND, "there is no %s '%s'", what, text);
	ret->n = gather(set, files);
	ret->list = arena_alloc(arena, ret->n * sizeof(*ret->list));
	for (size_t i = 0; i < ret->n; i++)
		ret->list[i] = encode(arena, files[i]);
	return 0;
}

int descriptors_by_name(struct arena *arena, const char *name, struct descriptor_files *ret,
			struct error *err)
{
	return search(arena, file_is, name, "file", ret, err);
}

int descriptors_by_symbol(struct arena *arena, const char *symbol, struct descriptor_files *ret,
			  struct error *err)
{
	return search(arena, file_has, symbol, "symbol", ret, err);
}
