/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the connections to other nodes: servers of this process, each with a node id of its own,
 * are found by the list of --agent and --agents-file.
 */
#include "tests/transport/tls_ends.c" /* NOLINT(bugprone-suspicious-include): see tls_ends.c */

#include "node/peers/peers.h"

#define MANY 80 /* more endpoints than peers.c asks at a time */

/* Agents: each serves GetHost at a unix socket, on the loop of the test. */

struct fake {
	const char *_Atomic node_id;
	atomic_uint n_asked;
	struct server *server;
	char endpoint[128];
};

static int fake_get_host(struct rpc_call *call, const GetHostRequest *req, GetHostResponse *rsp,
			 struct error *err)
{
	struct fake *fake = call->app;

	(void)req, (void)err;
	rsp->node_id = arena_strdup(&call->arena, fake->node_id);
	fake->n_asked++;
	return 0;
}

#define FAKE_METHODS(INLINE, PLAIN, KEYED, STREAM) INLINE(GetHost, fake_get_host)

RPC_SERVICE(fake_service, zcsi__v1__agent__descriptor, FAKE_METHODS);

static struct fake n1, n2, n3;
static char place[64], file[128];
static struct looper looper;
static struct workers *workers;
static struct peers *peers;
static struct option_list named;
static struct trust trust;
static struct error err;

static void fake_start(struct fake *fake, const char *node_id, const char *socket)
{
	static const struct rpc_service *const fake_services[] = {&fake_service, NULL};
	const struct server_offer offer = {.services = fake_services, .app = fake};

	*fake = (struct fake){.node_id = node_id};
	snprintf(fake->endpoint, sizeof(fake->endpoint), "unix://%s/%s", place, socket);
	fake->server = server_new(looper.loop, workers, NULL);
	assert_int_equal(server_listen(fake->server, fake->endpoint, &offer, &err), 0);
}

/* The number of open clients, counted in client_new and client_free */

static unsigned n_clients, most_clients;

int __real_client_new(struct client **ret, struct loop *loop, const char *endpoint,
		      const struct client_options *options, struct error *error);
int __wrap_client_new(struct client **ret, struct loop *loop, const char *endpoint,
		      const struct client_options *options, struct error *error);
int __wrap_client_new(struct client **ret, struct loop *loop, const char *endpoint,
		      const struct client_options *options, struct error *error)
{
	int result = __real_client_new(ret, loop, endpoint, options, error);

	n_clients += result == 0;
	if (n_clients > most_clients)
		most_clients = n_clients;
	return result;
}

void __real_client_free(struct client *client);
void __wrap_client_free(struct client *client);
void __wrap_client_free(struct client *client)
{
	n_clients--;
	__real_client_free(client);
}

/* The beginning and the end of each test */

static int set_up(void **state)
{
	(void)state;
	strcpy(place, "/tmp/zcsi-peers-XXXXXX");
	assert_non_null(mkdtemp(place));
	snprintf(file, sizeof(file), "%s/agents", place);
	n_clients = most_clients = 0;
	trust = (struct trust){0};
	named = (struct option_list){0};
	assert_int_equal(loop_new(&looper.loop, &err), 0);
	assert_int_equal(workers_new(&workers, looper.loop, 1, &err), 0);
	fake_start(&n1, "n1", "one");
	fake_start(&n2, "n2", "two");
	fake_start(&n3, "n3", "three");
	return 0;
}

/* Start with --agents-file, and with the endpoints of `named`. */
static void start(bool with_file)
{
	const struct peers_options options = {
		.named = &named, .file = with_file ? file : NULL, .trust = &trust};

	assert_int_equal(peers_new(&peers, looper.loop, &options, &err), 0);
	most_clients = 0;
	looper_start(&looper);
}

static void stop_loop(void)
{
	looper_do(&looper, looper_stop, looper.loop);
	pthread_join(looper.thread, NULL);
}

static void stop(void)
{
	stop_loop();
	peers_free(peers);
	assert_int_equal(n_clients, 0);
}

static int tear_down(void **state)
{
	(void)state;
	server_free(n1.server);
	server_free(n2.server);
	server_free(n3.server);
	workers_free(workers);
	loop_free(looper.loop);
	unlink(file);
	return rmdir(place);
}

