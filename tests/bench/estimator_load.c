/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One end of a Unix socket under load: asks as fast as answers come, on a number of
 * connections, and tells rate and latency; or is a bare echo, to compare with.
 *
 *	estimator_load echo SOCKET
 *	estimator_load ask SOCKET CONNECTIONS SECONDS REQUEST-FILE line|echo
 *
 * CONNECTIONS 0: one after the other, for each request a new one, as Kepler has it.
 * An answer is a line, or what was sent. Output of ask: requests/s, p50 and p99 in us,
 * requests.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define CHUNK (64 * 1024)
#define CONNECTIONS_MAX 1024
#define SAMPLES_MAX ((size_t)1 << 22)

static void die(const char *what)
{
	fprintf(stderr, "estimator_load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct sockaddr_un address(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	return a;
}

static void send_all(int fd, const char *data, size_t len)
{
	while (len > 0) {
		const ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR && errno != EAGAIN)
			die("send");
		if (n > 0) {
			data += n;
			len -= (size_t)n;
		}
	}
}

/* As the estimator does it: one thread, epoll, sockets that do not block. */
static void echo(const char *path)
{
	static char chunk[CHUNK];
	const struct sockaddr_un a = address(path);
	const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	const int epoll = epoll_create1(0);
	struct epoll_event e = { .events = EPOLLIN, .data = { .fd = listener } };

	if (bind(listener, (const struct sockaddr *)&a, sizeof(a)) < 0 ||
	    listen(listener, 1024) < 0 ||
	    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &e) < 0)
		die(path);
	for (;;) {
		struct epoll_event got[64];
		const int count = epoll_wait(epoll, got, 64, -1);

		for (int i = 0; i < count; i++) {
			const int fd = got[i].data.fd;
			ssize_t n;

			if (fd == listener) {
				e.data.fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
				epoll_ctl(epoll, EPOLL_CTL_ADD, e.data.fd, &e);
				continue;
			}
			n = recv(fd, chunk, sizeof(chunk), 0);
			if (n > 0)
				send_all(fd, chunk, (size_t)n);
			else if (n == 0 || errno != EAGAIN)
				close(fd);
		}
	}
}

/* What is asked, and what came of it. */
struct load {
	char *request;
	size_t len;
	bool line; /* an answer is a line, else as long as the request */
	uint32_t *sample_ns;
	size_t samples;
};

struct connection {
	int fd;
	size_t got;
	uint64_t sent_ns;
};

static void ask(const struct load *l, struct connection *c)
{
	c->got = 0;
	c->sent_ns = now_ns();
	send_all(c->fd, l->request, l->len);
}

/* Take what has come; true: the answer is whole. */
static bool take(const struct load *l, struct connection *c)
{
	static char chunk[CHUNK];
	const ssize_t n = recv(c->fd, chunk, sizeof(chunk), 0);

	if (n == 0) {
		errno = ECONNRESET;
		die("no answer");
	}
	if (n < 0 && errno != EINTR && errno != EAGAIN)
		die("recv");
	if (n <= 0)
		return false;
	c->got += (size_t)n;
	return l->line ? chunk[n - 1] == '\n' : c->got >= l->len;
}

static void count_sample(struct load *l, const struct connection *c)
{
	if (l->samples < SAMPLES_MAX)
		l->sample_ns[l->samples] = (uint32_t)(now_ns() - c->sent_ns);
	l->samples++;
}

static void run_one(struct load *l, struct connection *c, uint64_t until_ns)
{
	while (now_ns() < until_ns) {
		ask(l, c);
		while (!take(l, c))
			;
		count_sample(l, c);
	}
}

static void open_connections(const char *path, struct connection *c, size_t count)
{
	const struct sockaddr_un a = address(path);

	for (size_t i = 0; i < count; i++) {
		c[i].fd = socket(AF_UNIX, SOCK_STREAM, 0);
		if (c[i].fd < 0 ||
		    connect(c[i].fd, (const struct sockaddr *)&a, sizeof(a)) < 0)
			die(path);
	}
}

/* From before it connects until it has its answer. */
static void run_anew(struct load *l, const char *path, uint64_t until_ns)
{
	while (now_ns() < until_ns) {
		const uint64_t start_ns = now_ns();
		struct connection c;

		open_connections(path, &c, 1);
		ask(l, &c);
		while (!take(l, &c))
			;
		c.sent_ns = start_ns;
		count_sample(l, &c);
		close(c.fd);
	}
}

static void run_many(struct load *l, struct connection *c, size_t count,
		     uint64_t until_ns)
{
	const int epoll = epoll_create1(0);
	size_t open = count;

	for (size_t i = 0; i < count; i++) {
		struct epoll_event e = { .events = EPOLLIN, .data = { .ptr = &c[i] } };

		epoll_ctl(epoll, EPOLL_CTL_ADD, c[i].fd, &e);
		ask(l, &c[i]);
	}
	while (open > 0) {
		struct epoll_event got[64];
		const int n = epoll_wait(epoll, got, 64, -1);

		for (int i = 0; i < n; i++) {
			struct connection *one = got[i].data.ptr;

			if (!take(l, one))
				continue;
			count_sample(l, one);
			if (now_ns() < until_ns)
				ask(l, one);
			else
				open--;
		}
	}
	close(epoll);
}

static void read_request(const char *path, struct load *l)
{
	FILE *f = fopen(path, "rb");
	struct stat st;

	if (f == NULL || fstat(fileno(f), &st) < 0)
		die(path);
	l->len = (size_t)st.st_size;
	l->request = malloc(l->len);
	l->sample_ns = calloc(SAMPLES_MAX, sizeof(*l->sample_ns));
	if (l->request == NULL || l->sample_ns == NULL ||
	    fread(l->request, 1, l->len, f) != l->len)
		die(path);
	fclose(f);
}

static int by_value(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void tell(struct load *l, double seconds)
{
	const size_t n = l->samples < SAMPLES_MAX ? l->samples : SAMPLES_MAX;

	qsort(l->sample_ns, n, sizeof(l->sample_ns[0]), by_value);
	printf("%.1f %.2f %.2f %zu\n", (double)l->samples / seconds,
	       (double)l->sample_ns[n / 2] / 1e3,
	       (double)l->sample_ns[n * 99 / 100] / 1e3, l->samples);
}

int main(int argc, char **argv)
{
	static struct connection connection[CONNECTIONS_MAX];
	struct load l = { 0 };
	size_t count;
	double seconds;
	uint64_t start_ns;

	if (argc == 3 && strcmp(argv[1], "echo") == 0)
		echo(argv[2]);
	if (argc != 7 || strcmp(argv[1], "ask") != 0) {
		fprintf(stderr, "estimator_load: see the head of its source\n");
		return 2;
	}
	count = strtoul(argv[3], NULL, 10);
	seconds = strtod(argv[4], NULL);
	if (count > CONNECTIONS_MAX)
		return 2;
	l.line = strcmp(argv[6], "line") == 0;
	read_request(argv[5], &l);
	open_connections(argv[2], connection, count);
	start_ns = now_ns();
	if (count == 0)
		run_anew(&l, argv[2], start_ns + (uint64_t)(seconds * 1e9));
	else if (count == 1)
		run_one(&l, &connection[0], start_ns + (uint64_t)(seconds * 1e9));
	else
		run_many(&l, connection, count, start_ns + (uint64_t)(seconds * 1e9));
	tell(&l, (double)(now_ns() - start_ns) / 1e9);
	return 0;
}
