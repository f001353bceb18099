/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "collector/push/format.h"
#include "collector/push/protobuf.h"
#include "collector/push/snappy.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "tests/unit/fail_alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static const char text[] =
	"# HELP tallywatt_node_energy_joules Energy.\n"
	"# TYPE tallywatt_node_energy_joules counter\n"
	"# UNIT tallywatt_node_energy_joules joules\n"
	"tallywatt_node_energy_joules_total{zone=\"dram\",name=\"d\",path=\"/p\"} "
	"1234567.000001\n"
	"tallywatt_node_energy_joules_total{zone=\"gpu\",uuid=\"U\",path=\"/p\"} 2\n"
	"# HELP tallywatt_node_power_watts Power.\n"
	"# TYPE tallywatt_node_power_watts gauge\n"
	"# UNIT tallywatt_node_power_watts watts\n"
	"# HELP tallywatt_pod_cpu_seconds CPU \\\\ time.\n"
	"# TYPE tallywatt_pod_cpu_seconds counter\n"
	"# UNIT tallywatt_pod_cpu_seconds seconds\n"
	"tallywatt_pod_cpu_seconds_total{pod_id=\"a\\\"b\",pod_name=\"\"} 0.5\n"
	"# HELP tallywatt_meter Info.\n"
	"# TYPE tallywatt_meter info\n"
	"tallywatt_meter_info{zone=\"dram\"} 1\n"
	"# EOF\n";

static const struct tw_push_head head = { .len = sizeof(text) - 1,
					  .time_ns = 1700000000123000000,
					  .start_ns = 1600000000000000000 };

/* ---- protobuf ---- */

static void fields_are_read_back(void **state)
{
	static const uint64_t values[] = { 0, 1, 127, 128, 300, UINT32_MAX, UINT64_MAX };
	struct tw_buf b = { 0 };
	struct tw_pb_field f;
	size_t at = 0, began, long_one;
	char words[301];

	(void)state;
	memset(words, 'x', 300);
	words[300] = '\0';
	for (size_t i = 0; i < TW_COUNT(values); i++)
		tw_pb_add_uint(&b, (unsigned)i + 1, values[i]);
	began = tw_pb_begin(&b, 20);
	tw_pb_add_fixed64(&b, 1, 0x0102030405060708);
	long_one = tw_pb_begin(&b, 2);
	tw_pb_add_text(&b, 3, words);
	tw_pb_end(&b, long_one);
	tw_pb_end(&b, began);

	for (size_t i = 0; i < TW_COUNT(values); i++) {
		assert_true(tw_pb_next(b.data, b.len, &at, &f));
		assert_int_equal(f.number, i + 1);
		assert_true(f.value == values[i] && f.data == NULL);
	}
	assert_true(tw_pb_next(b.data, b.len, &at, &f));
	assert_int_equal(f.number, 20);
	assert_int_equal(at, b.len);
	at = 0;
	{
		const struct tw_pb_field outer = f;

		assert_true(tw_pb_next(outer.data, outer.len, &at, &f));
		assert_true(f.value == 0x0102030405060708);
		assert_true(tw_pb_next(outer.data, outer.len, &at, &f));
		assert_int_equal(f.len, 300 + 3);
	}
	/* Of a message that is cut, the last field has what there is. */
	at = 0;
	for (size_t i = 0; i <= TW_COUNT(values); i++)
		assert_true(tw_pb_next(b.data, b.len - 9, &at, &f));
	assert_int_equal(f.number, 20);
	assert_true(f.data + f.len == b.data + b.len - 9);
	tw_buf_clear(&b);
}

/* ---- snappy ---- */

/* A reader of the format, as its description has it. */
static void unpack(const char *data, size_t len, struct tw_buf *out)
{
	const unsigned char *p = (const unsigned char *)data;
	size_t at = 0, whole = 0;
	unsigned shift = 0;

	do
		whole |= (size_t)(p[at] & 0x7f) << 7 * shift++;
	while (p[at++] >= 0x80);
	while (at < len) {
		const unsigned tag = p[at++];
		size_t n = (tag >> 2) + 1;

		if ((tag & 3) == 0) {
			if (n > 60) {
				const size_t bytes = n - 60;

				n = 1;
				for (size_t i = 0; i < bytes; i++)
					n += (size_t)p[at++] << 8 * i;
			}
			assert_true(at + n <= len);
			tw_buf_add(out, p + at, n);
			at += n;
		} else {
			const size_t offset = p[at] | (size_t)p[at + 1] << 8;

			assert_int_equal(tag & 3, 2);
			at += 2;
			assert_true(offset > 0 && offset <= out->len);
			for (size_t i = 0; i < n; i++) {
				const char c = out->data[out->len - offset];

				tw_buf_add(out, &c, 1);
			}
		}
	}
	assert_int_equal(out->len, whole);
}

