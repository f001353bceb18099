/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/code_name.h"

const char *code_name(enum tw_code code)
{
	static const char *const names[TW_CODE_COUNT] = {
		[TW_OK] = "ok",
		[TW_NOMEM] = "no-memory",
		[TW_IO] = "io",
		[TW_PARSE] = "parse",
		[TW_INVALID] = "invalid",
		[TW_NOTFOUND] = "not-found",
		[TW_UNSUPPORTED] = "unsupported",
		[TW_DENIED] = "denied",
	};

	return (unsigned)code < TW_CODE_COUNT ? names[code] : "unknown";
}
