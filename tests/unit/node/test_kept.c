/* SPDX-License-Identifier: MPL-2.0 */
/* Tests of the files in which an agent keeps hosts and their names. */
#include "tests/cmocka.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node/agent/kept.h"
#include "node/host/node.h"
#include "node/service.h"

static struct kept kept;
static struct node node = {.kept = &kept};
static struct rpc_call call = {.app = &node};
static char dir[] = "/tmp/zcsi-kept-XXXXXX";

static int setup(void **state)
{
	(void)state;
	memcpy(dir + strlen(dir) - 6, "XXXXXX", 6);
	assert_non_null(mkdtemp(dir));
	arena_init(&call.arena, SIZE_MAX);
	kept_open(&kept, dir, "n/1");
	return 0;
}

static void stop(void)
{
	kept_close(&kept);
	kept = (struct kept){.folder = NULL};
}

static void restart(void)
{
	stop();
	kept_open(&kept, dir, "n/1");
}

static int remove_one(const char *path, const struct stat *stat, int type, struct FTW *ftw)
{
	(void)stat, (void)type, (void)ftw;
	return remove(path);
}

static int teardown(void **state)
{
	(void)state;
	stop();
	arena_fini(&call.arena);
	return nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static uint64_t give_host(const char *node_id, uint64_t stamp, bool forgotten)
{
	KeepHostsRequest *request = new_keep_hosts_request(&call.arena);
	KeepHostsResponse *response = new_keep_hosts_response(&call.arena);
	struct error err;

	request->n_hosts = 1;
	request->hosts = arena_alloc(&call.arena, sizeof(*request->hosts));
	request->hosts[0] = new_known_host(&call.arena);
	request->hosts[0]->node_id = arena_strdup(&call.arena, node_id);
	request->hosts[0]->stamp = stamp;
	request->hosts[0]->forgotten = forgotten;
	assert_int_equal(keep_hosts(&call, request, response, &err), 0);
	assert_int_equal(response->known_hosts, kept_digest(&kept));
	return response->known_hosts;
}

static void give_names(const char *node_id, uint64_t hash)
{
	KeepNamesRequest *request = new_keep_names_request(&call.arena);
	struct error err;

	request->node_id = arena_strdup(&call.arena, node_id);
	request->read = 7;
	request->n_hashes = 1;
	request->hashes = &hash;
	assert_int_equal(keep_names(&call, request, new_keep_names_response(&call.arena), &err), 0);
}

/* Returns the hash that is kept for a node; 0 if there is none. */
static uint64_t kept_hash(const char *node_id)
{
	GetKeptNamesRequest *request = new_get_kept_names_request(&call.arena);
	GetKeptNamesResponse *response = new_get_kept_names_response(&call.arena);
	struct error err;

	request->node_id = arena_strdup(&call.arena, node_id);
	if (get_kept_names(&call, request, response, &err) < 0) {
		assert_int_equal(err.code, ERR_NOT_FOUND);
		return 0;
	}
	assert_int_equal(response->n_hashes, 1);
	assert_int_equal(response->read, 7);
	return response->hashes[0];
}

static char *path_of(const char *name)
{
	return arena_printf(&call.arena, "%s/n_2F1/%s", dir, name);
}

static void write_file(const char *name, const char *bytes, size_t n)
{
	auto_fclose FILE *file = fopen(path_of(name), "we");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, n, file), n);
}

static void hosts_and_names_survive_a_restart(void **state)
{
	(void)state;
	give_host("n2", 5, false);
	uint64_t digest = give_host("n3", 5, false);
	give_names("n2", 11);
	give_names("../n3", 12);
	restart();
	assert_int_equal(kept_digest(&kept), digest);
	assert_int_equal(kept_hash("n2"), 11);
	assert_int_equal(kept_hash("../n3"), 12);
	assert_int_equal(kept_hash("n4"), 0);
	give_names("n2", 13);
	assert_int_equal(kept_hash("n2"), 13);
}

