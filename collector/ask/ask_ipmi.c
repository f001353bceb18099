/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job "ipmi": the power of this machine, from its own management controller, in band.
 */
#include "collector/ask/ask_job.h"
#include "collector/ask/dcmi.h"
#include "collector/ask/ipmi.h"
#include "lib/core/err.h"
#include "lib/json/json.h"

#include <stdio.h>
#include <stdlib.h>

#define BACKOFF_MAX_MS 60000

/* A controller without the command gets it only by an update: retry rarely. */
#define UNSUPPORTED_MS 600000

struct job {
	struct tw_ipmi *ipmi; /* NULL: not open */
	const char *device;
	uint64_t interval_ms;
	unsigned failures;
};

static void close_job(void *state)
{
	struct job *j = state;

	if (j == NULL)
		return;
	tw_ipmi_close(j->ipmi);
	free(j);
}

static int open_job(const json_t *settings, void **state, struct tw_err *err)
{
	struct job *j = calloc(1, sizeof(*j));
	long long interval_ms;

	if (j == NULL)
		return tw_fail(err, TW_NOMEM, "ipmi");
	if (tw_json_text(settings, "settings", "device", false, &j->device, err) < 0 ||
	    tw_json_int(settings, "settings", "interval_ms", false, 1, INT32_MAX,
			&interval_ms, err) < 0 ||
	    tw_ipmi_open(j->device, &j->ipmi, err) < 0) {
		close_job(j);
		return -1;
	}
	j->interval_ms = (uint64_t)interval_ms;
	*state = j;
	return 0;
}

static int read_power(struct job *j, struct tw_dcmi_power *out, struct tw_err *err)
{
	uint8_t answer[TW_DCMI_RESPONSE_MAX];
	size_t len;

	if (tw_ipmi_ask(j->ipmi, TW_DCMI_LUN, TW_DCMI_NETFN, tw_dcmi_power_request,
			sizeof(tw_dcmi_power_request), answer, sizeof(answer), &len,
			err) < 0)
		return -1;
	return tw_dcmi_power_parse(answer, len, out, err);
}

static uint64_t fail(struct job *j, int fd, const struct tw_err *why)
{
	j->failures++;
	tw_ask_send_failure(fd, why, false);
	return why->code == TW_UNSUPPORTED
		       ? UNSUPPORTED_MS
		       : tw_ask_backoff_ms(j->failures, j->interval_ms, BACKOFF_MAX_MS);
}

static uint64_t ask(struct job *j, int fd)
{
	struct tw_ask_message m;
	struct tw_dcmi_power power;
	struct tw_err err = { 0 };

	if (read_power(j, &power, &err) < 0)
		return fail(j, fd, &err);
	j->failures = 0;
	m = tw_ask_message(TW_ASK_POWER);
	m.power_w = power.now_w;
	m.window_ms = power.window_ms;
	tw_ask_send(fd, &m);
	return j->interval_ms;
}

static void run_job(void *state, int fd)
{
	struct job *j = state;
	struct tw_ask_message m = tw_ask_message(TW_ASK_ZONE);
	uint64_t wait_ms;

	snprintf(m.of.zone.name, sizeof(m.of.zone.name), "dcmi");
	snprintf(m.of.zone.path, sizeof(m.of.zone.path), "%s", j->device);
	if (!tw_ask_send(fd, &m))
		return;
	do
		wait_ms = ask(j, fd);
	while (tw_ask_pause(fd, wait_ms, wait_ms));
}

const struct tw_ask_job tw_ask_ipmi = {
	.name = "ipmi",
	.open = open_job,
	.run = run_job,
	.close = close_job,
};