/* Write the list of agents as a template does, by rename. */
__attribute__((format(printf, 1, 2))) static void list(const char *text, ...)
{
	char new[140];
	va_list args;

	snprintf(new, sizeof(new), "%s.new", file);
	FILE *out = fopen(new, "we");
	assert_non_null(out);
	va_start(args, text);
	vfprintf(out, text, args);
	va_end(args);
	fclose(out);
	assert_int_equal(rename(new, file), 0);
}

static void list_fakes(const struct fake *one, const struct fake *other)
{
	list("# agents\n%s\n%s\n", one->endpoint, other->endpoint);
}

static int dial(const char *node_id, struct client **ret)
{
	return peers_dial(peers, node_id, now_ms() + PATIENCE * 1000, ret, &err);
}

static void assert_reached(const char *node_id, const struct fake *fake)
{
	struct client *client;

	if (dial(node_id, &client) < 0) {
		print_error("%s\n", err.text);
		assert_true(false);
	}
	assert_string_equal(client_endpoint(client), fake->endpoint);
	peers_hang_up(peers, client);
}

static void assert_not_reached(const char *node_id, enum error_code code, const char *words)
{
	struct client *client;

	assert_int_equal(dial(node_id, &client), -1);
	if (err.code != code || !strstr(err.text, words))
		print_error("%s: %s\n", error_name(err.code), err.text);
	assert_int_equal(err.code, code);
	assert_non_null(strstr(err.text, words));
}

/* Tests */

static void a_node_is_found_by_its_id(void **state)
{
	(void)state;
	list_fakes(&n1, &n2);
	start(true);
	assert_reached("n1", &n1);
	assert_reached("n2", &n2);
	stop();
}

static void answers_are_cached(void **state)
{
	(void)state;
	list_fakes(&n1, &n2);
	start(true);
	assert_reached("n1", &n1);
	assert_int_equal(n1.n_asked, 2);
	assert_int_equal(n2.n_asked, 1);
	assert_reached("n1", &n1);
	assert_reached("n2", &n2);
	assert_int_equal(n1.n_asked, 3);
	assert_int_equal(n2.n_asked, 2);
	stop();
}

static void endpoints_may_be_named_twice(void **state)
{
	const char *values[] = {n2.endpoint, n1.endpoint, n2.endpoint};

	(void)state;
	named = (struct option_list){values, COUNT(values)};
	list_fakes(&n1, &n3);
	start(true);
	assert_reached("n2", &n2);
	assert_int_equal(n1.n_asked, 1);
	assert_int_equal(n2.n_asked, 2);
	assert_int_equal(n3.n_asked, 1);
	stop();
}

static void a_silent_agent_hides_no_other(void **state)
{
	(void)state;
	list("unix://%s/nobody\nnonsense\n%s\n", place, n2.endpoint);
	start(true);
	assert_reached("n2", &n2);
	assert_not_reached("n9", ERR_UNAVAILABLE,
			   "no agent answers as node 'n9'; without an answer: ");
	assert_non_null(strstr(err.text, "cannot reach 'unix:///tmp/"));
	assert_non_null(strstr(err.text, "/nobody': "));
	assert_non_null(strstr(err.text, "'nonsense'"));
	stop();
}

static void a_survey_lists_agents_without_an_answer(void **state)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct peers_host *hosts;
	size_t n;

	(void)state;
	list("unix://%s/nobody\n%s\n", place, n2.endpoint);
	start(true);
	for (unsigned i = 1; i < 3; i++) {
		int failed =
			peers_survey(peers, &arena, now_ms() + PATIENCE * 1000, &hosts, &n, &err);
		assert_false(failed || n != 2 || n2.n_asked != i);
		for (size_t k = 0; k < n; k++)
			assert_int_equal(hosts[k].says != NULL,
					 !strcmp(hosts[k].endpoint, n2.endpoint));
	}
	/* If no agent could be asked in time, the survey fails; it reports no agent as silent. */
	assert_int_equal(peers_survey(peers, &arena, now_ms(), &hosts, &n, &err), -1);
	assert_int_equal(err.code, ERR_DEADLINE_EXCEEDED);
	list("# none\n");
	assert_int_equal(peers_survey(peers, &arena, now_ms() + 1000, &hosts, &n, &err), -1);
	assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
	stop();
}

