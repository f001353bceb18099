/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/err.h"
#include "trainer/record/series_reader.h"
#include "trainer/record/spool.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take(void *arg, const struct tw_jsax_event *e, struct tw_err *err)
{
	return tw_series_reader_event(arg, e, err);
}

/* Feed the answer in pieces, as the network does. */
static int read_answer(const char *data, size_t size, size_t piece,
		       struct tw_series_reader *reader, struct tw_err *err)
{
	struct tw_prom_answer answer = { .nested = true, .fn = take, .arg = reader };
	int rc = -1;

	if (tw_prom_answer_open(&answer, err) < 0)
		return -1;
	for (size_t at = 0; at < size; at += piece)
		if (tw_prom_answer_feed(&answer, data + at,
					size - at < piece ? size - at : piece, err) < 0)
			goto out;
	if (tw_prom_answer_end(&answer, err) < 0)
		goto out;
	rc = 0;
out:
	tw_prom_answer_release(&answer);
	return rc;
}

/* Property: the size of the pieces makes no difference. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t pieces[] = { 1, 7, SIZE_MAX };
	uint64_t taken[3];
	int result[3];

	for (size_t i = 0; i < 3; i++) {
		struct tw_series_reader reader = { .metric = "m" };
		struct tw_err err = { 0 };

		if (tw_spool_new("/tmp/x", &reader.spool, &err) < 0)
			abort();
		result[i] =
			read_answer((const char *)data, size,
				    pieces[i] < size ? pieces[i] : size, &reader, &err);
		taken[i] = tw_spool_size(reader.spool).samples;
		if ((result[i] < 0) != (err.code != TW_OK) || result[i] != result[0] ||
		    taken[i] != taken[0] || (result[i] == 0 && taken[i] != reader.taken))
			abort();
		tw_spool_free(reader.spool);
		tw_series_reader_release(&reader);
	}
	return 0;
}
