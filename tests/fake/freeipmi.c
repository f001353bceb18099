/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A management controller, for LD_PRELOAD before tw-ask: replaces the functions of
 * libfreeipmi that tw-ask calls to open the controller and to ask it. The file that
 * TW_FAKE_IPMI names has the power in whole watts, read anew at each question.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int ipmi_ctx_open_inband(void *ctx, int type, int no_probe, uint16_t address,
				uint8_t spacing, const char *device, unsigned workarounds,
				unsigned flags);
EXPORT int ipmi_cmd_raw(void *ctx, uint8_t lun, uint8_t netfn, const void *request,
			unsigned request_len, void *answer, unsigned answer_size);

static int file = -1;

/* The file is opened here, because tw-ask may open none later. */
int ipmi_ctx_open_inband(void *ctx, int type, int no_probe, uint16_t address,
			 uint8_t spacing, const char *device, unsigned workarounds,
			 unsigned flags)
{
	const char *path = getenv("TW_FAKE_IPMI");

	(void)ctx;
	(void)type;
	(void)no_probe;
	(void)address;
	(void)spacing;
	(void)device;
	(void)workarounds;
	(void)flags;
	file = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	return file < 0 ? -1 : 0;
}

/* Answer DCMI 1.5, 6.6.1 "Get Power Reading": now, least, most, mean, time, period,
 * state.
 */
int ipmi_cmd_raw(void *ctx, uint8_t lun, uint8_t netfn, const void *request,
		 unsigned request_len, void *answer, unsigned answer_size)
{
	uint8_t reading[20] = {
		[0] = 0x02, [2] = 0xdc, [15] = 0xe8, [16] = 0x03, [19] = 0x40
	}; /* the period is 1000 ms */
	char text[16] = "";
	long watts;

	(void)ctx;
	(void)lun;
	(void)netfn;
	(void)request;
	(void)request_len;
	if (answer_size < sizeof(reading) || pread(file, text, sizeof(text) - 1, 0) <= 0)
		return -1;
	watts = strtol(text, NULL, 10);
	reading[3] = (uint8_t)watts;
	reading[4] = (uint8_t)(watts >> 8);
	memcpy(answer, reading, sizeof(reading));
	return sizeof(reading);
}
