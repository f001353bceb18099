/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/service/job_record.h"

static const char *const state_names[] = {
	[TW_JOB_WAITING] = "waiting",     [TW_JOB_RUNNING] = "running",
	[TW_JOB_DONE] = "done",           [TW_JOB_FAILED] = "failed",
	[TW_JOB_CANCELLED] = "cancelled", [TW_JOB_LOST] = "lost",
	[TW_JOB_STATES] = NULL,
};

const char *tw_job_state_name(enum tw_job_state s)
{
	return state_names[s];
}

bool tw_job_state_ended(enum tw_job_state s)
{
	return s != TW_JOB_WAITING && s != TW_JOB_RUNNING;
}

static bool is_running(const void *record)
{
	return ((const struct tw_job_record *)record)->state == TW_JOB_RUNNING;
}

static bool has_estimate(const void *record)
{
	return is_running(record) &&
	       ((const struct tw_job_record *)record)->remaining_s >= 0.0;
}

static bool is_done(const void *record)
{
	return ((const struct tw_job_record *)record)->state == TW_JOB_DONE;
}

#define AT(member) TW_FIELD_AT(struct tw_job_record, member)

static const struct tw_field fields[] = {
	{ "id", TW_FIELD_NAME, AT(id) },
	{ "pipeline", TW_FIELD_NAME, AT(pipeline) },
	{ "state", TW_FIELD_ENUM, AT(state), .names = state_names },
	{ "stage", TW_FIELD_BORROWED, AT(stage), .omit_empty = true, .unread = true,
	  .when = is_running },
	{ "progress", TW_FIELD_DOUBLE, AT(fraction), .decimals = 3, .unread = true,
	  .when = is_running },
	{ "remaining_s", TW_FIELD_DOUBLE, AT(remaining_s), .decimals = 1, .unread = true,
	  .when = has_estimate },
	{ "created", TW_FIELD_DATE, AT(created_ms), .optional = true,
	  .omit_empty = true },
	{ "started", TW_FIELD_DATE, AT(started_ms), .optional = true,
	  .omit_empty = true },
	{ "ended", TW_FIELD_DATE, AT(ended_ms), .optional = true, .omit_empty = true },
	{ "models", TW_FIELD_UINT, AT(models), .max = UINT32_MAX, .optional = true,
	  .when = is_done },
	{ "published", TW_FIELD_BOOL, AT(published), .optional = true, .when = is_done },
	{ "error", TW_FIELD_REASON, AT(error), .optional = true, .omit_empty = true },
};

const struct tw_fields tw_job_fields = TW_FIELDS(fields, struct tw_job_record);

void tw_job_record_write(const struct tw_job_record *r, struct tw_buf *out)
{
	tw_fields_write(&tw_job_fields, r, out);
}

int tw_job_record_read(const char *data, size_t len, struct tw_job_record *out,
		       struct tw_err *err)
{
	struct tw_job_record r = { .remaining_s = -1.0 };

	if (tw_fields_parse(&tw_job_fields, data, len, "job", &r, err) < 0)
		return -1;
	*out = r;
	return 0;
}
