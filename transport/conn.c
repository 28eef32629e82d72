/* SPDX-License-Identifier: MPL-2.0 */
/*
 * One HTTP/2 connection: socket, session, timers. What nghttp2 reports while it is fed is
 * conn_session.c's.
 *
 * Bytes go one way each: read -> shared buffer -> nghttp2; nghttp2 -> shared buffer -> write. What
 * the socket does not take at once is kept, and nghttp2 is not asked for more until it is gone, so
 * a peer that does not read holds one buffer and no more.
 *
 * Invariant: every event handler ends in settle(), the only place that frees the connection.
 */
#include "transport/conn.h"

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "transport/conn_session.h"

#define BUFFER_SIZE    ((size_t)64 * 1024)
#define READS_A_TURN   4
#define WRITTEN_A_TURN ((size_t)256 * 1024)

static _Thread_local uint8_t buffer[BUFFER_SIZE];

/* Time limits */

static void schedule(struct conn *conn)
{
	int64_t first = NO_DEADLINE;

	for (unsigned i = 0; i < COUNT(conn->deadlines); i++) {
		if (conn->deadlines[i] < first)
			first = conn->deadlines[i];
	}
	if (first == conn->scheduled)
		return;
	conn->scheduled = first;
	if (first == NO_DEADLINE)
		loop_timer_stop(conn->timer);
	else
		loop_timer_start(conn->timer, time_left_ms(first));
}

static void expire(struct conn *conn)
{
	static const char *const problems[] = {
		[DEADLINE_HANDSHAKE] = "no HTTP/2 preface and SETTINGS in time",
		[DEADLINE_SETTINGS] = "SETTINGS not acknowledged in time",
		[DEADLINE_WRITE] = "the peer reads nothing",
	};
	int64_t now = now_ms();

	conn->scheduled = NO_DEADLINE;
	for (unsigned i = 0; i < COUNT(problems); i++) {
		if (conn->deadlines[i] <= now)
			conn_fail(conn, problems[i]);
	}
	if (conn->deadlines[DEADLINE_GOAWAY] <= now)
		conn_say_goodbye(conn);
}

/* Writing */

/* Keep what the socket did not take. */
static void keep(struct conn *conn, const uint8_t *bytes, size_t n)
{
	if (n == 0)
		return;
	conn->unsent = mem_alloc(n);
	memcpy(conn->unsent, bytes, n);
	conn->unsent_size = n;
	conn->unsent_at = 0;
	event_add(conn->writable, NULL);
}

/* How many bytes went; -1 when the connection is lost. */
static ssize_t write_some(struct conn *conn, const uint8_t *bytes, size_t n)
{
	ssize_t written = send(conn->fd, bytes, n, MSG_NOSIGNAL);

	if (written >= 0)
		return written;
	if (errno == EAGAIN || errno == EINTR)
		return 0;
	conn_fail(conn, strerrordesc_np(errno));
	return -1;
}

static bool write_unsent(struct conn *conn)
{
	if (!conn->unsent)
		return true;
	ssize_t n = write_some(conn, conn->unsent + conn->unsent_at,
			       conn->unsent_size - conn->unsent_at);
	if (n < 0)
		return false;
	conn->progress |= n > 0;
	conn->unsent_at += (size_t)n;
	if (conn->unsent_at < conn->unsent_size) {
		event_add(conn->writable, NULL);
		return false;
	}
	free(conn->unsent);
	conn->unsent = NULL;
	return true;
}

/* Fill the shared buffer from nghttp2; a chunk that does not fit waits in conn->chunk. */
static size_t gather(struct conn *conn)
{
	size_t n = 0;

	for (;;) {
		if (conn->chunk_size == 0) {
			ssize_t size = nghttp2_session_mem_send(conn->session, &conn->chunk);
			if (size < 0)
				conn_fail(conn, nghttp2_strerror((int)size));
			if (size <= 0)
				return n;
			conn->chunk_size = (size_t)size;
		}
		size_t take = conn->chunk_size;
		if (take > BUFFER_SIZE - n)
			take = BUFFER_SIZE - n;
		if (take == 0)
			return n;
		memcpy(buffer + n, conn->chunk, take);
		n += take;
		conn->chunk += take;
		conn->chunk_size -= take;
	}
}

static void flush(struct conn *conn)
{
	size_t total = 0;

	if (conn->connecting || conn->problem || !write_unsent(conn))
		return;
	while (total < WRITTEN_A_TURN) {
		size_t n = gather(conn);
		if (n == 0)
			return;
		ssize_t written = write_some(conn, buffer, n);
		if (written < 0)
			return;
		total += (size_t)written;
		if ((size_t)written < n) {
			keep(conn, buffer + written, n - (size_t)written);
			return;
		}
	}
	event_add(conn->writable, NULL);
}

/*
 * A peer that takes none of our bytes is given up, and at once when it has us queue frame upon
 * frame meanwhile.
 */
