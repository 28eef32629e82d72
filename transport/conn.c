/* SPDX-License-Identifier: MPL-2.0 */
/*
 * An HTTP/2 connection from creation to free: its events, its time limits, its end. conn_socket.c
 * moves its bytes, conn_session.c holds the callbacks of nghttp2.
 *
 * Invariant: every event handler ends in settle(), which frees the connection when it is over. No
 * other code frees it, except the owner by conn_free.
 */
#include "transport/conn.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "transport/conn_linger.h"
#include "transport/conn_inside.h"
#include "transport/conn_socket.h"
#include "transport/conn_stream.h"

/* Time limits */

static void schedule(struct conn *conn)
{
	int64_t first = NO_DEADLINE;

	for (unsigned i = 0; i < COUNT(conn->deadlines); i++)
		if (conn->deadlines[i] < first)
			first = conn->deadlines[i];
	if (first == conn->scheduled)
		return;
	conn->scheduled = first;
	if (first == NO_DEADLINE)
		loop_timer_stop(conn->timer);
	else
		loop_timer_start(conn->timer, time_left_ms(first));
}

/* Call role->overdue for every open stream, and repeat that every drain_ms. */
static void warn_overdue(struct conn *conn)
{
	conn->deadlines[DEADLINE_DRAIN] = now_ms() + conn->limits->drain_ms;
	for (struct stream *stream = conn->streams; stream; stream = stream->next)
		conn->role->overdue(stream);
}

static const char *late_beginning(const struct conn *conn)
{
	if (conn->connecting)
		return "it does not answer";
	return conn->tls && !tls_session_ready(conn->tls)
		       ? "the TLS handshake was not over in time"
		       : "no HTTP/2 preface and SETTINGS in time";
}

static void expire(struct conn *conn)
{
	const char *const problems[] = {
		[DEADLINE_HANDSHAKE] = late_beginning(conn),
		[DEADLINE_SETTINGS] = "SETTINGS not acknowledged in time",
		[DEADLINE_WRITE] = "the peer reads nothing",
		[DEADLINE_PING] = "no answer to a PING",
	};
	int64_t now = now_ms();

	conn->scheduled = NO_DEADLINE;
	for (unsigned i = 0; i < COUNT(problems); i++)
		if (conn->deadlines[i] <= now)
			conn_fail(conn, problems[i]);
	if (conn->deadlines[DEADLINE_GOAWAY] <= now)
		conn_send_goaway(conn);
	if (conn->deadlines[DEADLINE_DRAIN] <= now)
		warn_overdue(conn);
	conn->over |= conn->deadlines[DEADLINE_LINGER] <= now;
}

/*
 * Restart the write deadline when the socket accepted bytes, and fail the connection at once when
 * the peer reads nothing but makes us queue more than limits->frames frames. Once the socket
 * accepts no more (hung_up), the write deadline limits the wait for the peer's last bytes.
 */
static void watch_peer(struct conn *conn)
{
	size_t waiting = outbox_waiting(&conn->out);

	if (waiting == 0 && !conn->hung_up)
		conn->deadlines[DEADLINE_WRITE] = NO_DEADLINE;
	else if (conn->progress || conn->deadlines[DEADLINE_WRITE] == NO_DEADLINE)
		conn->deadlines[DEADLINE_WRITE] = now_ms() + conn->limits->write_ms;
	conn->progress = false;
	if (waiting > 0 &&
	    nghttp2_session_get_outbound_queue_size(conn->session) > conn->limits->frames)
		conn_fail(conn, "the peer reads nothing");
}

static bool is_all_sent(const struct conn *conn)
{
	return outbox_waiting(&conn->out) == 0 && conn->chunk_size == 0 &&
	       !nghttp2_session_want_read(conn->session) &&
	       !nghttp2_session_want_write(conn->session);
}

static void close_streams(struct conn *conn)
{
	conn_leave(conn);
	while (conn->streams)
		conn_close_stream(conn->streams,
				  conn->goaway_code ? conn->goaway_code : NGHTTP2_CANCEL);
}

static void finish(struct conn *conn)
{
	if (conn->streams || !conn_was_ready(conn))
		conn_fail(conn, "the peer broke the rules of HTTP/2");
	close_streams(conn);
	conn_linger(conn);
}

/* End a turn: write, check the write deadline, then free the connection or set its timer. */
static void settle(struct conn *conn)
{
	conn->in_turn = true;
	conn_flush(conn);
	conn->in_turn = false;
	watch_peer(conn);
	if (!conn->over && !conn_lingers(conn) && is_all_sent(conn))
		finish(conn);
	if (conn->over)
		conn_free(conn);
	else
		schedule(conn);
}

void conn_pump(struct conn *conn)
{
	settle(conn);
}

void conn_wake(struct conn *conn)
{
	if (!conn->in_turn && !conn->connecting)
		event_active(conn->writable, EV_WRITE, 0);
}

/* Events */

static void on_timer(void *arg)
{
	struct conn *conn = arg;

	conn->in_turn = true;
	expire(conn);
	settle(conn);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct conn *conn = arg;

	(void)what;
	conn->in_turn = true;
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

	(void)fd;
	(void)what;
	conn->in_turn = true;
	if (conn_lingers(conn))
		conn_discard(conn);
	else
		conn_receive(conn);
	settle(conn);
}

/* Creation and end */

static void start_session(struct conn *conn)
{
	const struct limits *limits = conn->limits;
	nghttp2_settings_entry settings[] = {
		{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits->streams},
		{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits->stream_window},
		{NGHTTP2_SETTINGS_MAX_FRAME_SIZE, limits->frame},
		{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)limits->header_list},
		{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
	};
	size_t n = COUNT(settings) - (conn->role->is_server ? 1 : 0);

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
	conn->session = conn_session_new(conn);
	if (!conn->session) {
		close(fd);
		free(conn->problem);
		free(conn);
		return NULL;
	}
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

void conn_secure(struct conn *conn, struct tls *tls, const char *host, const char *name)
{
	conn->tls = tls_session_new(tls, host, name, &conn->out);
	if (!conn->tls)
		conn_fail(conn, "out of memory");
}

struct tls_names *conn_peer_names(const struct conn *conn)
{
	return conn->tls ? tls_session_peer(conn->tls) : NULL;
}

const struct tls_certificate *conn_shown(const struct conn *conn)
{
	return conn->tls ? tls_session_shown(conn->tls) : NULL;
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
	/* conn_last_words comes first: a request that it still writes must not be retried. */
	conn_last_words(conn);
	close_streams(conn);
	conn->role->freed(conn);
	event_free(conn->readable);
	event_free(conn->writable);
	loop_timer_free(conn->timer);
	nghttp2_session_del(conn->session);
	close(conn->fd);
	tls_session_free(conn->tls);
	outbox_fini(&conn->out);
	free(conn->problem);
	free(conn);
}

void conn_drain(struct conn *conn)
{
	conn->deadlines[DEADLINE_GOAWAY] = now_ms() + conn->limits->goaway_ms;
	conn->deadlines[DEADLINE_DRAIN] = now_ms() + conn->limits->drain_ms;
	nghttp2_submit_shutdown_notice(conn->session);
	nghttp2_submit_ping(conn->session, NGHTTP2_FLAG_NONE, NULL);
	settle(conn);
}
