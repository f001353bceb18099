/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/program/opt.h"
#include "lib/program/opt_file.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct config {
	bool fast;
	uint32_t threads;
	uint64_t interval_ms;
	uint64_t body_bytes;
	char *listen;
	char *dir;
	unsigned kind;
};

static const char *const kinds[] = { "good", "bad", NULL };

static const struct tw_opt table[] = {
	{ .name = "fast", .type = TW_OPT_BOOL, .offset = offsetof(struct config, fast) },
	{ .name = "threads",
	  .type = TW_OPT_U32,
	  .offset = offsetof(struct config, threads) },
	{ .name = "interval",
	  .type = TW_OPT_DURATION_MS,
	  .offset = offsetof(struct config, interval_ms) },
	{ .name = "body-limit",
	  .type = TW_OPT_SIZE_BYTES,
	  .offset = offsetof(struct config, body_bytes) },
	{ .name = "listen",
	  .type = TW_OPT_LISTEN,
	  .offset = offsetof(struct config, listen) },
	{ .name = "dir", .type = TW_OPT_TEXT, .offset = offsetof(struct config, dir) },
	{ .name = "kind",
	  .type = TW_OPT_CHOICE,
	  .offset = offsetof(struct config, kind),
	  .choices = kinds },
};

static const struct tw_opts opts = {
	.program = "fuzz_opt",
	.opt = table,
	.count = TW_COUNT(table),
};

/* Property: a file is rejected with a reason, or each of its values can be found. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config c = { 0 };
	struct tw_strs list = { 0 };
	const char *names[TW_COUNT(table) + 1] = { NULL };
	struct tw_err err = { 0 };

	for (size_t i = 0; i < TW_COUNT(table); i++)
		names[i] = table[i].name;
	if (tw_opt_file_parse("input", (const char *)data, size, names, &list, &err) <
	    0) {
		if (list.count != 0 || err.code == TW_OK || err.text[0] == '\0')
			abort();
		return 0;
	}
	for (size_t i = 0; i < opts.count; i++) {
		const char *text = tw_opt_file_find(&list, table[i].name);
		struct tw_err why = { 0 };

		if (text != NULL && tw_opt_set(&table[i], text, &c, &why) < 0 &&
		    why.code == TW_OK)
			abort();
	}
	tw_opts_release(&opts, &c);
	tw_strs_clear(&list);
	return 0;
}