static void watch_peer(struct conn *conn)
{
	if (!conn->unsent)
		conn->deadlines[DEADLINE_WRITE] = NO_DEADLINE;
	else if (conn->progress || conn->deadlines[DEADLINE_WRITE] == NO_DEADLINE)
		conn->deadlines[DEADLINE_WRITE] = now_ms() + conn->limits->write_ms;
	conn->progress = false;
	if (conn->unsent &&
	    nghttp2_session_get_outbound_queue_size(conn->session) > conn->limits->frames)
		conn_fail(conn, "the peer reads nothing");
}

static bool is_over(const struct conn *conn)
{
	return !conn->unsent && conn->chunk_size == 0 &&
	       !nghttp2_session_want_read(conn->session) &&
	       !nghttp2_session_want_write(conn->session);
}

/* The end of every turn. */
static void settle(struct conn *conn)
{
	bool over;

	flush(conn);
	watch_peer(conn);
	over = is_over(conn);
	if (over && (conn->streams || !conn_was_ready(conn)))
		conn_fail(conn, "the peer broke the rules of HTTP/2");
	if (over || conn->problem)
		conn_free(conn);
	else
		schedule(conn);
}

void conn_pump(struct conn *conn)
{
	settle(conn);
}

/* Events */

static void on_timer(void *arg)
{
	struct conn *conn = arg;

	expire(conn);
	settle(conn);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct conn *conn = arg;

	(void)what;
	if (conn->connecting) {
		int error = 0;
		socklen_t size = sizeof(error);
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
		if (error)
			conn_fail(conn, strerrordesc_np(error));
		conn->connecting = false;
		event_add(conn->readable, NULL);
	}
	settle(conn);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct conn *conn = arg;

	(void)what;
	for (int i = 0; i < READS_A_TURN && !conn->problem; i++) {
		ssize_t n = recv(fd, buffer, BUFFER_SIZE, 0);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (n <= 0) {
			conn_fail(conn, n == 0 ? "closed by the peer" : strerrordesc_np(errno));
			break;
		}
		conn_feed(conn, buffer, (size_t)n);
		if ((size_t)n < BUFFER_SIZE)
			break;
	}
	settle(conn);
}

/* Life */

static void start_session(struct conn *conn)
{
	const struct limits *limits = conn->limits;
	nghttp2_settings_entry settings[] = {
		{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits->streams},
		{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits->stream_window},
		{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)limits->header_list},
		{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
	};
	size_t n = COUNT(settings) - (conn->role->is_server ? 1 : 0);

	conn->session = conn_session_new(conn);
	nghttp2_submit_settings(conn->session, NGHTTP2_FLAG_NONE, settings, n);
	nghttp2_session_set_local_window_size(conn->session, NGHTTP2_FLAG_NONE, 0,
					      (int32_t)limits->connection_window);
}

struct conn *conn_new(struct loop *loop, int fd, bool connecting, const struct conn_role *role,
		      const struct limits *limits, void *owner)
{
	struct conn *conn = mem_alloc(sizeof(*conn));

	*conn = (struct conn){.loop = loop,
			      .fd = fd,
			      .connecting = connecting,
			      .role = role,
			      .limits = limits,
			      .owner = owner,
			      .scheduled = NO_DEADLINE};
	for (unsigned i = 0; i < COUNT(conn->deadlines); i++)
		conn->deadlines[i] = NO_DEADLINE;
	conn->deadlines[DEADLINE_HANDSHAKE] =
		now_ms() + limits->handshake_ms + (connecting ? limits->connect_ms : 0);
	conn->deadlines[DEADLINE_SETTINGS] =
		conn->deadlines[DEADLINE_HANDSHAKE] + limits->settings_ack_ms;
	conn->timer = loop_timer_new(loop, on_timer, conn);
	conn->readable = event_new(loop_base(loop), fd, EV_READ | EV_PERSIST, on_readable, conn);
	conn->writable = event_new(loop_base(loop), fd, EV_WRITE, on_writable, conn);
	start_session(conn);
	if (!connecting)
		event_add(conn->readable, NULL);
	event_add(conn->writable, NULL);
	schedule(conn);
	return conn;
}

void *conn_owner(const struct conn *conn)
{
	return conn->owner;
}

bool conn_is_idle(const struct conn *conn)
{
	return !conn->streams;
}

bool conn_was_ready(const struct conn *conn)
{
	return conn->deadlines[DEADLINE_HANDSHAKE] == NO_DEADLINE;
}

const char *conn_problem(const struct conn *conn)
{
	return conn->problem ? conn->problem : "";
}

void conn_free(struct conn *conn)
{
	conn_leave(conn);
	while (conn->streams)
		conn_close_stream(conn->streams, NGHTTP2_CANCEL);
	conn->role->freed(conn);
	event_free(conn->readable);
	event_free(conn->writable);
	loop_timer_free(conn->timer);
	nghttp2_session_del(conn->session);
	close(conn->fd);
	free(conn->unsent);
	free(conn);
}

void conn_drain(struct conn *conn)
{
	conn->deadlines[DEADLINE_GOAWAY] = now_ms() + conn->limits->goaway_ms;
	nghttp2_submit_shutdown_notice(conn->session);
	nghttp2_submit_ping(conn->session, NGHTTP2_FLAG_NONE, NULL);
	settle(conn);
}
