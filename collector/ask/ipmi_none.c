/* SPDX-License-Identifier: Apache-2.0 */
/* ipmi.h for builds without libfreeipmi. */
#include "collector/ask/ipmi.h"

#include "lib/core/err.h"

int tw_ipmi_open(const char *device, struct tw_ipmi **out, struct tw_err *err)
{
	(void)device;
	(void)out;
	return tw_fail(err, TW_UNSUPPORTED, "built without libfreeipmi");
}

void tw_ipmi_close(struct tw_ipmi *i)
{
	(void)i;
}

int tw_ipmi_ask(struct tw_ipmi *i, uint8_t lun, uint8_t netfn, const uint8_t *request,
		size_t request_len, uint8_t *answer, size_t size, size_t *answer_len,
		struct tw_err *err)
{
	(void)i;
	(void)lun;
	(void)netfn;
	(void)request;
	(void)request_len;
	(void)answer;
	(void)size;
	(void)answer_len;
	return tw_fail(err, TW_UNSUPPORTED, "built without libfreeipmi");
}
