/* SPDX-License-Identifier: Apache-2.0 */
/* A push, from the options of the collector to the answers of a receiver. */
#include "tests/unit/tw_test.h"

#include "collector/ask/ask_job.h"
#include "collector/expose/push.h"
#include "collector/push/format.h"
#include "collector/push/protobuf.h"
#include "collector/settings.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/http/client/http.h"
#include "tests/unit/collector/scripted_ask.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- the job ---- */

#define SAMPLES 12000

/* The receiver: how it answers the nth request, from 0 on. */
static struct {
	unsigned status[4];
	struct tw_buf answer[4];
	size_t calls;
} receiver;

int __wrap_tw_http_call(const struct tw_http_call *c, struct tw_http_answer *out,
			struct tw_err *err);
int __wrap_tw_http_call(const struct tw_http_call *c, struct tw_http_answer *out,
			struct tw_err *err)
{
	const size_t i = receiver.calls++;
	const struct tw_buf *b = &receiver.answer[i];

	assert_true(i < TW_COUNT(receiver.status));
	out->status = receiver.status[i];
	out->body = strdup("");
	assert_non_null(out->body);
	return b->len > 0 ? c->sink(c->sink_arg, b->data, b->len, err) : 0;
}

/* Let the job push a text of this many samples; what it tells the collector. */
static struct tw_ask_message push_samples(void)
{
	struct tw_ask_message m;
	struct tw_push_head h = { .seq = 1 };
	struct tw_err err = { 0 };
	struct tw_buf all = { 0 };
	void *job;
	int ends[2];
	json_t *settings =
		json_pack("{s:s,s:i,s:i,s:i,s:[]}", "url", "http://x", "interval_ms",
			  30000, "timeout_ms", 1, "to", TW_PUSH_OTLP, "resource");

	receiver.calls = 0;
	tw_buf_adds(&all, "# HELP t T.\n# TYPE t gauge\n");
	for (int i = 0; i < SAMPLES; i++)
		tw_buf_adds(&all, "t 1\n");
	h.len = all.len;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	assert_int_equal(tw_ask_job_open(&tw_ask_push, settings, &job, &err), 0);
	((struct tw_ask_state *)job)->fd = ends[1];
	assert_int_equal(send(ends[0], &h, sizeof(h), 0), sizeof(h));
	assert_int_equal(send(ends[0], all.data, all.len, 0), all.len);
	/* At the usual time, not later. */
	assert_in_range(tw_ask_job_poll(&tw_ask_push, job), 1, 30000);
	assert_int_equal(((struct tw_ask_state *)job)->failures, 0);
	assert_int_equal(recv(ends[0], &m, sizeof(m), 0), sizeof(m));
	assert_int_equal(m.kind, TW_ASK_WANT);
	assert_int_equal(recv(ends[0], &m, sizeof(m), 0), sizeof(m));
	assert_int_equal(recv(ends[0], &err, 1, MSG_DONTWAIT), -1);
	tw_ask_job_close(&tw_ask_push, job);
	json_decref(settings);
	close(ends[0]);
	close(ends[1]);
	tw_buf_clear(&all);
	return m;
}

static void samples_after_those_that_are_refused_are_sent(void **state)
{
	struct tw_buf *b = &receiver.answer[1];
	struct tw_ask_message m;
	size_t began;

	(void)state;
	for (size_t i = 0; i < TW_COUNT(receiver.status); i++)
		receiver.status[i] = 200;
	m = push_samples();
	assert_int_equal(receiver.calls, 3);
	assert_int_equal(m.kind, TW_ASK_PUSHED);
	assert_int_equal(m.of.pushed.samples, SAMPLES);
	assert_string_equal(m.why, "");

	receiver.status[0] = 400;
	began = tw_pb_begin(b, 1);
	tw_pb_add_uint(b, 1, 7);
	tw_pb_end(b, began);
	m = push_samples();
	assert_int_equal(receiver.calls, 3);
	assert_int_equal(m.kind, TW_ASK_PUSHED);
	assert_int_equal(m.of.pushed.samples, SAMPLES - 5000 - 7);
	assert_true(m.of.pushed.bytes > 0);
	assert_string_equal(m.why, "it answers 400");
	tw_buf_clear(b);
}