static void an_agent_without_an_answer_leaves_time_for_others(void **state)
{
	struct client *client;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);

	(void)state;
	assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	assert_int_equal(listen(fd, 8), 0); /* connections are never accepted */
	list("tcp://127.0.0.1:%d\n%s\n", ntohs(address.sin_port), n2.endpoint);
	start(true);
	assert_int_equal(peers_dial(peers, "n2", now_ms() + 1900, &client, &err), 0);
	peers_hang_up(peers, client);
	stop();
	close(fd);
}

static void two_agents_that_are_one_node_are_refused(void **state)
{
	(void)state;
	n2.node_id = "n1";
	list_fakes(&n1, &n2);
	start(true);
	assert_not_reached("n1", ERR_FAILED_PRECONDITION, "both answer as node 'n1'");
	assert_non_null(strstr(err.text, n1.endpoint));
	assert_non_null(strstr(err.text, n2.endpoint));
	list_fakes(&n1, &n3);
	assert_reached("n1", &n1);
	stop();
}

static void the_file_is_read_again(void **state)
{
	(void)state;
	start(true);
	assert_not_reached("n1", ERR_FAILED_PRECONDITION, "--agents-file '/tmp/");
	list("# none yet\n");
	assert_not_reached("n1", ERR_FAILED_PRECONDITION, "names no agent");
	list("%s", n1.endpoint);
	assert_reached("n1", &n1);
	assert_not_reached("n2", ERR_UNAVAILABLE, "all 1 agents of the list answer, and none is");
	list_fakes(&n1, &n2);
	assert_reached("n2", &n2);
	list("%s", n1.endpoint);
	assert_not_reached("n2", ERR_UNAVAILABLE, "none is node 'n2'");
	stop();
}

static void a_node_may_move(void **state)
{
	(void)state;
	list_fakes(&n1, &n2);
	start(true);
	assert_reached("n1", &n1);
	n1.node_id = "n2";
	n2.node_id = "n1";
	assert_reached("n1", &n2);
	assert_reached("n2", &n1);
	n1.node_id = "n7";
	assert_not_reached("n2", ERR_UNAVAILABLE, "none is node 'n2'");
	stop();
}

static void a_client_that_is_given_back_late_is_freed(void **state)
{
	struct client *client;

	(void)state;
	list_fakes(&n1, &n2);
	start(true);
	assert_int_equal(dial("n1", &client), 0);
	stop_loop();
	peers_hang_up(peers, client);
	peers_free(peers);
	assert_int_equal(n_clients, 0);
}

static void without_a_list_no_node_is_found(void **state)
{
	(void)state;
	start(false);
	assert_not_reached("n1", ERR_FAILED_PRECONDITION,
			   "zcsi-node was started without --agents-file");
	stop();
}

static void a_malformed_agent_is_refused_at_once(void **state)
{
	const char *values[] = {"unix:///a", "tcp://:1"};
	const struct peers_options options = {.named = &named, .trust = &trust};

	(void)state;
	named = (struct option_list){values, COUNT(values)};
	assert_int_equal(peers_new(&peers, looper.loop, &options, &err), -1);
	assert_non_null(strstr(err.text, "--agent: endpoint 'tcp://:1' names no host"));
	assert_int_equal(n_clients, 0);
}

static void few_connections_are_open_at_a_time(void **state)
{
	static struct fake many[MANY];
	static const char *values[MANY];
	char ids[MANY][16], sockets[MANY][16];

	(void)state;
	for (size_t i = 0; i < MANY; i++) {
		snprintf(ids[i], sizeof(ids[i]), "m%zu", i);
		snprintf(sockets[i], sizeof(sockets[i]), "m%zu", i);
		fake_start(&many[i], ids[i], sockets[i]);
		values[i] = many[i].endpoint;
	}
	named = (struct option_list){values, MANY};
	start(false);
	assert_reached(ids[MANY - 1], &many[MANY - 1]);
	assert_in_range(most_clients, 2, 32);
	most_clients = 0;
	for (size_t i = 0; i < MANY; i++)
		assert_reached(ids[i], &many[i]);
	assert_int_equal(most_clients, 1);
	stop();
	for (size_t i = 0; i < MANY; i++) {
		assert_int_equal(many[i].n_asked, i == MANY - 1 ? 3 : 2);
		server_free(many[i].server);
	}
}

