/* SPDX-License-Identifier: Apache-2.0 */
/* Names of agents and their addresses, by a scripted resolver. */
#include "tests/unit/tw_test.h"

#include "collector/ask/agent_lookup.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define REFRESH_MS 20
#define ADDRESSES 1030

/* ---- the resolver ---- */

int __wrap_getaddrinfo(const char *host, const char *service,
		       const struct addrinfo *hints, struct addrinfo **out);
void __wrap_freeaddrinfo(struct addrinfo *all);

/* The list that was not freed; a lookup has one at a time. */
static atomic_int unfreed;
/* Addresses of "moves". */
static atomic_int moved;

union address {
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static void put_address(struct addrinfo *a, union address *to, const char *text)
{
	a->ai_family = strchr(text, ':') != NULL ? AF_INET6 : AF_INET;
	a->ai_addr = (struct sockaddr *)to;
	assert_int_equal(inet_pton(a->ai_family, text,
				   a->ai_family == AF_INET6 ? (void *)&to->v6.sin6_addr
							    : (void *)&to->v4.sin_addr),
			 1);
}

/* "A,B": each name has other addresses. */
static const char *addresses_of(const char *host)
{
	static const struct {
		const char *host, *addresses;
	} names[] = {
		{ "four", "10.0.0.1,10.0.0.2" },
		{ "six", "fd11:1111:2222:3333:4444:5555:6666:7777,fd00::2" },
		{ "both", "fd00::1,10.0.0.1,fd00::2" },
		{ "twice", "10.0.0.1,10.0.0.1,10.0.0.2" },
		{ "empty", "" },
	};

	if (strcmp(host, "moves") == 0)
		return moved != 0 ? "10.0.0.9" : "10.0.0.8";
	for (size_t i = 0; i < TW_COUNT(names); i++)
		if (strcmp(names[i].host, host) == 0)
			return names[i].addresses;
	return NULL;
}

int __wrap_getaddrinfo(const char *host, const char *service,
		       const struct addrinfo *hints, struct addrinfo **out)
{
	static struct addrinfo list[ADDRESSES];
	static union address address[ADDRESSES];
	const bool many = strcmp(host, "many") == 0;
	const char *next = many ? "" : addresses_of(host);
	char text[64];
	size_t n = 0;

	assert_null(service);
	assert_int_equal(hints->ai_socktype, SOCK_STREAM);
	if (next == NULL)
		return EAI_NONAME;
	assert_int_equal(unfreed++, 0);
	memset(list, 0, sizeof(list));
	for (; many && n < ADDRESSES; n++) {
		snprintf(text, sizeof(text), "10.1.%zu.%zu", n / 250, n % 250);
		put_address(&list[n], &address[n], text);
	}
	for (; *next != '\0'; next += strcspn(next, ","), next += *next == ',') {
		snprintf(text, sizeof(text), "%.*s", (int)strcspn(next, ","), next);
		put_address(&list[n], &address[n], text);
		n++;
	}
	for (size_t i = 0; i + 1 < n; i++)
		list[i].ai_next = &list[i + 1];
	*out = list;
	/* A name may exist without an address of a host. */
	if (n == 0)
		list[0].ai_family = AF_UNIX;
	return 0;
}

void __wrap_freeaddrinfo(struct addrinfo *all)
{
	assert_non_null(all);
	unfreed--;
}

/* ---- the tests ---- */

/* They live as long as the process. */
static struct tw_agent_lookup *started[8];
static size_t starts;

static struct tw_agent_lookup *start(const struct tw_strs *urls, uint64_t refresh_ms)
{
	struct tw_err err = { 0 };