/* ---- the collector's end ---- */

static json_t *settings_told;

int __real_tw_ask_open(const struct tw_ask_config *c, const char *job, json_t *settings,
		       struct tw_ask **out, struct tw_err *err);
int __wrap_tw_ask_open(const struct tw_ask_config *c, const char *job, json_t *settings,
		       struct tw_ask **out, struct tw_err *err);
int __wrap_tw_ask_open(const struct tw_ask_config *c, const char *job, json_t *settings,
		       struct tw_ask **out, struct tw_err *err)
{
	struct tw_ask_config mine = *c;

	json_decref(settings_told);
	settings_told = json_incref(settings);
	mine.program = scripted_ask();
	return __real_tw_ask_open(&mine, job, settings, out, err);
}

/* The resource of a receiver: "name=value;..". */
static void describe_resource(int to, char *labels[], size_t count, struct tw_buf *out)
{
	char url[] = "http://127.0.0.1:1/x";
	struct tw_collector_settings s = { .push.labels = { .at = labels,
							    .count = count } };
	struct tw_err err = { 0 };
	struct tw_push *p = NULL;
	const json_t *list;

	s.push.url[to] = url;
	s.push.interval_ms = s.push.timeout_ms = 1000;
	assert_int_equal(tw_push_options_check(&s.push, &err), 0);
	assert_int_equal(tw_push_open(&s, "n", &p, &err), 0);
	list = json_object_get(settings_told, "resource");
	for (size_t i = 0; i + 1 < json_array_size(list); i += 2)
		tw_buf_addf(out, "%s=%s;", json_string_value(json_array_get(list, i)),
			    json_string_value(json_array_get(list, i + 1)));
	tw_push_close(p);
	json_decref(settings_told);
	settings_told = NULL;
}

static void a_label_is_there_once(void **state)
{
	char instance[] = "instance=x", dotted[] = "a.b=1", host[] = "host.name=h";
	char *labels[] = { instance, dotted, host };
	struct tw_buf b = { 0 };

	(void)state;
	describe_resource(TW_PUSH_REMOTE_WRITE, labels, 3, &b);
	assert_string_equal(b.data, "job=tw-collector;instance=x;a_b=1;host_name=h;");
	tw_buf_clear(&b);
	describe_resource(TW_PUSH_OTLP, labels, 3, &b);
	assert_non_null(strstr(b.data, ";host.name=h;"));
	assert_null(strstr(b.data, "host.name=n"));
	assert_non_null(strstr(b.data, ";instance=x;a.b=1;"));
	tw_buf_clear(&b);
}

static void a_helper_that_is_gone_fails_once(void **state)
{
	char url[] = "http://127.0.0.1:1/x";
	struct tw_collector_settings s = { .push.url[TW_PUSH_OTLP] = url };
	struct tw_buf b = { 0 };
	struct tw_expo e = { .out = &b, .format = TW_EXPO_TEXT };
	struct tw_err err = { 0 };
	struct tw_push *p = NULL;

	(void)state;
	assert_int_equal(tw_push_open(&s, "n", &p, &err), 0);
	scripted_ask_wait(tw_push_fd(p, TW_PUSH_OTLP));
	for (int i = 0; i < 3; i++)
		tw_push_hear(p, TW_PUSH_OTLP);
	assert_int_equal(tw_push_fd(p, TW_PUSH_OTLP), -1);
	tw_push_expose(p, &e);
	assert_non_null(strstr(b.data, "tallywatt_push_failures_total{to=\"otlp\"} 1\n"));
	tw_push_close(p);
	json_decref(settings_told);
	settings_told = NULL;
	tw_buf_clear(&b);
}

/* What the helper tells a collector that pushes to /TOLD. */
static const struct tw_ask_message told[] = {
	{ .kind = TW_ASK_WANT, .place = 7 },
	{ .kind = TW_ASK_PUSHED, .of.pushed = { .samples = 3, .bytes = 50 } },
	{ .kind = TW_ASK_PUSHED, .of.pushed = { .samples = 4, .bytes = 60 } },
	{ .kind = TW_ASK_PUSHED,
	  .of.pushed = { .samples = 5, .bytes = 70 },
	  .why = "2 samples refused" },
	{ .kind = TW_ASK_FAILED, .why = "it answers 503" },
};

