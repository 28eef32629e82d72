/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A serving process: signals, loop, workers and server, from start to orderly end.
 *
 * Invariant: the loop stops only when the server is drained, so every accepted call is answered,
 * unless the process is killed or receives a second signal.
 */
#include "transport/daemon.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/log.h"
#include "common/mem.h"

static void on_drained(void *arg)
{
	struct daemon *daemon = arg;

	loop_stop(daemon->loop);
}

static void on_late(void *arg)
{
	struct daemon *daemon = arg;

	log_debug("calls are still running");
	if (daemon->overdue)
		daemon->overdue(daemon->overdue_arg);
}

static void on_stop(void *arg)
{
	struct daemon *daemon = arg;

	if (daemon->stopping)
		_exit(EXIT_FAILURE);
	daemon->stopping = true;
	log_debug("daemon is stopping");
	loop_timer_start(daemon->late, limits_default.drain_ms);
	server_drain(daemon->server, on_drained, daemon);
}

/*
 * Open the descriptors 0 to 2 if the parent process left them closed. Otherwise a socket would get
 * their numbers, and the log would be written into it.
 */
static void open_standard_descriptors(void)
{
	int fd = 0;

	while (fd >= 0 && fd <= STDERR_FILENO)
		fd = open("/dev/null", O_RDWR);
	if (fd >= 0)
		close(fd);
}

int daemon_init(struct daemon *daemon, unsigned n_workers, struct error *err)
{
	*daemon = (struct daemon){0};
	open_standard_descriptors();
	signal(SIGPIPE, SIG_IGN);
	if (loop_new(&daemon->loop, err) < 0 ||
	    workers_new(&daemon->workers, daemon->loop, n_workers, err) < 0)
		return -1;
	daemon->server = server_new(daemon->loop, daemon->workers, NULL);
	daemon->late = loop_timer_new(daemon->loop, on_late, daemon);
	if (loop_on_signal(daemon->loop, SIGTERM, on_stop, daemon, err) < 0)
		return -1;
	return loop_on_signal(daemon->loop, SIGINT, on_stop, daemon, err);
}

int daemon_init_lanes(struct daemon *daemon, const unsigned *bounds, unsigned n, struct error *err)
{
	unsigned n_workers = 0;

	for (unsigned i = 0; i < n; i++)
		n_workers += bounds[i];
	if (daemon_init(daemon, n_workers, err) < 0)
		return -1;
	for (unsigned i = 0; i < n; i++)
		workers_bound(daemon->workers, i, bounds[i]);
	return 0;
}

/* Notify systemd of readiness, as sd_notify(3) does, by the socket in $NOTIFY_SOCKET. */
static void notify_systemd(void)
{
	static const char state[] = "READY=1";
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = {.sun_family = AF_UNIX};

	if (!path || strlen(path) >= sizeof(to.sun_path))
		return;
	strcpy(to.sun_path, path);
	/* An abstract socket: its name begins with a NUL and contains no other NUL. */
	if (*path == '@')
		to.sun_path[0] = '\0';
	const socklen_t size = offsetof(struct sockaddr_un, sun_path) + (socklen_t)strlen(path);
	auto_close int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (sendto(fd, state, strlen(state), 0, (const struct sockaddr *)&to, size) < 0)
		log_warn("cannot notify systemd of readiness", log_str("socket", path));
}

void daemon_run(struct daemon *daemon)
{
	notify_systemd();
	loop_run(daemon->loop);
}

void daemon_fini(struct daemon *daemon, void (*after_handlers)(void *arg), void *arg)
{
	/* The loop no longer handles these signals: let them end the process by default. */
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	loop_timer_free(daemon->late);
	monitor_free(daemon->monitor);
	server_free(daemon->server);
	workers_free(daemon->workers);
	if (after_handlers)
		after_handlers(arg);
	loop_free(daemon->loop);
}
