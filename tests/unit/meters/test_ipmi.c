/* SPDX-License-Identifier: Apache-2.0 */
/* The job "ipmi": wrapped functions of libfreeipmi take the controller's part. */
#include "tests/unit/tw_test.h"

#include "collector/ask/ask_job.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/scratch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#if TW_FREEIPMI

#include <freeipmi/freeipmi.h>

int __wrap_ipmi_ctx_open_inband(ipmi_ctx_t ctx, ipmi_driver_type_t type, int no_probe,
				uint16_t address, uint8_t spacing, const char *device,
				unsigned workarounds, unsigned flags);
int __wrap_ipmi_cmd_raw(ipmi_ctx_t ctx, uint8_t lun, uint8_t netfn, const void *request,
			unsigned request_len, void *answer, unsigned answer_size);

static bool opens;
static const uint8_t *answer;
static int answer_len;

int __wrap_ipmi_ctx_open_inband(ipmi_ctx_t ctx, ipmi_driver_type_t type, int no_probe,
				uint16_t address, uint8_t spacing, const char *device,
				unsigned workarounds, unsigned flags)
{
	(void)ctx;
	(void)no_probe;
	(void)address;
	(void)spacing;
	(void)workarounds;
	(void)flags;
	assert_int_equal(type, IPMI_DEVICE_OPENIPMI);
	assert_non_null(strstr(device, "ipmi0"));
	return opens ? 0 : -1;
}

int __wrap_ipmi_cmd_raw(ipmi_ctx_t ctx, uint8_t lun, uint8_t netfn, const void *request,
			unsigned request_len, void *out, unsigned size)
{
	static const uint8_t wanted[] = { 0x02, 0xdc, 0x01, 0x00, 0x00 };

	(void)ctx;
	assert_int_equal(lun, 0);
	assert_int_equal(netfn, 0x2c);
	assert_int_equal(request_len, sizeof(wanted));
	assert_memory_equal(request, wanted, sizeof(wanted));
	if (answer_len < 0)
		return -1;
	assert_true((unsigned)answer_len <= size);
	memcpy(out, answer, (size_t)answer_len);
	return answer_len;
}

struct machine {
	char *dir, *device;
	json_t *settings;
};

static void set_up(struct machine *m)
{
	struct tw_err err = { 0 };

	m->dir = scratch_new();
	assert_int_equal(tw_path_join(&m->device, &err, m->dir, "ipmi0", NULL), 0);
	assert_int_equal(tw_file_create(m->device, "", 0, &err), 0);
	m->settings = json_pack("{s:s,s:i}", "device", m->device, "interval_ms", 1000);
	assert_non_null(m->settings);
	opens = true;
}

static void tear_down(struct machine *m)
{
	json_decref(m->settings);
	scratch_free(m->dir);
	free(m->device);
}

struct run {
	void *state;
	int fd;
};

static void *run_job(void *arg)
{
	const struct run *r = arg;

	tw_ask_job_run(&tw_ask_ipmi, r->state, r->fd);
	return NULL;
}

/* The zone, and what it tells at first. */
static struct tw_ask_message first_answer(const uint8_t *bytes, int len)
{
	struct tw_ask_message m = { 0 };
	struct tw_err err = { 0 };
	struct machine machine;
	pthread_t thread;
	struct run r;
	int ends[2];

	answer = bytes;
	answer_len = len;
	set_up(&machine);
	if (tw_ask_job_open(&tw_ask_ipmi, machine.settings, &r.state, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	r.fd = ends[1];
	assert_int_equal(pthread_create(&thread, NULL, run_job, &r), 0);
	assert_int_equal(recv(ends[0], &m, sizeof(m), 0), sizeof(m));
	assert_int_equal(m.kind, TW_ASK_ZONE);
	assert_string_equal(m.of.zone.name, "dcmi");
	assert_string_equal(m.of.zone.path, machine.device);
	assert_int_equal(recv(ends[0], &m, sizeof(m), 0), sizeof(m));
	close(ends[0]);
	assert_int_equal(pthread_join(thread, NULL), 0);
	close(ends[1]);
	tw_ask_job_close(&tw_ask_ipmi, r.state);
	tear_down(&machine);
	return m;
}

static void a_controller_s_answer_is_reported(void **state)
{
	static const uint8_t good[] = { 0x02, 0x00, 0xdc, 0x5e, 0x01, 0x08, 0x00,
					0xe8, 0x03, 0x54, 0x01, 0x10, 0x2d, 0x1f,
					0x67, 0xe8, 0x03, 0x00, 0x00, 0x40 };
	static const uint8_t unknown[] = { 0x02, 0xc1 }, busy[] = { 0x02, 0xc0 };
	struct tw_ask_message m;

	(void)state;
	m = first_answer(good, sizeof(good));
	assert_int_equal(m.kind, TW_ASK_POWER);
	assert_float_equal(m.power_w, 350, 0);
	assert_int_equal(m.window_ms, 1000);
	m = first_answer(unknown, sizeof(unknown));
	assert_int_equal(m.kind, TW_ASK_FAILED);
	assert_true(m.lasting);
	assert_non_null(strstr(m.why, "does not know DCMI's power reading"));
	m = first_answer(busy, sizeof(busy));
	assert_int_equal(m.kind, TW_ASK_FAILED);
	assert_false(m.lasting);
	m = first_answer(NULL, -1);
	assert_int_equal(m.kind, TW_ASK_FAILED);
	assert_int_equal(strncmp(m.why, "IPMI: ", 6), 0);
}

static void a_file_that_cannot_be_opened_has_a_reason(void **state)
{
	struct tw_err err = { 0 };
	struct machine m;
	void *job = NULL;

	(void)state;
	set_up(&m);
	opens = false;
	assert_int_equal(tw_ask_job_open(&tw_ask_ipmi, m.settings, &job, &err), -1);
	assert_int_equal(err.code, TW_IO);
	assert_non_null(strstr(err.text, "ipmi0': "));
	assert_int_equal(unlink(m.device), 0);
	err = (struct tw_err){ 0 };
	assert_int_equal(tw_ask_job_open(&tw_ask_ipmi, m.settings, &job, &err), -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	tear_down(&m);
}

static void without_memory_it_fails_and_leaks_nothing(void **state)
{
	struct machine m;

	(void)state;
	set_up(&m);
	for (int n = 1;; n++) {
		struct tw_err err = { 0 };
		void *job = NULL;
		int rc;

		fail_alloc_at(n);
		rc = tw_ask_job_open(&tw_ask_ipmi, m.settings, &job, &err);
		if (!fail_alloc_hit()) {
			tw_ask_job_close(&tw_ask_ipmi, job);
			break;
		}
		assert_int_equal(rc, -1);
		assert_int_equal(err.code, TW_NOMEM);
	}
	tear_down(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_controller_s_answer_is_reported),
		cmocka_unit_test(a_file_that_cannot_be_opened_has_a_reason),
		cmocka_unit_test(without_memory_it_fails_and_leaks_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void a_build_without_the_library_has_a_clear_error(void **state)
{
	json_t *settings =
		json_pack("{s:s,s:i}", "device", "/dev/ipmi0", "interval_ms", 1000);
	struct tw_err err = { 0 };
	void *job = NULL;

	(void)state;
	assert_int_equal(tw_ask_job_open(&tw_ask_ipmi, settings, &job, &err), -1);
	assert_int_equal(err.code, TW_UNSUPPORTED);
	assert_string_equal(err.text, "built without libfreeipmi");
	json_decref(settings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_build_without_the_library_has_a_clear_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
