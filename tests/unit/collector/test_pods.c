/* SPDX-License-Identifier: Apache-2.0 */
/* Names of pods: parsing of lists, and the collector's table. */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "collector/ask/ask_options.h"
#include "collector/ask/pods_parse.h"
#include "collector/workloads/pods.h"
#include "lib/ask/ask.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "tests/unit/collector/scripted_ask.h"
#include "tests/unit/fail_alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST "tests/data/kube/pods.json"
#define LIST_MAX 65536

/* "id pod namespace container" a line. */
static int write_line(void *arg, const struct tw_ask_names *n, struct tw_err *err)
{
	struct tw_buf *b = arg;

	(void)err;
	tw_buf_addf(b, "%.12s %s %s %s\n", n->id, n->pod, n->name_space,
		    n->container[0] != '\0' ? n->container : "-");
	return 0;
}

/* The names in a list that is parsed in pieces of this many bytes. */
static int parse(const char *data, size_t len, size_t piece, struct tw_buf *out,
		 struct tw_err *err)
{
	struct tw_pods_parser *p = NULL;
	int rc = -1;

	if (tw_pods_parser_new(write_line, out, &p, err) < 0)
		return -1;
	for (size_t at = 0; at < len; at += piece)
		if (tw_pods_parser_feed(p, data + at, len - at < piece ? len - at : piece,
					err) < 0)
			goto out;
	rc = tw_pods_parser_end(p, err);
out:
	tw_pods_parser_free(p);
	return rc;
}

static char *read_list(size_t *len)
{
	struct tw_err err = { 0 };
	char *data;

	if (tw_file_read(LIST, LIST_MAX, &data, len, &err) < 0)
		fail_msg("%s", err.text);
	return data;
}

static void all_containers_of_a_list_have_names(void **state)
{
	static const char wanted[] =
		"8f3b1c52-7e0 web-7d4b9c6f5d-x2x7p shop -\n"
		"c0c0c0c0c0c0 web-7d4b9c6f5d-x2x7p shop wait\n"
		"c0c0c0c0c0c0 web-7d4b9c6f5d-x2x7p shop wait\n"
		"cdcdcdcdcdcd web-7d4b9c6f5d-x2x7p shop nginx\n"
		"abababababab web-7d4b9c6f5d-x2x7p shop nginx\n"
		"efefefefefef web-7d4b9c6f5d-x2x7p shop log-shipper\n"
		"dededededede web-7d4b9c6f5d-x2x7p shop debugger-abcde\n"
		/* By its uid, and by the hash in its cgroup's path. */
		"99999999-aaa kube-apiserver-node-7 kube-system -\n"
		"0123456789ab kube-apiserver-node-7 kube-system -\n"
		"121212121212 kube-apiserver-node-7 kube-system kube-apiserver\n"
		"aaaaaaaa-bbb batch-0 shop -\n";
	static const size_t pieces[] = { 1, 7, 4096, LIST_MAX };
	size_t len;
	char *data = read_list(&len);

	(void)state;
	for (size_t i = 0; i < TW_COUNT(pieces); i++) {
		struct tw_err err = { 0 };
		struct tw_buf b = { 0 };

		if (parse(data, len, pieces[i], &b, &err) < 0)
			fail_msg("%s", err.text);
		assert_string_equal(b.data, wanted);
		tw_buf_clear(&b);
	}
	free(data);
}

#define POD(meta, status) \
	"{\"items\":[{\"metadata\":{" meta "},\"status\":{" status "}}]}"
#define NAMED "\"name\":\"p\",\"namespace\":\"n\",\"uid\":\"u\""