static void what_a_helper_tells_is_exported(void **state)
{
	char url[] = "http://127.0.0.1:1/TOLD";
	struct tw_collector_settings s = { .push.url[TW_PUSH_REMOTE_WRITE] = url };
	struct tw_buf b = { 0 };
	struct tw_expo e = { .out = &b, .format = TW_EXPO_TEXT };
	struct tw_err err = { 0 };
	struct tw_push_head head;
	struct tw_push *p = NULL;
	int fd;

	(void)state;
	assert_int_equal(tw_push_open(&s, "n", &p, &err), 0);
	assert_int_equal(tw_push_fd(p, TW_PUSH_OTLP), -1);
	assert_false(tw_push_wanted(p, TW_PUSH_OTLP, &fd, &head));
	assert_false(tw_push_wanted(p, TW_PUSH_REMOTE_WRITE, &fd, &head));
	tw_push_expose(p, &e);
	assert_non_null(strstr(b.data,
			       "tallywatt_push_up{to=\"remote-write\",reason=\"not "
			       "pushed yet\"} 0\n"));
	while (strstr(b.data, "503") == NULL) {
		scripted_ask_wait(tw_push_fd(p, TW_PUSH_REMOTE_WRITE));
		tw_push_hear(p, TW_PUSH_REMOTE_WRITE);
		tw_buf_clear(&b);
		tw_push_expose(p, &e);
	}
	/* A text is begun once. */
	assert_true(tw_push_wanted(p, TW_PUSH_REMOTE_WRITE, &fd, &head));
	assert_int_equal(head.seq, 7);
	assert_int_equal(fd, tw_push_fd(p, TW_PUSH_REMOTE_WRITE));
	tw_push_began(p, TW_PUSH_REMOTE_WRITE, 0);
	assert_false(tw_push_wanted(p, TW_PUSH_REMOTE_WRITE, &fd, &head));
	assert_string_equal(
		b.data,
		"# HELP tallywatt_push_up 1 if the receiver has the metrics of the last "
		"push; else `reason` says why not.\n"
		"# TYPE tallywatt_push_up gauge\n"
		"tallywatt_push_up{to=\"remote-write\",reason=\"it answers 503\"} 0\n"
		"# HELP tallywatt_push_pushes_total Pushes that the receiver has taken.\n"
		"# TYPE tallywatt_push_pushes_total counter\n"
		"tallywatt_push_pushes_total{to=\"remote-write\"} 2\n"
		"# HELP tallywatt_push_failures_total Failed tries, and pushes with "
		"samples that the receiver refused.\n"
		"# TYPE tallywatt_push_failures_total counter\n"
		"tallywatt_push_failures_total{to=\"remote-write\"} 2\n"
		"# HELP tallywatt_push_samples_total Samples that the receiver has "
		"taken.\n"
		"# TYPE tallywatt_push_samples_total counter\n"
		"tallywatt_push_samples_total{to=\"remote-write\"} 12\n"
		"# HELP tallywatt_push_sent_bytes_total Bytes of the requests with these "
		"samples.\n"
		"# TYPE tallywatt_push_sent_bytes_total counter\n"
		"tallywatt_push_sent_bytes_total{to=\"remote-write\"} 180\n");
	tw_push_close(p);
	json_decref(settings_told);
	settings_told = NULL;
	tw_buf_clear(&b);
}

static void run_script(int fd, const char *settings)
{
	if (strstr(settings, "/TOLD") == NULL)
		return;
	for (size_t i = 0; i < TW_COUNT(told); i++)
		scripted_ask_tell(fd, &told[i]);
	scripted_ask_hear(fd);
}

/* ---- options ---- */

