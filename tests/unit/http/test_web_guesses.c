/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "lib/http/web/web_users.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

static struct tw_web_guesses *make(void)
{
	struct tw_err err = { 0 };
	struct tw_web_guesses *g;

	assert_int_equal(tw_web_guesses_new(&g, &err), 0);
	return g;
}

static bool take(struct tw_web_guesses *g, const char *address, uint64_t now_ms,
		 uint64_t *wait_ms)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };

	if (inet_pton(AF_INET, address, &v4.sin_addr) == 1)
		return tw_web_guesses_take(g, (void *)&v4, now_ms, wait_ms);
	assert_int_equal(inet_pton(AF_INET6, address, &v6.sin6_addr), 1);
	return tw_web_guesses_take(g, (void *)&v6, now_ms, wait_ms);
}

/* Take all tokens of the address. */
static void use_up(struct tw_web_guesses *g, const char *address, uint64_t now_ms)
{
	uint64_t wait_ms;

	for (int i = 0; i < TW_GUESSES_BURST; i++)
		assert_true(take(g, address, now_ms, &wait_ms));
}

static void an_address_has_a_burst_and_then_a_token_an_interval(void **state)
{
	struct tw_web_guesses *g = make();
	uint64_t wait_ms, now = 1000000;

	(void)state;
	use_up(g, "192.0.2.1", now);
	assert_false(take(g, "192.0.2.1", now, &wait_ms));
	assert_int_equal(wait_ms, TW_GUESSES_INTERVAL_MS);
	/* A refused guess takes no token. */
	assert_false(take(g, "192.0.2.1", now + 1000, &wait_ms));
	assert_int_equal(wait_ms, TW_GUESSES_INTERVAL_MS - 1000);
	now += TW_GUESSES_INTERVAL_MS;
	assert_true(take(g, "192.0.2.1", now, &wait_ms));
	assert_false(take(g, "192.0.2.1", now, &wait_ms));
	assert_true(take(g, "192.0.2.2", now, &wait_ms));
	tw_web_guesses_free(g);
}

static void a_right_password_costs_nothing(void **state)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	struct tw_web_guesses *g = make();
	uint64_t wait_ms;

	(void)state;
	for (int i = 0; i < 10 * TW_GUESSES_ALL_BURST; i++) {
		assert_true(tw_web_guesses_take(g, (void *)&a, 1000, &wait_ms));
		tw_web_guesses_give_back(g, (void *)&a);
	}
	tw_web_guesses_free(g);
}

static void a_token_that_is_given_back_is_one_token(void **state)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	struct tw_web_guesses *g = make();
	uint64_t wait_ms;

	(void)state;
	for (int i = 0; i < TW_GUESSES_BURST; i++)
		assert_true(tw_web_guesses_take(g, (void *)&a, 1000000, &wait_ms));
	tw_web_guesses_give_back(g, (void *)&a);
	assert_true(tw_web_guesses_take(g, (void *)&a, 1000000, &wait_ms));
	assert_false(tw_web_guesses_take(g, (void *)&a, 1000000, &wait_ms));
	assert_int_equal(wait_ms, TW_GUESSES_INTERVAL_MS);
	tw_web_guesses_free(g);
}

static void all_addresses_together_have_a_limit(void **state)
{
	struct tw_web_guesses *g = make();
	uint64_t wait_ms;

	(void)state;
	use_up(g, "192.0.2.1", 1000);
	use_up(g, "192.0.2.2", 1000);
	assert_int_equal(2 * TW_GUESSES_BURST, TW_GUESSES_ALL_BURST);
	assert_false(take(g, "192.0.2.3", 1000, &wait_ms));
	assert_int_equal(wait_ms, TW_GUESSES_ALL_INTERVAL_MS);
	assert_true(take(g, "192.0.2.3", 1000 + TW_GUESSES_ALL_INTERVAL_MS, &wait_ms));
	tw_web_guesses_free(g);
}

static void a_network_of_ipv6_is_one_address_a_mapped_one_is_ipv4(void **state)
{
	struct tw_web_guesses *g = make();
	uint64_t wait_ms;

	(void)state;
	use_up(g, "2001:db8::1", 1000);
	assert_false(take(g, "2001:db8::ffff:1", 1000, &wait_ms));
	assert_true(take(g, "2001:db8:0:1::1", 1000, &wait_ms));
	tw_web_guesses_free(g);
	g = make();
	use_up(g, "192.0.2.1", 1000);
	assert_false(take(g, "::ffff:192.0.2.1", 1000, &wait_ms));
	assert_true(tw_web_guesses_take(g, NULL, 1000, &wait_ms));
	tw_web_guesses_free(g);
}

static void a_full_table_forgets_the_oldest_address(void **state)
{
	const uint64_t much_ms = UINT64_C(1) << 40;
	struct tw_web_guesses *g = make();
	uint64_t wait_ms, now = much_ms;
	char address[32];

	(void)state;
	/* A clock that stands still but for this address: its bucket stays empty. */
	for (int i = 0; i < TW_GUESSES_BURST; i++)
		assert_true(take(g, "192.0.2.1", now, &wait_ms));
	assert_false(take(g, "192.0.2.1", now, &wait_ms));
	for (unsigned i = 0; i < TW_GUESSES_ADDRESSES; i++) {
		snprintf(address, sizeof(address), "10.0.%u.%u", i / 256, i % 256);
		(void)take(g, address, now + 1 + i, &wait_ms);
	}
	/* Its own limit would last for TW_GUESSES_INTERVAL_MS. */
	assert_true(take(g, "192.0.2.1", now + 2000, &wait_ms));
	tw_web_guesses_free(g);
}

static void a_full_table_keeps_newer_addresses(void **state)
{
	struct tw_web_guesses *g = make();
	uint64_t wait_ms, now = UINT64_C(1) << 40;
	const uint64_t since = now;
	char address[32];

	(void)state;
	use_up(g, "192.0.2.9", now++);
	for (unsigned i = 0; i < TW_GUESSES_ADDRESSES - 1; i++) {
		snprintf(address, sizeof(address), "10.0.%u.%u", i / 256, i % 256);
		(void)take(g, address, now++, &wait_ms);
	}
	/* The first address of the table asks again, so it is the newest. */
	assert_false(take(g, "192.0.2.9", now++, &wait_ms));
	(void)take(g, "192.0.2.2", now++, &wait_ms);
	assert_false(take(g, "192.0.2.9", now, &wait_ms));
	assert_int_equal(wait_ms, since + TW_GUESSES_INTERVAL_MS - now);
	tw_web_guesses_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_has_a_burst_and_then_a_token_an_interval),
		cmocka_unit_test(a_right_password_costs_nothing),
		cmocka_unit_test(a_token_that_is_given_back_is_one_token),
		cmocka_unit_test(all_addresses_together_have_a_limit),
		cmocka_unit_test(a_network_of_ipv6_is_one_address_a_mapped_one_is_ipv4),
		cmocka_unit_test(a_full_table_forgets_the_oldest_address),
		cmocka_unit_test(a_full_table_keeps_newer_addresses),
	};

	return cmocka_run_group_tests_name("web_guesses", tests, NULL, NULL);
}