static void labels_of_a_pod(void **state)
{
	static const struct {
		const char *json, *wanted;
	} cases[] = {
		{ "{\"items\":[]}", "" },
		{ "{\"items\":null}", "" },
		{ POD(NAMED, ""), "u p n -\n" },
		{ POD("\"name\":\"p\",\"uid\":\"u\"", ""), "" },
		{ POD("\"namespace\":\"n\",\"uid\":\"u\"", ""), "" },
		/* Not a valid Kubernetes name. */
		{ POD("\"name\":\"a\\u0000b\",\"namespace\":\"n\",\"uid\":\"u\"", ""),
		  "" },
		{ POD("\"name\":\"\xc3\xa9\",\"namespace\":\"n\",\"uid\":\"u\"", ""),
		  "" },
		{ POD(NAMED ",\"labels\":{\"name\":\"x\",\"uid\":\"x\"}", ""),
		  "u p n -\n" },
		{ POD(NAMED ",\"annotations\":{\"kubernetes.io/config.hash\":\"u\"}", ""),
		  "u p n -\n" },
		{ POD(NAMED, "\"containerStatuses\":[{\"containerID\":\"docker://1\","
			     "\"name\":\"c\"}]"),
		  "u p n -\n1 p n c\n" },
		{ POD(NAMED, "\"containerStatuses\":[{\"name\":\"c\"},{\"containerID\":"
			     "\"docker://1\"}]"),
		  "u p n -\n1 p n -\n" },
		{ POD(NAMED, "\"containerStatuses\":[{\"name\":\"c\",\"containerID\":"
			     "\"1\"},{\"name\":\"d\",\"containerID\":7}]"),
		  "u p n -\n" },
		{ POD(NAMED, "\"containerStatuses\":null"), "u p n -\n" },
		/* A static pod: its manifest's hash, and that of its mirror. */
		{ POD(NAMED ",\"annotations\":{\"kubernetes.io/config.mirror\":\"m\","
			    "\"kubernetes.io/config.hash\":\"h\"}",
		      ""),
		  "u p n -\nm p n -\nh p n -\n" },
		{ POD(NAMED ",\"annotations\":{\"kubernetes.io/config.mirror\":\"m\","
			    "\"kubernetes.io/config.hash\":\"m\"}",
		      ""),
		  "u p n -\nm p n -\n" },
		/* Keys that begin as those that are wanted, or stand elsewhere. */
		{ POD(NAMED ",\"\":\"x\",\"na\":\"x\",\"u\":\"x\"", ""), "u p n -\n" },
		{ POD(NAMED, "\"name\":\"x\",\"uid\":\"x\",\"namespace\":\"x\""),
		  "u p n -\n" },
		{ POD(NAMED ",\"annotations\":{\"kubernetes.io/config.hash\":"
			    "{\"kubernetes.io/config.hash\":\"x\"}}",
		      ""),
		  "u p n -\n" },
		/* Nothing of a pod is left in the next one. */
		{ "{\"items\":[{\"metadata\":{\"name\":\"long\",\"namespace\":"
		  "\"shop\",\"uid\":\"1234\",\"annotations\":{"
		  "\"kubernetes.io/config.hash\":\"5678\"}}},{\"metadata\":{"
		  "\"name\":\"p\",\"namespace\":\"n\",\"uid\":\"u\","
		  "\"annotations\":{\"kubernetes.io/config.hash\":\"h\"}}}]}",
		  "1234 long shop -\n5678 long shop -\nu p n -\nh p n -\n" },
		{ POD(NAMED, "\"otherStatuses\":[{\"name\":\"c\",\"containerID\":"
			     "\"docker://1\"}]"),
		  "u p n -\n" },
		/* Status first. */
		{ "{\"items\":[{\"status\":{\"containerStatuses\":[{\"name\":\"c\","
		  "\"containerID\":\"docker://1\"}]},\"metadata\":{" NAMED "}}]} \n",
		  "u p n -\n1 p n c\n" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_err err = { 0 };
		struct tw_buf b = { 0 };

		tw_buf_adds(&b, "");
		if (parse(cases[i].json, strlen(cases[i].json), 3, &b, &err) < 0)
			fail_msg("%s: %s", cases[i].json, err.text);
		assert_string_equal(b.data, cases[i].wanted);
		tw_buf_clear(&b);
	}
}

/* As long as an id may be, and a byte more. */
static void an_id_has_a_limit(void **state)
{
	char uid[TW_ASK_ID + 1] = "", text[2 * TW_ASK_ID + 200];

	(void)state;
	for (size_t len = TW_ASK_ID - 1; len <= TW_ASK_ID; len++) {
		struct tw_err err = { 0 };
		struct tw_buf b = { 0 };

		memset(uid, 'a', len);
		snprintf(text, sizeof(text),
			 "{\"items\":[{\"metadata\":{\"name\":\"p\",\"namespace\":"
			 "\"n\",\"uid\":\"%s\"}}]}",
			 uid);
		tw_buf_adds(&b, "");
		assert_int_equal(parse(text, strlen(text), 7, &b, &err), 0);
		assert_string_equal(b.data,
				    len < TW_ASK_ID ? "aaaaaaaaaaaa p n -\n" : "");
		tw_buf_clear(&b);
	}
}

static int refuse(void *arg, const struct tw_ask_names *n, struct tw_err *err)
{
	(void)n;
	++*(int *)arg;
	return tw_fail(err, TW_IO, "stopped");
}

/* The daemon has ended: no other name is sent. */
static void names_that_cannot_be_sent_end_the_list(void **state)
{
	static const char text[] =
		POD(NAMED ",\"annotations\":{\"kubernetes.io/config.hash\":\"h\"}",
		    "\"containerStatuses\":[{\"containerID\":\"docker://1\"}]");
	struct tw_pods_parser *p = NULL;
	struct tw_err err = { 0 };
	int calls = 0;

	(void)state;
	assert_int_equal(tw_pods_parser_new(refuse, &calls, &p, &err), 0);
	assert_int_equal(tw_pods_parser_feed(p, text, sizeof(text) - 1, &err), -1);
	assert_string_equal(err.text, "stopped");
	assert_int_equal(calls, 1);
	tw_pods_parser_free(p);
}

static void a_malformed_list_is_rejected(void **state)
{
	static const struct {
		const char *json, *text;
	} cases[] = {
		{ "", "byte 0: cut short" },
		{ "[]", "want a list of pods, got an array" },
		{ "{}", "no items: want a list of pods" },
		{ "{\"kind\":\"Status\",\"code\":403}", "no items: want a list of pods" },
		{ "{\"kind\":null}", "no items: want a list of pods" },
		{ "{\"items\":{}}", "items: expected a list, got an object" },
		{ "{\"items\":[{\"metadata\":{\"name\":\"p\"", "cut short in an object" },
		{ "Unauthorized", "byte 0" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_err err = { 0 };
		struct tw_buf b = { 0 };

		assert_int_equal(parse(cases[i].json, strlen(cases[i].json), 5, &b, &err),
				 -1);
		assert_int_equal(err.code, TW_PARSE);
		if (strstr(err.text, cases[i].text) == NULL)
			fail_msg("%s: %s", cases[i].json, err.text);
		tw_buf_clear(&b);
	}
}

static size_t count_of(const char *text, const char *part)
{
	size_t n = 0;

	for (text = strstr(text, part); text != NULL; text = strstr(text + 1, part))
		n++;
	return n;
}

static void a_pod_of_many_containers_hides_no_other_pod(void **state)
{
	struct tw_buf list = { 0 }, out = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	tw_buf_adds(&list,
		    "{\"items\":[{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\","
		    "\"uid\":\"1\"},\"status\":{\"containerStatuses\":[");
	for (int i = 0; i <= TW_POD_CONTAINERS_MAX; i++)
		tw_buf_addf(&list, "%s{\"name\":\"c\",\"containerID\":\"a://id%d\"}",
			    i > 0 ? "," : "", i);
	tw_buf_adds(&list,
		    "]}},{\"metadata\":{\"name\":\"last\",\"namespace\":\"n\",\"uid\":"
		    "\"2\"}}]}");
	if (parse(list.data, list.len, 4096, &out, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(count_of(out.data, "id"), TW_POD_CONTAINERS_MAX);
	assert_non_null(strstr(out.data, "last"));
	tw_buf_clear(&list);
	tw_buf_clear(&out);
}

static void without_memory_a_parser_fails_and_leaks_nothing(void **state)
{
	(void)state;
	for (int n = 1;; n++) {
		struct tw_pods_parser *p = NULL;
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_pods_parser_new(write_line, &(struct tw_buf){ 0 }, &p, &err);
		tw_pods_parser_free(p);
		if (!fail_alloc_hit())
			break;
		assert_int_equal(rc, -1);
		assert_int_equal(err.code, TW_NOMEM);
	}
}

/* ---- the table ---- */

static int try_pods(struct tw_pods **out, struct tw_err *err)
{
	const struct tw_pods_options o = { .kubelet = (char[]){ "https://node:10250/" },
					   .interval_ms = 60000 };
	const struct tw_ask_config ask = { .program = scripted_ask() };

	return tw_pods_open(&o, "node", &ask, out, err);
}

static struct tw_pods *open_pods(void)
{
	struct tw_pods *p = NULL;
	struct tw_err err = { 0 };

	if (try_pods(&p, &err) < 0)
		fail_msg("%s", err.text);
	return p;
}

static void without_memory_a_table_is_not_opened(void **state)
{
	(void)state;
	for (int n = 1;; n++) {
		struct tw_pods *p = NULL;
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = try_pods(&p, &err);
		if (!fail_alloc_hit()) {
			tw_pods_close(p);
			break;
		}
		assert_int_equal(rc, -1);
		assert_int_equal(err.code, TW_NOMEM);
	}
}

/* The settings' URL selects the helper's script; wait for its messages. */
static void drain_until(struct tw_pods *p, bool (*so)(const struct tw_pods *p))
{
	while (!so(p)) {
		scripted_ask_wait(tw_pods_fd(p));
		tw_pods_drain(p);
	}
}

static bool one_round(const struct tw_pods *p)
{
	return tw_pods_stats(p)->rounds == 1;
}

static bool four_rounds(const struct tw_pods *p)
{
	return tw_pods_stats(p)->rounds == 4;
}

static bool is_down(const struct tw_pods *p)
{
	return !tw_pods_stats(p)->up && tw_pods_stats(p)->failures > 0;
}

static void names_stay_for_one_more_answer_and_without_answers(void **state)
{
	struct tw_pods *p = open_pods();
	struct tw_pod_names n = { .pod = NULL };

	(void)state;
	/* The first answer has two pods, later answers one of them. */
	drain_until(p, one_round);
	assert_true(tw_pods_stats(p)->up);
	assert_true(tw_pods_find(p, "stays", &n));
	assert_string_equal(n.pod, "web");
	assert_string_equal(n.name_space, "shop");
	assert_string_equal(n.container, "nginx");
	assert_true(tw_pods_find(p, "goes", &n));
	assert_false(tw_pods_find(p, "unknown", &n));
	assert_int_equal(tw_pods_stats(p)->known, 2);
	tw_pods_want(p);
	drain_until(p, four_rounds);
	assert_false(tw_pods_find(p, "goes", &n));
	assert_true(tw_pods_find(p, "stays", &n));
	/* A static pod whose manifest changed. */
	assert_string_equal(n.container, "apache");
	assert_int_equal(tw_pods_stats(p)->known, 1);
	tw_pods_want(p);
	drain_until(p, is_down);
	assert_string_equal(tw_pods_stats(p)->why, "no route");
	assert_true(tw_pods_find(p, "stays", &n));
	tw_pods_close(p);
}

static void tell(int fd, const char *id, const char *container)
{
	struct tw_ask_message m = { .kind = TW_ASK_NAMES };

	snprintf(m.of.names.id, sizeof(m.of.names.id), "%s", id);
	snprintf(m.of.names.pod, sizeof(m.of.names.pod), "web");
	snprintf(m.of.names.name_space, sizeof(m.of.names.name_space), "shop");
	snprintf(m.of.names.container, sizeof(m.of.names.container), "%s", container);
	scripted_ask_tell(fd, &m);
}

/* A stand-in for tw-ask. */
static void play(int fd, const char *settings)
{
	const struct tw_ask_message all = { .kind = TW_ASK_ALL_NAMES };
	struct tw_ask_message failed = { .kind = TW_ASK_FAILED, .why = "no route" };

	if (strstr(settings, "\"url\":\"https://node:10250/pods\"") == NULL ||
	    strstr(settings, "\"job\":\"pods\"") == NULL) {
		snprintf(failed.why, sizeof(failed.why), "%.90s", settings);
		scripted_ask_tell(fd, &failed);
		return;
	}
	tell(fd, "stays", "nginx");
	tell(fd, "goes", "nginx");
	scripted_ask_tell(fd, &all);
	scripted_ask_hear(fd);
	for (int i = 0; i < 3; i++) {
		tell(fd, "stays", "apache");
		scripted_ask_tell(fd, &all);
	}
	scripted_ask_hear(fd);
	scripted_ask_tell(fd, &failed);
	scripted_ask_hear(fd);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_containers_of_a_list_have_names),
		cmocka_unit_test(labels_of_a_pod),
		cmocka_unit_test(an_id_has_a_limit),
		cmocka_unit_test(names_that_cannot_be_sent_end_the_list),
		cmocka_unit_test(a_malformed_list_is_rejected),
		cmocka_unit_test(a_pod_of_many_containers_hides_no_other_pod),
		cmocka_unit_test(without_memory_a_parser_fails_and_leaks_nothing),
		cmocka_unit_test(without_memory_a_table_is_not_opened),
		cmocka_unit_test(names_stay_for_one_more_answer_and_without_answers),
	};

	(void)argc;
	if (scripted_ask_is_it(argv[0]))
		return scripted_ask_run(play);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
