/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of probe_read(), which detects the content of a device. A device counts as blank only if it
 * was read completely.
 */
#include "tests/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "common/mem.h"
#include "node/attach/probe.h"

#define SIZE ((off_t)8 << 20)

ssize_t __real_pread(int fd, void *buffer, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *buffer, size_t size, off_t offset);

/* offset of the byte whose read fails with EIO, or -1 for none */
static off_t damaged = -1;

ssize_t __wrap_pread(int fd, void *buffer, size_t size, off_t offset)
{
	if (damaged < offset || damaged >= offset + (off_t)size)
		return __real_pread(fd, buffer, size, offset);
	errno = EIO;
	return -1;
}

static int image(const char *program)
{
	char path[] = "/tmp/zcsi-content-XXXXXX", command[256];
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, SIZE), 0);
	snprintf(command, sizeof(command), "%s %s >/dev/null 2>&1", program, path);
	assert_int_equal(*program ? system(command) : 0, 0); /* NOLINT: a constant command */
	unlink(path);
	return fd;
}

static void assert_content(int fd, const char *type)
{
	struct probe content;
	struct error err;

	assert_int_equal(probe_read(fd, &content, &err), 0);
	assert_string_equal(content.type, type);
}

static void the_type_is_detected(void **state)
{
	static const struct {
		const char *program, *type;
	} cases[] = {{"", ""}, {"mkfs.ext4 -q", "ext4"}, {"mkswap", "swap"}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_close int fd = image(cases[i].program);
		assert_content(fd, cases[i].type);
	}
}

static void the_uuid_is_detected(void **state)
{
	auto_close int fd = image("mkfs.ext4 -q -U 11111111-2222-3333-4444-555555555555");
	struct probe content;
	struct error err;

	(void)state;
	assert_int_equal(probe_read(fd, &content, &err), 0);
	assert_string_equal(content.uuid, "11111111-2222-3333-4444-555555555555");
}

static void a_wrong_checksum_is_not_blank(void **state)
{
	auto_close int fd = image("mkfs.ext4 -q -O metadata_csum");

	(void)state;
	assert_int_equal(pwrite(fd, "spoilt", 6, 1024 + 0x78), 6);
	assert_content(fd, "ext4");
}

static void an_unreadable_device_is_not_blank(void **state)
{
	static const off_t places[] = {0, 1024, (1 << 20) - 1, SIZE - (1 << 20), SIZE - 1};
	auto_close int fd = image("");

	(void)state;
	for (size_t i = 0; i < COUNT(places); i++) {
		struct probe content;
		struct error err;
		damaged = places[i];
		assert_int_equal(probe_read(fd, &content, &err), -1);
		assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
		damaged = -1;
	}
	assert_content(fd, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_type_is_detected),
		cmocka_unit_test(the_uuid_is_detected),
		cmocka_unit_test(a_wrong_checksum_is_not_blank),
		cmocka_unit_test(an_unreadable_device_is_not_blank),
	};

	setenv("PATH", "/usr/sbin:/sbin:/usr/bin:/bin", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