static void check_packed(const char *data, size_t len, size_t most)
{
	struct tw_buf packed = { 0 }, back = { 0 };

	tw_snappy_add(&packed, data, len);
	unpack(packed.data, packed.len, &back);
	assert_int_equal(back.len, len);
	if (len > 0)
		assert_memory_equal(back.data, data, len);
	if (packed.len > most)
		fail_msg("%zu of %zu bytes, want at most %zu", packed.len, len, most);
	tw_buf_clear(&packed);
	tw_buf_clear(&back);
}

static void blocks_are_read_back(void **state)
{
	enum { SIZE = 200000 };
	char *data = calloc(1, SIZE);
	uint32_t seed = 1;

	(void)state;
	assert_non_null(data);
	check_packed("", 0, 1);
	check_packed("abc", 3, 5);
	check_packed(text, sizeof(text) - 1, 700);
	check_packed(data, SIZE, SIZE / 20);
	for (size_t i = 0; i < SIZE; i++) {
		seed = seed * 1664525 + 1013904223;
		data[i] = (char)(seed >> 24);
	}
	for (size_t len = 55; len < 70; len++)
		check_packed(data, len, len + 4);
	/* Noise, and noise that comes again in the same part and in the next. */
	check_packed(data, SIZE, SIZE + 100);
	memcpy(data + 30000, data, 30000);
	memcpy(data + 65000, data, 30000);
	check_packed(data, SIZE, SIZE - 20000);
	free(data);
}

/* ---- requests ---- */

/* All fields as "1{7{1:host.name 2{1:n}} ..}": which are messages is known. */
static void describe(const char *data, size_t len, const char *const *messages,
		     const char *path, struct tw_buf *out)
{
	struct tw_pb_field f;
	size_t at = 0;

	while (tw_pb_next(data, len, &at, &f)) {
		char inner[64];
		bool message = false;

		snprintf(inner, sizeof(inner), "%s/%u", path, f.number);
		for (size_t i = 0; messages[i] != NULL; i++)
			message = message || strcmp(messages[i], inner) == 0;
		if (message) {
			tw_buf_addf(out, "%u{", f.number);
			describe(f.data, f.len, messages, inner, out);
			tw_buf_adds(out, "}");
		} else if (f.data != NULL) {
			tw_buf_addf(out, "%u:%.*s;", f.number, (int)f.len, f.data);
		} else if (f.value > UINT64_C(1) << 61) {
			double v;

			memcpy(&v, &f.value, sizeof(v));
			tw_buf_addf(out, "%u=%.6f;", f.number, v);
		} else {
			tw_buf_addf(out, "%u=%llu;", f.number,
				    (unsigned long long)f.value);
		}
	}
	assert_int_equal(at, len);
}

static void write_body(enum tw_push_to to, struct tw_push_place *place, size_t most,
		       size_t *given, struct tw_buf *out)
{
	char *names[] = { (char *)(uintptr_t) "job", (char *)(uintptr_t) "j",
			  (char *)(uintptr_t) "zone", (char *)(uintptr_t) "z" };
	const struct tw_strs resource = { .at = names, .count = 4 };
	struct tw_push_body b = { .out = out,
				  .head = &head,
				  .resource = &resource,
				  .text = text,
				  .place = place,
				  .most = most };
	struct tw_err err = { 0 };

	assert_int_equal(tw_push_formats[to].write(&b, &err), 0);
	*given = b.given;
}

static void remote_write_has_sorted_labels_of_each_sample(void **state)
{
	static const char *const messages[] = { "/1", "/1/1", "/1/2", NULL };
	struct tw_buf packed = { 0 }, message = { 0 }, all = { 0 };
	struct tw_push_place place = { 0 };
	size_t given;

	(void)state;
	write_body(TW_PUSH_REMOTE_WRITE, &place, 1, &given, &packed);
	assert_int_equal(given, 1);
	tw_buf_clear(&packed);
	write_body(TW_PUSH_REMOTE_WRITE, &place, 2, &given, &packed);
	assert_int_equal(given, 2);
	unpack(packed.data, packed.len, &message);
	describe(message.data, message.len, messages, "", &all);
	assert_string_equal(
		all.data,
		"1{1{1:__name__;2:tallywatt_node_energy_joules_total;}1{1:job;2:j;}"
		"1{1:path;2:/"
		"p;}1{1:uuid;2:U;}1{1:zone;2:gpu;}2{1=2.000000;2=1700000000123;}}"
		"1{1{1:__name__;2:tallywatt_pod_cpu_seconds_total;}1{1:job;2:j;}"
		"1{1:pod_id;2:a\"b;}1{1:zone;2:z;}2{1=0.500000;2=1700000000123;}}");
	tw_buf_clear(&packed);
	tw_buf_clear(&message);
	tw_buf_clear(&all);
}

