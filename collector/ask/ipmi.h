/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_IPMI_H
#define TW_COLLECTOR_IPMI_H

/*
 * Requests to the machine's own management controller, through the kernel driver
 * (/dev/ipmi0) and libfreeipmi. Use from one thread; a request blocks for tens of ms.
 */

#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_ipmi; /* opaque */

/*
 * TW_NOTFOUND if the device does not exist, TW_DENIED without permission for it,
 * TW_UNSUPPORTED in a build without libfreeipmi. *out is yours: tw_ipmi_close().
 */
int tw_ipmi_open(const char *device, struct tw_ipmi **out, struct tw_err *err);
void tw_ipmi_close(struct tw_ipmi *i); /* NULL is fine */

/* Send a request. The answer begins with the command and its completion code. */
int tw_ipmi_ask(struct tw_ipmi *i, uint8_t lun, uint8_t netfn, const uint8_t *request,
		size_t request_len, uint8_t *answer, size_t size, size_t *answer_len,
		struct tw_err *err);

#endif /* TW_COLLECTOR_IPMI_H */
