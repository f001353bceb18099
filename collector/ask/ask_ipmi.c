/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job "ipmi": the power of this machine, from its own management controller, in band.
 */
#include "collector/ask/ask_job.h"
#include "collector/ask/dcmi.h"
#include "lib/core/err.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#if TW_FREEIPMI
#include <freeipmi/freeipmi.h>

/* A controller without the command gets it only by an update: retry rarely. */
#define UNSUPPORTED_MS 600000

struct job {
	struct tw_ask_state state;
	ipmi_ctx_t ipmi; /* NULL: not open */
	const char *device;
	bool sent; /* its zone was sent */
};

#define AT(member) TW_FIELD_AT(struct job, member)
static const struct tw_field fields[] = {
	TW_ASK_INTERVAL(struct job),
	{ "device", TW_FIELD_BORROWED, AT(device) },
};
static const struct tw_fields settings = TW_FIELDS(fields, struct job);

/* ---- libfreeipmi: a request blocks for tens of ms ---- */

static void close_job(void *state)
{
	const struct job *j = state;

	if (j->ipmi == NULL)
		return;
	ipmi_ctx_close(j->ipmi);
	ipmi_ctx_destroy(j->ipmi);
}

static int open_job(void *state, struct tw_err *err)
{
	struct job *j = state;

	if (access(j->device, R_OK | W_OK) < 0)
		return tw_fail_errno(err, errno, "'%s'", j->device);
	j->ipmi = ipmi_ctx_create();
	if (j->ipmi == NULL)
		return tw_fail(err, TW_NOMEM, "'%s'", j->device);
	if (ipmi_ctx_open_inband(j->ipmi, IPMI_DEVICE_OPENIPMI, 0, 0, 0, j->device, 0,
				 IPMI_FLAGS_DEFAULT) < 0)
		return tw_fail(err, TW_IO, "'%s': %s", j->device,
			       ipmi_ctx_errormsg(j->ipmi));
	return 0;
}

static int read_power(const struct job *j, struct tw_dcmi_power *out, struct tw_err *err)
{
	uint8_t answer[TW_DCMI_RESPONSE_MAX];
	const int n =
		ipmi_cmd_raw(j->ipmi, TW_DCMI_LUN, TW_DCMI_NETFN, tw_dcmi_power_request,
			     sizeof(tw_dcmi_power_request), answer, sizeof(answer));

	if (n < 0)
		return tw_fail(err, TW_IO, "IPMI: %s", ipmi_ctx_errormsg(j->ipmi));
	return tw_dcmi_power_parse(answer, (size_t)n, out, err);
}

/* ---- the job ---- */

static bool send_zone(const struct job *j)
{
	struct tw_ask_message m = tw_ask_message(TW_ASK_ZONE);

	snprintf(m.of.zone.name, sizeof(m.of.zone.name), "dcmi");
	snprintf(m.of.zone.path, sizeof(m.of.zone.path), "%s", j->device);
	return tw_ask_send(j->state.fd, &m);
}

static int poll_controller(void *state, struct tw_err *err)
{
	struct job *j = state;
	struct tw_ask_message m;
	struct tw_dcmi_power power;

	j->sent = j->sent || send_zone(j);
	if (read_power(j, &power, err) < 0) {
		j->state.wait_ms = err->code == TW_UNSUPPORTED ? UNSUPPORTED_MS : 0;
		return -1;
	}
	m = tw_ask_message(TW_ASK_POWER);
	m.power_w = power.now_w;
	m.window_ms = power.window_ms;
	tw_ask_send(j->state.fd, &m);
	return 0;
}

const struct tw_ask_job tw_ask_ipmi = {
	.name = "ipmi",
	.settings = &settings,
	.open = open_job,
	.poll = poll_controller,
	.retry_min_ms = 10000,
	.retry_max_ms = 60000,
	.close = close_job,
};

#else

static const struct tw_fields settings = { .size = sizeof(struct tw_ask_state) };

static int open_job(void *state, struct tw_err *err)
{
	(void)state;
	return tw_fail(err, TW_UNSUPPORTED, "built without libfreeipmi");
}

const struct tw_ask_job tw_ask_ipmi = {
	.name = "ipmi",
	.settings = &settings,
	.open = open_job,
};

#endif