static void a_forgotten_host_has_no_names(void **state)
{
	(void)state;
	give_host("n2", 5, false);
	give_names("n2", 11);
	give_host("n2", 6, true);
	assert_int_equal(kept_hash("n2"), 0);
}

static void a_damaged_file_counts_as_missing(void **state)
{
	static const char *const names[] = {"hosts", "names-n2"};
	static char large[KEPT_BYTES_MAX + 1];

	(void)state;
	for (size_t size = 0; size <= sizeof(large); size = size < 64 ? size + 1 : size * 2) {
		give_host("n2", 5 + size, false);
		give_names("n2", 11);
		for (size_t i = 0; i < COUNT(names); i++)
			write_file(names[i], large, size);
		restart();
		assert_int_equal(kept_digest(&kept), 0);
		assert_int_equal(kept_hash("n2"), 0);
	}
}

/* A file with a flipped bit, or without its end, counts as missing. */
static void a_torn_file_counts_as_missing(void **state)
{
	char bytes[4096];

	(void)state;
	give_names("n2", 11);
	FILE *file = fopen(path_of("names-n2"), "re");
	assert_non_null(file);
	size_t n = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	for (size_t i = 0; i < n; i++) {
		write_file("names-n2", bytes, i);
		assert_int_equal(kept_hash("n2"), 0);
		bytes[i] ^= 1;
		write_file("names-n2", bytes, n);
		assert_int_equal(kept_hash("n2"), 0);
		bytes[i] ^= 1;
	}
	write_file("names-n2", bytes, n);
	assert_int_equal(kept_hash("n2"), 11);
	/* A whole file that has the name of another node counts as missing too. */
	assert_int_equal(rename(path_of("names-n2"), path_of("names-n3")), 0);
	assert_int_equal(kept_hash("n3"), 0);
}

static void a_fifo_link_or_directory_counts_as_missing(void **state)
{
	(void)state;
	assert_int_equal(mkfifo(path_of("names-n2"), 0600), 0);
	assert_int_equal(symlink("/dev/zero", path_of("names-n3")), 0);
	assert_int_equal(mkdir(path_of("names-n4"), 0700), 0);
	assert_int_equal(kept_hash("n2"), 0);
	assert_int_equal(kept_hash("n3"), 0);
	assert_int_equal(kept_hash("n4"), 0);
	give_names("n2", 11);
	give_names("n3", 12);
	give_names("n4", 13); /* a directory has the file's name: kept nowhere, and no error */
	assert_int_equal(kept_hash("n2"), 11);
	assert_int_equal(kept_hash("n3"), 12);
	assert_int_equal(kept_hash("n4"), 0);
}

static void the_oldest_names_make_room(void **state)
{
	char id[32];

	(void)state;
	for (int i = 0; i < KEPT_FILES_MAX + 3; i++) {
		snprintf(id, sizeof(id), "n%d", i);
		give_names(id, 11);
		const struct timespec times[] = {{.tv_sec = i}, {.tv_sec = i}};
		assert_int_equal(utimensat(AT_FDCWD,
					   path_of(arena_printf(&call.arena, "names-%s", id)),
					   times, 0),
				 0);
	}
	assert_int_equal(kept_hash("n2"), 0);
	assert_int_equal(kept_hash("n3"), 11);
}

static void without_a_folder_hosts_are_kept_in_memory(void **state)
{
	(void)state;
	stop();
	kept_open(&kept, "", "n1");
	assert_int_not_equal(give_host("n2", 5, false), 0);
	give_names("n2", 11);
	assert_int_equal(kept_hash("n2"), 0);
	stop();
	kept_open(&kept, "/proc/none", "n1");
	assert_int_not_equal(give_host("n2", 5, false), 0);
	give_names("n2", 11);
	assert_int_equal(kept_hash("n2"), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(hosts_and_names_survive_a_restart),
		TEST(a_forgotten_host_has_no_names),
		TEST(a_damaged_file_counts_as_missing),
		TEST(a_torn_file_counts_as_missing),
		TEST(a_fifo_link_or_directory_counts_as_missing),
		TEST(the_oldest_names_make_room),
		TEST(without_a_folder_hosts_are_kept_in_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
