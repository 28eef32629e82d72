/* SPDX-License-Identifier: MPL-2.0 */
/*
 * IP addresses as text: resolving a server's name, and finding this host's own address.
 *
 * Invariant: this host's address is the one that the kernel's routes select. connect(2) on a
 * datagram socket looks up the route and sends nothing.
 */
#include "node/host/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>

#include "common/mem.h"

/*
 * Addresses for documentation (RFC 5737, RFC 3849). No network has them, so only the default route
 * leads there.
 */
static const char *const by_default_route[] = {"192.0.2.1", "2001:db8::1"};

bool address_is(const char *text)
{
	unsigned char ignored[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, text, ignored) == 1 || inet_pton(AF_INET6, text, ignored) == 1;
}

static int resolve(const char *host, int flags, struct addrinfo **ret)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM, .ai_flags = flags};

	return getaddrinfo(host, "2049", &hints, ret);
}

static void write_address(const struct sockaddr *address, socklen_t length, char ret[ADDRESS_MAX])
{
	if (getnameinfo(address, length, ret, ADDRESS_MAX, NULL, 0, NI_NUMERICHOST))
		*ret = '\0';
}

int address_of_server(const char *source, char ret[ADDRESS_MAX], struct error *err)
{
	auto_free char *host = mem_strdup(*source == '[' ? source + 1 : source);
	struct addrinfo *found;

	*strstr(host, ":/") = '\0';
	if (*source == '[')
		host[strcspn(host, "]")] = '\0';
	int number = resolve(host, 0, &found);
	if (number)
		return fail(err, ERR_UNAVAILABLE, "cannot resolve the server '%s': %s", host,
			    gai_strerror(number));
	write_address(found->ai_addr, found->ai_addrlen, ret);
	freeaddrinfo(found);
	return 0;
}

int address_towards(const char *other, char ret[ADDRESS_MAX], struct error *err)
{
	struct sockaddr_storage own;
	socklen_t length = sizeof(own);
	struct addrinfo *found;

	if (resolve(other, AI_NUMERICHOST, &found))
		return fail(err, ERR_INVALID_ARGUMENT, "'%s' is not an IP address", other);
	auto_close int fd = socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool failed = fd < 0 || connect(fd, found->ai_addr, found->ai_addrlen) ||
		      getsockname(fd, (struct sockaddr *)&own, &length);
	freeaddrinfo(found);
	if (failed)
		return fail_errno(err, "cannot reach the host '%s'", other);
	write_address((struct sockaddr *)&own, length, ret);
	return 0;
}

void address_default(char ret[ADDRESS_MAX])
{
	struct error ignored;

	for (size_t i = 0; i < COUNT(by_default_route); i++)
		if (address_towards(by_default_route[i], ret, &ignored) == 0)
			return;
	*ret = '\0';
}
