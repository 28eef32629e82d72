/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_DESCRIPTORS_H
#define ZCSI_DESCRIPTORS_H

/*
 * The .proto files that the program was built with, as google.protobuf.FileDescriptorProto, for
 * server reflection. protobuf-c has no descriptors in this form at run time, so the output of
 * protoc is built into the program.
 */

#include <stddef.h>
#include <protobuf-c/protobuf-c.h>

#include "common/error.h"
#include "common/mem.h"

struct descriptor_files {
	ProtobufCBinaryData *list; /* encoded, in the arena: first the file, then its imports */
	size_t n;
};

/* Find a file by its name, such as "proto/csi.proto". Returns -1 with ERR_NOT_FOUND if unknown. */
int descriptors_by_name(struct arena *arena, const char *name, struct descriptor_files *ret,
			struct error *err);
/*
 * Find the file that defines a symbol, given by its full name, such as "csi.v1.Node". Returns -1
 * with ERR_NOT_FOUND if no file does.
 */
int descriptors_by_symbol(struct arena *arena, const char *symbol, struct descriptor_files *ret,
			  struct error *err);

#endif
