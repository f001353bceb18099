/* SPDX-License-Identifier: Apache-2.0 */
/* The estimator as a whole: its limits, its models as they change, its sockets. */
#include "tests/unit/tw_test.h"

#include "estimator/client.h"
#include "lib/core/err.h"
#include "lib/program/log.h"
#include "tests/unit/running_estimator.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static const char simple[] = SIMPLE;
static const char simple_answer[] = SIMPLE_ANSWER;

static void a_silent_connection_is_closed_at_its_deadline(void **state)
{
	struct fixture f;
	int fd;

	(void)state;
	set_up(&f);
	f.config.idle_ms = 1000; /* longer than a busy machine takes to send */
	start(&f);
	fd = dial(&f);
	expect_closed(fd);
	fd = dial(&f);
	send_text(fd, simple, 20);
	expect_closed(fd);
	ask(&f, simple, simple_answer);
	tear_down(&f);
}

static void over_the_limit_the_connection_idle_longest_is_closed(void **state)
{
	struct fixture f;
	int fd[3];

	(void)state;
	set_up(&f);
	f.config.connections = 2;
	start(&f);
	for (size_t i = 0; i < 3; i++) {
		fd[i] = dial(&f);
		send_text(fd[i], simple, sizeof(simple) - 1);
		expect(fd[i], simple_answer);
	}
	expect_closed(fd[0]);
	for (size_t i = 1; i < 3; i++) {
		send_text(fd[i], simple, sizeof(simple) - 1);
		expect(fd[i], simple_answer);
		close(fd[i]);
	}
	tear_down(&f);
}

static const char acpi[] = REQUEST("[0,0,0]", ",\"source\":\"acpi\"");
static const char acpi_answer[] =
	"{\"powers\":{\"platform\":[10]},\"msg\":\"\",\"core_ratio\":1}\n";

static void a_published_model_is_loaded_and_a_broken_one_is_not(void **state)
{
	static const char swapped[] = "{\"powers\":{\"package\":[8,7],\"dram\":[8,7]},"
				      "\"msg\":\"\",\"core_ratio\":1}\n";
	struct sample s = four_cores;
	struct fixture f;

	(void)state;
	set_up(&f);
	start(&f);
	ask(&f, simple, simple_answer);
	s.spec.cores = 0;
	s.text = "{\"All_Weights\":{\"Bias_Weight\":7,\"Numerical_Variables\":{"
		 "\"cpu_cycles\":{\"scale\":1000,\"weight\":1},"
		 "\"cpu_instructions\":{\"scale\":1,\"weight\":0},"
		 "\"cache_miss\":{\"scale\":1,\"weight\":0}}}}";
	publish(&f, "first", &s);
	expect_change(&f, simple, simple_answer, swapped);

	/* Better, it says, but no predictor reads it. The next to be published comes
	 * after. */
	s.text = NULL;
	s.mae_w = 0.5;
	s.predictor = "xgboost";
	publish(&f, "broken", &s);
	expect_change(&f, acpi, "", "");
	publish(&f, "later", &(struct sample){ .source = "acpi" });
	expect_change(&f, acpi, "", acpi_answer);
	ask(&f, simple, swapped);
	tear_down(&f);
}

static void a_model_that_appears_later_is_found(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f);
	start(&f);
	expect_change(&f, acpi, "", "");
	publish(&f, "later", &(struct sample){ .source = "acpi" });
	expect_change(&f, acpi, "", acpi_answer);
	tear_down(&f);
}

#define ALL_METRICS                                                        \
	"\"metrics\":[\"cpu_cycles\",\"cpu_instructions\",\"cache_miss\"," \
	"\"cpu_ref_cycles\",\"bpf_cpu_time_ms\",\"bpf_net_tx_irq\","       \
	"\"bpf_net_rx_irq\",\"bpf_block_irq\",\"bpf_page_cache_hit\"]"
#define KEPLER_09(row) \
	"{" ALL_METRICS ",\"values\":[" row "],\"output_type\":\"AbsPower\"}"
#define AT_REST KEPLER_09("[0,0,0,0,0,0,0,0,0]")

/* Kepler 0.9 lists counters that its virtual machine lacks: 10 W at any load. */
static void a_model_of_counters_is_not_chosen_if_they_are_always_zero(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f);
	publish(&f, "vm",
		&(struct sample){
			.group = "BPFOnly", .mae_w = 20, .spec = { .cores = 4 } });
	start(&f);
	ask(&f, AT_REST, POWERS("10"));
	ask(&f, KEPLER_09("[0,0,0,0,2000,0,0,0,0]"), POWERS("12"));
	ask(&f, AT_REST, POWERS("10"));
	/* With a counter that counts, it is the better model, also at rest. */
	ask(&f, KEPLER_09("[1000,1000,1000,0,2000,0,0,0,0]"), POWERS("16"));
	ask(&f, AT_REST, POWERS("10"));
	ask(&f, KEPLER_09("[0,0,0,0,1000,0,0,0,0]"), POWERS("11"));
	ask(&f, AT_REST, POWERS("10"));
	tear_down(&f);
}

/* Kepler 0.6 names block_devices_used twice. */
static void a_metric_may_be_listed_twice(void **state)
{
	static const char request[] =
		"{\"metrics\":[\"x\",\"cpu_instructions\",\"x\",\"cache_miss\","
		"\"cpu_cycles\"],\"values\":[[5,1000,6,1000,1000]],"
		"\"output_type\":\"AbsPower\"}";
	struct fixture f;

	(void)state;
	set_up(&f);
	start(&f);
	ask(&f, request, POWERS("16"));
	tear_down(&f);
}

