/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/push/format.h"

const struct tw_push_format tw_push_formats[TW_PUSH_COUNT] = {
	[TW_PUSH_OTLP] = { .name = "otlp",
			   .content_type = "application/x-protobuf",
			   .coding = "Content-Encoding: gzip",
			   .path = "/v1/metrics",
			   .write = tw_otlp_write,
			   .rejected = tw_otlp_rejected },
	[TW_PUSH_REMOTE_WRITE] = { .name = "remote-write",
				   .content_type = "application/x-protobuf",
				   .coding = "Content-Encoding: snappy",
				   .version = "X-Prometheus-Remote-Write-Version: 0.1.0",
				   .write = tw_remote_write },
};
