/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_DCMI_H
#define TW_COLLECTOR_DCMI_H

/*
 * The command Get Power Reading of DCMI 1.5 (6.6.1): the power of the machine, as its
 * management controller measures it. Requests and responses as bytes, without the
 * transport.
 */

#include <stddef.h>
#include <stdint.h>

struct tw_err;

#define TW_DCMI_NETFN 0x2c
#define TW_DCMI_LUN 0

/* The command and its data: system power statistics. */
#define TW_DCMI_REQUEST_LEN 5
extern const uint8_t tw_dcmi_power_request[TW_DCMI_REQUEST_LEN];

/* Room for any response. */
#define TW_DCMI_RESPONSE_MAX 64

struct tw_dcmi_power {
	uint16_t now_w;
	uint16_t least_w, most_w, average_w; /* least, most and average over the window */
	uint32_t window_ms;
	uint32_t time_s; /* time stamp of the controller, seconds since 1970 */
};

/*
 * Parse a response: the command, its completion code and its data. TW_UNSUPPORTED if the
 * controller does not know the command, TW_IO if a retry may work, TW_INVALID if it does
 * not measure now.
 */
int tw_dcmi_power_parse(const uint8_t *data, size_t len, struct tw_dcmi_power *out,
			struct tw_err *err);

#endif /* TW_COLLECTOR_DCMI_H */