/* Dials by several threads of nodes whose agents are not known yet */

#define DIALERS 8

static void *dial_unknown(void *arg)
{
	struct error *ret = arg;
	struct client *client;

	if (peers_dial(peers, "n9", now_ms() + PATIENCE * 1000, &client, ret) == 0)
		abort();
	return NULL;
}

static void dials_at_the_same_time_share_a_scan(void **state)
{
	pthread_t threads[DIALERS];
	struct error errors[DIALERS];

	(void)state;
	/* The scan lasts until the client gives up the endpoint without a server. */
	list("unix://%s/nobody\n%s\n", place, n1.endpoint);
	start(true);
	for (size_t i = 0; i < DIALERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, dial_unknown, &errors[i]), 0);
	for (size_t i = 0; i < DIALERS; i++) {
		pthread_join(threads[i], NULL);
		assert_non_null(strstr(errors[i].text, "no agent answers as node 'n9'"));
	}
	assert_in_range(n1.n_asked, 1, DIALERS - 1);
	stop();
}

/* Certificates. The servers of tls_ends.c are all node "inline". */

static const struct certificate certificates[] = {
	{.name = "ca", .is_ca = true},
	{.name = "node", .issuer = "ca", .names = "DNS:inline,IP:127.0.0.1"},
	{.name = "other", .issuer = "ca", .names = "DNS:other,IP:127.0.0.1"},
};

static void assert_tls(const char *certificate, const char *answer)
{
	struct end server, client;
	struct client *dialled;
	char endpoint[64];

	certificates_make(certificates, COUNT(certificates));
	assert_int_equal(end_trust(&server, "ca", certificate, &err), 0);
	assert_int_equal(end_trust(&client, "ca", "other", &err), 0);
	server_start(&server);
	snprintf(endpoint, sizeof(endpoint), "tcp://127.0.0.1:%d\n", server.port);
	list("%s", endpoint);
	trust = client.trust;
	start(true);
	int failed = dial("inline", &dialled);
	if (!failed)
		peers_hang_up(peers, dialled);
	assert_string_equal(failed ? strstr(err.text, "its certificate") : "accepted", answer);
	stop();
	server_stop(&server);
	trust_close(&client.trust);
	certificates_remove();
}

static void a_certificate_for_the_node_is_accepted(void **state)
{
	(void)state;
	assert_tls("node", "accepted");
}

static void a_certificate_for_another_node_is_refused(void **state)
{
	(void)state;
	assert_tls("other", "its certificate is for 'other', '127.0.0.1', not for 'inline'");
}

#define PEERS_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PEERS_TEST(a_node_is_found_by_its_id),
		PEERS_TEST(answers_are_cached),
		PEERS_TEST(endpoints_may_be_named_twice),
		PEERS_TEST(a_silent_agent_hides_no_other),
		PEERS_TEST(a_survey_lists_agents_without_an_answer),
		PEERS_TEST(an_agent_without_an_answer_leaves_time_for_others),
		PEERS_TEST(two_agents_that_are_one_node_are_refused),
		PEERS_TEST(the_file_is_read_again),
		PEERS_TEST(a_node_may_move),
		PEERS_TEST(a_client_that_is_given_back_late_is_freed),
		PEERS_TEST(without_a_list_no_node_is_found),
		PEERS_TEST(a_malformed_agent_is_refused_at_once),
		PEERS_TEST(few_connections_are_open_at_a_time),
		PEERS_TEST(dials_at_the_same_time_share_a_scan),
		PEERS_TEST(a_certificate_for_the_node_is_accepted),
		PEERS_TEST(a_certificate_for_another_node_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