	if (tw_agent_lookup_start(urls, refresh_ms, &started[starts], &err) < 0)
		fail_msg("%s", err.text);
	return started[starts++];
}

/* What was found, "NUMBER NAME URL WHY ADDRESS .." a line; how many. */
struct taken {
	struct tw_buf text;
	size_t count;
};

static void note(void *arg, size_t name, const struct tw_agent_found *f)
{
	struct taken *t = arg;

	tw_buf_addf(&t->text, "%zu %s %s '%s'", name, f->name, f->url, f->why);
	for (size_t i = 0; i < f->connect_to.count && i < 3; i++)
		tw_buf_addf(&t->text, " %s", f->connect_to.at[i]);
	tw_buf_addf(&t->text, " (%zu)\n", f->connect_to.count);
	t->count++;
}

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

static void take(struct tw_agent_lookup *l, struct taken *t, size_t count)
{
	while (t->count < count) {
		tw_agent_lookup_take(l, note, t);
		sleep_ms(1);
	}
}

/* Names in an order, and their lines; each is taken once. */
static void each_name_has_the_addresses_of_one_family(void **state)
{
	char *names[] = {
		(char[]){ "dns:four" },          (char[]){ "http://10.9.9.9:8103" },
		(char[]){ "dns:six:9000" },      (char[]){ "dns:https://both:9443" },
		(char[]){ "dns:twice" },         (char[]){ "dns:empty" },
		(char[]){ "dns:nowhere:65535" }, (char[]){ "dns:many:1" },
	};
	struct tw_strs urls = { .at = names, .count = TW_COUNT(names) };
	struct tw_agent_lookup *l = start(&urls, 3600000);
	struct taken t = { .count = 0 };

	(void)state;
	take(l, &t, 7);
	assert_string_equal(
		t.text.data,
		"0 dns:four http://four:8103 '' ::10.0.0.1:8103 ::10.0.0.2:8103 (2)\n"
		"1 dns:six:9000 http://six:9000 '' "
		"::[fd11:1111:2222:3333:4444:5555:6666:7777]:9000 ::[fd00::2]:9000 "
		"(2)\n"
		"2 dns:https://both:9443 https://both:9443 '' ::10.0.0.1:9443 (1)\n"
		"3 dns:twice http://twice:8103 '' ::10.0.0.1:8103 ::10.0.0.2:8103 (2)\n"
		"4 dns:empty http://empty:8103 'no address' (0)\n"
		"5 dns:nowhere:65535 http://nowhere:65535 'Name or service not known' "
		"(0)\n"
		"6 dns:many:1 http://many:1 '' ::10.1.0.0:1 ::10.1.0.1:1 ::10.1.0.2:1 "
		"(1024)\n");
	assert_int_equal(unfreed, 0);
	tw_agent_lookup_take(l, note, &t);
	assert_int_equal(t.count, 7);
	tw_buf_clear(&t.text);
}

/* An agent that moves is found at its new address after the next lookup. */
static void a_name_is_looked_up_again(void **state)
{
	char *names[] = { (char[]){ "dns:moves" } };
	struct tw_strs urls = { .at = names, .count = 1 };
	struct tw_agent_lookup *l = start(&urls, REFRESH_MS);
	struct taken t = { .count = 0 };
	struct timespec from, to;

	(void)state;
	take(l, &t, 1);
	assert_non_null(strstr(t.text.data, "::10.0.0.8:8103 (1)"));
	moved = 1;
	clock_gettime(CLOCK_MONOTONIC, &from);
	take(l, &t, 6);
	clock_gettime(CLOCK_MONOTONIC, &to);
	assert_non_null(strstr(t.text.data, "::10.0.0.9:8103 (1)"));
	/* Not more often than it may be. */
	assert_true((double)(to.tv_sec - from.tv_sec) +
			    (double)(to.tv_nsec - from.tv_nsec) / 1e9 >
		    2 * REFRESH_MS / 1e3);
	tw_buf_clear(&t.text);
}

static void without_names_nothing_is_looked_up(void **state)
{
	char *names[] = { (char[]){ "http://four:8103" } };
	struct tw_strs urls = { .at = names, .count = 1 }, none = { .count = 0 };
	struct taken t = { .count = 0 };

	(void)state;
	tw_agent_lookup_take(start(&urls, REFRESH_MS), note, &t);
	tw_agent_lookup_take(start(&none, REFRESH_MS), note, &t);
	sleep_ms(2L * REFRESH_MS);
	assert_int_equal(t.count, 0);
}

static void a_wrong_name_is_an_error(void **state)
{
	char *names[] = { (char[]){ "dns:four" }, (char[]){ "dns:a b" } };
	struct tw_strs urls = { .at = names, .count = 2 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(
		tw_agent_lookup_start(&urls, REFRESH_MS, &started[starts++], &err), -1);
	assert_string_equal(err.text, "'dns:a b': want dns:NAME or dns:NAME:PORT");
}

static void a_name_has_limits(void **state)
{
	char text[300] = "dns:";

	(void)state;
	memset(text + 4, 'a', 254);
	for (size_t len = 253; len <= 254; len++) {
		struct tw_err err = { 0 };
		char *url = NULL;

		text[4 + len] = '\0';
		assert_int_equal(tw_agent_name_read(text, &url, &err),
				 len == 253 ? 0 : -1);
		free(url);
		text[4 + len] = 'a';
	}
}

static void a_port_is_a_number_up_to_65535(void **state)
{
	static const struct {
		const char *text, *url;
	} cases[] = {
		{ "dns:a:1", "http://a:1" },  { "dns:a:65535", "http://a:65535" },
		{ "dns:a:65536", NULL },      { "dns:a:0", NULL },
		{ "dns:a:", NULL },           { "dns:a:123456", NULL },
		{ "dns:a:1x", NULL },         { "dns:a:000080", NULL },
		{ "dns:a:4294967297", NULL },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_err err = { 0 };
		char *url = NULL;
		const int rc = tw_agent_name_read(cases[i].text, &url, &err);

		assert_int_equal(rc, cases[i].url != NULL ? 0 : -1);
		if (cases[i].url != NULL)
			assert_string_equal(url, cases[i].url);
		free(url);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_name_has_the_addresses_of_one_family),
		cmocka_unit_test(a_name_is_looked_up_again),
		cmocka_unit_test(without_names_nothing_is_looked_up),
		cmocka_unit_test(a_wrong_name_is_an_error),
		cmocka_unit_test(a_name_has_limits),
		cmocka_unit_test(a_port_is_a_number_up_to_65535),
	};

	return cmocka_run_group_tests_name("agent_lookup", tests, NULL, NULL);
}
