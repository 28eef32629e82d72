/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_DESCRIPTORS_H
#define ZCSI_DESCRIPTORS_H

/*
 * The .proto files that the program was built with, as google.protobuf.FileDescriptorProto: what
 * server reflection hands out. protobuf-c keeps none at run time, so protoc's are built in.
 */

#include <stddef.h>
#include <protobuf-c/protobuf-c.h>

#include "common/error.h"
#include "common/mem.h"

struct descriptor_files {
	ProtobufCBinaryData *list; /* encoded, in the arena: the file first, then what it imports */
	size_t n;
};

/* By a file's name ("proto/csi.proto"), or by the full name of what is in it. ERR_NOT_FOUND. */
int descriptors_by_name(struct arena *arena, const char *name, struct descriptor_files *ret,
			struct error *err);
int descriptors_by_symbol(struct arena *arena, const char *symbol, struct descriptor_files *ret,
			  struct error *err);

#endif
