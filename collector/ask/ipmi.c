/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/ipmi.h"

#include "lib/core/err.h"

#include <errno.h>
#include <freeipmi/freeipmi.h>
#include <stdlib.h>
#include <unistd.h>

struct tw_ipmi {
	ipmi_ctx_t ctx;
};

int tw_ipmi_open(const char *device, struct tw_ipmi **out, struct tw_err *err)
{
	struct tw_ipmi *i;

	if (access(device, R_OK | W_OK) < 0)
		return tw_fail_errno(err, errno, "'%s'", device);
	i = calloc(1, sizeof(*i));
	if (i != NULL)
		i->ctx = ipmi_ctx_create();
	if (i == NULL || i->ctx == NULL) {
		tw_fail(err, TW_NOMEM, "'%s'", device);
		goto failed;
	}
	if (ipmi_ctx_open_inband(i->ctx, IPMI_DEVICE_OPENIPMI, 0, 0, 0, device, 0,
				 IPMI_FLAGS_DEFAULT) < 0) {
		tw_fail(err, TW_IO, "'%s': %s", device, ipmi_ctx_errormsg(i->ctx));
		goto failed;
	}
	*out = i;
	return 0;
failed:
	tw_ipmi_close(i);
	return -1;
}

void tw_ipmi_close(struct tw_ipmi *i)
{
	if (i == NULL)
		return;
	if (i->ctx != NULL) {
		ipmi_ctx_close(i->ctx);
		ipmi_ctx_destroy(i->ctx);
	}
	free(i);
}

int tw_ipmi_ask(struct tw_ipmi *i, uint8_t lun, uint8_t netfn, const uint8_t *request,
		size_t request_len, uint8_t *answer, size_t size, size_t *answer_len,
		struct tw_err *err)
{
	const int n = ipmi_cmd_raw(i->ctx, lun, netfn, request, (unsigned)request_len,
				   answer, (unsigned)size);

	if (n < 0)
		return tw_fail(err, TW_IO, "IPMI: %s", ipmi_ctx_errormsg(i->ctx));
	*answer_len = (size_t)n;
	return 0;
}