static void a_receiver_without_a_path_gets_that_of_its_format(void **state)
{
	static const struct {
		const char *url, *want;
	} cases[] = {
		{ "http://h:1", "http://h:1/v1/metrics" },
		{ "http://h:1/", "http://h:1/v1/metrics" },
		{ "https://h/x", "https://h/x" },
		{ "https://h/x/", "https://h/x/" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_collector_settings s = { 0 };
		struct tw_push *p = NULL;
		struct tw_err err = { 0 };

		s.push.url[TW_PUSH_OTLP] = strdup(cases[i].url);
		assert_int_equal(tw_push_open(&s, "n", &p, &err), 0);
		assert_string_equal(
			json_string_value(json_object_get(settings_told, "url")),
			cases[i].want);
		tw_push_close(p);
		free(s.push.url[TW_PUSH_OTLP]);
	}
	json_decref(settings_told);
	settings_told = NULL;
}

#define A32 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define A127 A32 A32 A32 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void options_are_checked(void **state)
{
	static const struct {
		const char *url, *access, *label[2];
		const char *why; /* NULL: good */
	} cases[] = {
		{ .why = NULL },
		{ "http://h", NULL, { "a=", "B.c_9=x=y" }, NULL },
		{ "ftp://h", NULL, { NULL }, "--otlp: want http://ADDR or https://ADDR" },
		{ NULL, "token:/x", { NULL }, "--otlp-access needs --otlp" },
		{ "http://h", "token:/nonexistent", { NULL }, "--otlp-access: " },
		{ NULL, NULL, { "a" }, "--push-labels: 'a': want NAME=VALUE" },
		{ NULL, NULL, { "=x" }, "--push-labels: '=x': want NAME=VALUE" },
		{ NULL, NULL, { "a-b=x" }, "--push-labels: 'a-b=x': want" },
		{ NULL, NULL, { "0a=x" }, "--push-labels: '0a=x': want" },
		{ NULL, NULL, { "9=x" }, "--push-labels: '9=x': want" },
		{ NULL, NULL, { "a0=x" }, NULL },
		{ NULL, NULL, { "__a=x" }, "--push-labels: '__a=x': want" },
		{ NULL, NULL, { "_a=x" }, NULL },
		{ NULL, NULL, { "a=\xff" }, "--push-labels: a: want UTF-8" },
		{ NULL, NULL, { "a=x", "a=y" }, "--push-labels: a twice" },
		/* They are one label of remote write. */
		{ NULL, NULL, { "a.b=x", "a_b=y" }, "--push-labels: a_b twice" },
		{ NULL, NULL, { "a_b=x", "a.b=y" }, "--push-labels: a_b twice" },
		{ NULL, NULL, { A127 "=x", "a=x" }, NULL },
		{ NULL, NULL, { A127 "a=x" }, "--push-labels: '" A32 A32 "': want" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_push_options o = { 0 };
		struct tw_err err = { 0 };
		int rc;

		if (cases[i].url != NULL)
			o.url[TW_PUSH_OTLP] = strdup(cases[i].url);
		if (cases[i].access != NULL)
			o.access[TW_PUSH_OTLP] = strdup(cases[i].access);
		for (int k = 0; k < 2 && cases[i].label[k] != NULL; k++)
			tw_strs_adds(&o.labels, cases[i].label[k], &err);
		rc = tw_push_options_check(&o, &err);
		if (rc != (cases[i].why != NULL ? -1 : 0) ||
		    (rc < 0 &&
		     strncmp(err.text, cases[i].why, strlen(cases[i].why)) != 0))
			fail_msg("%zu: %s", i, err.text);
		free(o.url[TW_PUSH_OTLP]);
		free(o.access[TW_PUSH_OTLP]);
		tw_strs_clear(&o.labels);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_after_those_that_are_refused_are_sent),
		cmocka_unit_test(a_label_is_there_once),
		cmocka_unit_test(a_helper_that_is_gone_fails_once),
		cmocka_unit_test(what_a_helper_tells_is_exported),
		cmocka_unit_test(a_receiver_without_a_path_gets_that_of_its_format),
		cmocka_unit_test(options_are_checked),
	};

	(void)argc;
	if (scripted_ask_is_it(argv[0]))
		return scripted_ask_run(run_script);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
