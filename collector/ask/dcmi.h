/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_DCMI_H
#define TW_COLLECTOR_DCMI_H

/*
 * Get Power Reading of DCMI 1.5 (6.6.1): what a management controller tells of the
 * machine's power over IPMI. Request and response as bytes, without what carries them.
 */

#include <stdbool.h>
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
	uint16_t least_w, most_w, average_w; /* over the window */
	uint32_t window_ms;
	uint32_t time_s; /* of the controller's clock, since 1970 */
};

/*
 * The command, its completion code, and its data. TW_UNSUPPORTED where the controller
 * does not know the command, TW_IO where it says to try again, TW_INVALID where it does
 * not measure now.
 */
int tw_dcmi_power_parse(const uint8_t *data, size_t len, struct tw_dcmi_power *out,
			struct tw_err *err);

#endif /* TW_COLLECTOR_DCMI_H */