static void gunzip(const struct tw_buf *from, struct tw_buf *out)
{
	unsigned char room[8192];
	z_stream z = { .next_in = (Bytef *)from->data,
		       .avail_in = (uInt)from->len,
		       .next_out = room,
		       .avail_out = sizeof(room) };

	assert_int_equal(inflateInit2(&z, MAX_WBITS + 16), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	tw_buf_add(out, room, sizeof(room) - z.avail_out);
	inflateEnd(&z);
}

static void otlp_has_names_units_and_attributes_of_the_conventions(void **state)
{
	static const char *const messages[] = {
		"/1",         "/1/1",         "/1/1/1",         "/1/1/1/2",
		"/1/2",       "/1/2/1",       "/1/2/2",         "/1/2/2/7",
		"/1/2/2/7/1", "/1/2/2/7/1/7", "/1/2/2/7/1/7/2", "/1/2/2/5",
		"/1/2/2/5/1", "/1/2/2/5/1/7", "/1/2/2/5/1/7/2", NULL
	};
	struct tw_buf packed = { 0 }, message = { 0 }, all = { 0 };
	struct tw_push_place place = { 0 };
	size_t given;

	(void)state;
	write_body(TW_PUSH_OTLP, &place, 100, &given, &packed);
	assert_int_equal(given, 4);
	gunzip(&packed, &message);
	describe(message.data, message.len, messages, "", &all);
	assert_string_equal(
		all.data,
		"1{1{1{1:job;2{1:j;}}1{1:zone;2{1:z;}}}2{1{1:tallywatt;2:" TW_VERSION ";}"
		"2{1:hw.energy;2:Energy.;3:J;7{"
		"1{2=1600000000000000000;3=1700000000123000000;4=1234567.000001;"
		"7{1:hw.id;2{1:/p;}}7{1:hw.type;2{1:memory;}}7{1:zone;2{1:dram;}}"
		"7{1:hw.name;2{1:d;}}7{1:path;2{1:/p;}}}"
		"1{2=1600000000000000000;3=1700000000123000000;4=2.000000;"
		"7{1:hw.id;2{1:U;}}7{1:hw.type;2{1:gpu;}}7{1:zone;2{1:gpu;}}"
		"7{1:uuid;2{1:U;}}7{1:path;2{1:/p;}}}2=2;3=1;}}"
		"2{1:k8s.pod.cpu.time;2:CPU \\\\ time.;3:s;7{"
		"1{2=1600000000000000000;3=1700000000123000000;4=0.500000;"
		"7{1:k8s.pod.uid;2{1:a\"b;}}}2=2;3=1;}}"
		"2{1:tallywatt_meter_info;2:Info.;3:;5{"
		"1{3=1700000000123000000;4=1.000000;7{1:zone;2{1:dram;}}}}}}}");
	tw_buf_clear(&packed);
	tw_buf_clear(&message);
	tw_buf_clear(&all);
}

/* Requests of texts other than the one above. */
static void check_otlp(const char *body, const char *wanted)
{
	static const char *const messages[] = {
		"/1",         "/1/2",         "/1/2/2",         "/1/2/2/5",
		"/1/2/2/5/1", "/1/2/2/5/1/7", "/1/2/2/5/1/7/2", NULL
	};
	const struct tw_push_head h = { .len = strlen(body) };
	const struct tw_strs none = { 0 };
	struct tw_push_place place = { 0 };
	struct tw_buf packed = { 0 }, message = { 0 }, all = { 0 };
	struct tw_push_body b = { .out = &packed,
				  .head = &h,
				  .resource = &none,
				  .text = body,
				  .place = &place,
				  .most = 9 };
	struct tw_err err = { 0 };

	assert_int_equal(tw_push_formats[TW_PUSH_OTLP].write(&b, &err), 0);
	gunzip(&packed, &message);
	describe(message.data, message.len, messages, "", &all);
	if (strstr(all.data, wanted) == NULL)
		fail_msg("'%s' is not in '%s'", wanted, all.data);
	tw_buf_clear(&packed);
	tw_buf_clear(&message);
	tw_buf_clear(&all);
}

static void a_unit_leaves_the_name_and_a_pid_is_a_number(void **state)
{
	(void)state;
	check_otlp("# HELP t_a_joules A.\n# TYPE t_a_joules gauge\n# UNIT t_a_joules "
		   "joules\n"
		   "t_a_joules{pid=\"17\",serial=\"18\"} 1\n",
		   "2{1:t_a;2:A.;3:J;5{1{3=0;4=1.000000;7{1:process.pid;2{3=17;}}"
		   "7{1:serial;2{1:18;}}}}}");
	check_otlp(
		"# HELP t_ajoules A.\n# TYPE t_ajoules gauge\n# UNIT t_ajoules joules\n"
		"t_ajoules{pid=\"x\"} 1\n",
		"2{1:t_ajoules;2:A.;3:J;5{1{3=0;4=1.000000;7{1:process.pid;2{1:x;}}}}}");
	check_otlp("# HELP t_a_joules_b A.\n# TYPE t_a_joules_b gauge\n"
		   "# UNIT t_a_joules_b joules\nt_a_joules_b 1\n",
		   "2{1:t_a_joules_b;2:A.;3:J;");
	check_otlp("# HELP t_a_turns A.\n# TYPE t_a_turns gauge\n# UNIT t_a_turns turns\n"
		   "t_a_turns 1\n",
		   "2{1:t_a_turns;2:A.;3:;");
	/* The last line may lack its end only where no sample is cut. */
	check_otlp("# HELP t A.\n# TYPE t gauge\nt 1\n# EOF",
		   "2{1:t;2:A.;3:;5{1{3=0;4=1");
}

static void a_text_is_given_in_parts(void **state)
{
	(void)state;
	for (int to = 0; to < TW_PUSH_COUNT; to++) {
		struct tw_push_place place = { 0 };
		size_t given = 1, sum = 0;

		while (given > 0) {
			struct tw_buf out = { 0 };

			write_body((enum tw_push_to)to, &place, 3, &given, &out);
			assert_int_equal(given, sum == 0 ? 3 : sum == 3 ? 1 : 0);
			sum += given;
			tw_buf_clear(&out);
		}
		assert_int_equal(sum, 4);
		assert_int_equal(place.at, head.len);
	}
}

static void a_partial_success_is_a_refusal(void **state)
{
	struct tw_buf b = { 0 };
	const size_t began = tw_pb_begin(&b, 1);
	char why[8] = "";

	(void)state;
	tw_pb_add_uint(&b, 1, 7);
	tw_pb_add_text(&b, 2, "too old by far");
	tw_pb_end(&b, began);
	assert_int_equal(tw_otlp_rejected(b.data, b.len, why, sizeof(why)), 7);
	assert_string_equal(why, "too old");
	assert_int_equal(tw_otlp_rejected("", 0, why, sizeof(why)), 0);
	assert_int_equal(tw_otlp_rejected("{}", 2, why, sizeof(why)), 0);
	tw_buf_clear(&b);
}

static void the_beginning_of_a_partial_success_is_enough(void **state)
{
	struct tw_buf b = { 0 };
	const size_t began = tw_pb_begin(&b, 1);
	char words[5001], why[8] = "";

	(void)state;
	memset(words, 'x', sizeof(words) - 1);
	words[sizeof(words) - 1] = '\0';
	tw_pb_add_uint(&b, 1, 7);
	tw_pb_add_text(&b, 2, words);
	tw_pb_end(&b, began);
	assert_int_equal(tw_otlp_rejected(b.data, 1024, why, sizeof(why)), 7);
	assert_string_equal(why, "xxxxxxx");
	tw_buf_clear(&b);
}

static void a_failed_allocation_is_an_error(void **state)
{
	static const struct tw_strs none = { 0 };
	int n;

	(void)state;
	for (int to = 0; to < TW_PUSH_COUNT; to++)
		for (n = 1;; n++) {
			struct tw_push_place place = { 0 };
			struct tw_buf out = { 0 };
			struct tw_push_body b = { .out = &out,
						  .head = &head,
						  .place = &place,
						  .resource = &none,
						  .text = text,
						  .most = 100 };
			struct tw_err err = { 0 };
			int rc;

			fail_alloc_at(n);
			rc = tw_push_formats[to].write(&b, &err);
			tw_buf_clear(&out);
			if (!fail_alloc_told(rc, &err))
				break;
		}
	assert_true(n > 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_read_back),
		cmocka_unit_test(blocks_are_read_back),
		cmocka_unit_test(remote_write_has_sorted_labels_of_each_sample),
		cmocka_unit_test(otlp_has_names_units_and_attributes_of_the_conventions),
		cmocka_unit_test(a_unit_leaves_the_name_and_a_pid_is_a_number),
		cmocka_unit_test(a_text_is_given_in_parts),
		cmocka_unit_test(a_partial_success_is_a_refusal),
		cmocka_unit_test(the_beginning_of_a_partial_success_is_enough),
		cmocka_unit_test(a_failed_allocation_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
