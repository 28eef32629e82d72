/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The files that server reflection returns: which file has a symbol, and which files are imported.
 */
#include "tests/cmocka.h"

#include <string.h>

#include "google/protobuf/descriptor.pb-c.h"
#include "tests/arena.h"
#include "transport/descriptors.h"

static struct error err;

/* Returns the name of file i of the result. */
static const char *name_of(const struct descriptor_files *files, size_t i)
{
	const Google__Protobuf__FileDescriptorProto *file =
		google__protobuf__file_descriptor_proto__unpack(NULL, files->list[i].len,
								files->list[i].data);
	assert_non_null(file);
	const char *name = arena_strdup(&arena, file->name);
	google__protobuf__file_descriptor_proto__free_unpacked(
		(Google__Protobuf__FileDescriptorProto *)(uintptr_t)file, NULL);
	return name;
}

static void each_kind_of_symbol_is_found(void **state)
{
	static const struct {
		const char *symbol, *file;
	} rows[] = {
		{"csi.v1.Controller", "proto/csi.proto"},
		{"csi.v1.Controller.CreateVolume", "proto/csi.proto"},
		{"csi.v1.CreateVolumeRequest", "proto/csi.proto"},
		{"csi.v1.CreateVolumeRequest.name", "proto/csi.proto"},
		{"csi.v1.CreateVolumeRequest.ParametersEntry", "proto/csi.proto"},
		{"csi.v1.VolumeCapability.AccessMode.Mode", "proto/csi.proto"},
		{"csi.v1.VolumeCapability.AccessMode.Mode.MULTI_NODE_MULTI_WRITER",
		 "proto/csi.proto"},
		{"csi.v1.BlockMetadataType", "proto/csi.proto"},
		{"zcsi.v1.Agent", "proto/agent.proto"},
		{"grpc.health.v1.Health.Watch", "proto/health.proto"},
		{"grpc.reflection.v1.ServerReflection", "proto/reflection.proto"},
		{"grpc.reflection.v1alpha.ServerReflection", "proto/reflection_v1alpha.proto"},
		{"google.protobuf.Timestamp", "google/protobuf/timestamp.proto"},
	};
	struct descriptor_files files;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(descriptors_by_symbol(&arena, rows[i].symbol, &files, &err), 0);
		assert_string_equal(name_of(&files, 0), rows[i].file);
	}
}

static void unknown_names_are_not_found(void **state)
{
	static const char *const symbols[] = {"",
					      ".",
					      "csi",
					      "csi.v1",
					      "csi.v1.",
					      "csi.v1.Contro",
					      "csi.v1.Controller.",
					      "csi.v1.Controllers",
					      "csi.v1.Controller.CreateVolum",
					      "csi.v1.Controller.CreateVolume.x",
					      "Controller",
					      "csi.v2.Controller"};
	struct descriptor_files files;

	(void)state;
	for (size_t i = 0; i < COUNT(symbols); i++) {
		assert_int_equal(descriptors_by_symbol(&arena, symbols[i], &files, &err), -1);
		assert_int_equal(err.code, ERR_NOT_FOUND);
	}
	assert_int_equal(descriptors_by_name(&arena, "proto/nfs.proto", &files, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_non_null(strstr(err.text, "proto/nfs.proto"));
}

static void a_file_comes_with_its_imports(void **state)
{
	struct descriptor_files files;

	(void)state;
	assert_int_equal(descriptors_by_name(&arena, "proto/csi.proto", &files, &err), 0);
	assert_int_equal(files.n, 3);
	assert_string_equal(name_of(&files, 0), "proto/csi.proto");
	assert_string_equal(name_of(&files, 1), "google/protobuf/timestamp.proto");
	assert_string_equal(name_of(&files, 2), "google/protobuf/wrappers.proto");
	assert_int_equal(descriptors_by_name(&arena, "proto/health.proto", &files, &err), 0);
	assert_int_equal(files.n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_kind_of_symbol_is_found, arena_setup,
						arena_teardown),
		cmocka_unit_test_setup_teardown(unknown_names_are_not_found, arena_setup,
						arena_teardown),
		cmocka_unit_test_setup_teardown(a_file_comes_with_its_imports, arena_setup,
						arena_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