static void more_keys_than_are_remembered_are_answered_too(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f);
	start(&f);
	for (int i = 0; i < 3 * TW_MODELS_KEYS_MAX; i++) {
		char request[512];

		snprintf(request, sizeof(request),
			 REQUEST("[0,0,0]", ",\"filter\":\"mae:%d\""), 10 + i);
		ask(&f, request, POWERS("10"));
	}
	tear_down(&f);
}

static void a_stale_socket_is_replaced(void **state)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct fixture f;
	struct stat st;
	int fd;

	(void)state;
	set_up(&f);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	memcpy(a.sun_path, f.path, strlen(f.path));
	assert_int_equal(bind(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
	close(fd);
	start(&f);
	assert_int_equal(stat(f.path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	ask(&f, simple, simple_answer);
	tear_down(&f);
}

static void a_socket_in_use_and_a_regular_file_are_not_replaced(void **state)
{
	struct tw_estimator *second = NULL;
	struct tw_err err = { 0 };
	struct fixture f;

	(void)state;
	set_up(&f);
	start(&f);
	assert_int_equal(tw_estimator_open(&f.config, &second, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_non_null(strstr(err.text, "another program answers on "));
	ask(&f, simple, simple_answer);
	stop(&f);

	write_file(f.top, "s", "mine");
	err = (struct tw_err){ 0 };
	assert_int_equal(tw_estimator_open(&f.config, &second, &err), -1);
	assert_non_null(strstr(err.text, "exists and is not a socket"));
	assert_int_equal(unlink(f.path), 0);
	tear_down(&f);
}

static void the_blocking_client_gets_watts_or_an_error(void **state)
{
	static const double x[] = { 1000, 1000, 1000, 0, 0, NAN };
	struct tw_strs metrics = { 0 };
	struct tw_question q = { .metrics = &metrics, .x = x, .rows = 2 };
	struct tw_watts watts = { 0 };
	struct tw_err err = { 0 };
	struct fixture f;

	(void)state;
	set_up(&f);
	start(&f);
	assert_int_equal(
		tw_strs_split(&metrics, "cpu_cycles,cache_miss,cpu_instructions", &err),
		0);
	q.output = "AbsPower";
	assert_int_equal(tw_estimator_ask(f.path, &q, &watts, &err), 0);
	assert_int_equal(watts.rows, 2);
	assert_true(watts.of[TW_PACKAGE][0] == 16 && watts.of[TW_PACKAGE][1] == 10);
	assert_true(watts.of[TW_DRAM][0] == 16);
	assert_null(watts.of[TW_CORE]);
	tw_watts_release(&watts);

	q.output = "DynPower";
	assert_int_equal(tw_estimator_ask(f.path, &q, &watts, &err), -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	assert_string_equal(err.text,
			    "the estimator closed the connection without an answer; its "
			    "log has the reason");
	tear_down(&f);

	err = (struct tw_err){ 0 };
	assert_int_equal(tw_estimator_ask("/nonexistent/s", &q, &watts, &err), -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	tw_strs_clear(&metrics);
}

/* A socket of that user, who is in no group. */
static int dial_as(const struct fixture *f, uid_t user)
{
	int fd;

	assert_int_equal(seteuid(user), 0);
	fd = dial(f);
	assert_int_equal(seteuid(0), 0);
	return fd;
}

static void a_user_with_most_connections_makes_room_for_others(void **state)
{
	struct fixture f;
	int one, many[6];

	(void)state;
	if (geteuid() != 0) {
		print_message("SKIPPED: only root can be two users\n");
		skip();
	}
	set_up(&f);
	f.config.connections = 4;
	f.config.rights.mode = 0666;
	assert_int_equal(chmod(f.top, 0755), 0);
	start(&f);
	/* The estimator is of this process: it reads its model as root. */
	ask(&f, SIMPLE, simple_answer);
	one = dial_as(&f, 65533);
	send_text(one, simple, sizeof(simple) - 1);
	expect(one, simple_answer);
	for (size_t i = 0; i < 6; i++) {
		many[i] = dial_as(&f, 65532);
		send_text(many[i], simple, sizeof(simple) - 1);
		expect(many[i], simple_answer);
	}
	/* It was idle longest of all, and is there. */
	send_text(one, simple, sizeof(simple) - 1);
	expect(one, simple_answer);
	close(one);
	for (size_t i = 0; i < 6; i++)
		close(many[i]);
	tear_down(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_silent_connection_is_closed_at_its_deadline),
		cmocka_unit_test(over_the_limit_the_connection_idle_longest_is_closed),
		cmocka_unit_test(a_user_with_most_connections_makes_room_for_others),
		cmocka_unit_test(a_published_model_is_loaded_and_a_broken_one_is_not),
		cmocka_unit_test(a_model_that_appears_later_is_found),
		cmocka_unit_test(
			a_model_of_counters_is_not_chosen_if_they_are_always_zero),
		cmocka_unit_test(a_metric_may_be_listed_twice),
		cmocka_unit_test(more_keys_than_are_remembered_are_answered_too),
		cmocka_unit_test(a_stale_socket_is_replaced),
		cmocka_unit_test(a_socket_in_use_and_a_regular_file_are_not_replaced),
		cmocka_unit_test(the_blocking_client_gets_watts_or_an_error),
	};

	/* Much is refused here. */
	tw_log_init("test_estimator", TW_LOG_ERROR, TW_LOG_LOGFMT);
	return cmocka_run_group_tests_name("estimator", tests, NULL, NULL);
}
