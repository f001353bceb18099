/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/request.h"
#include "lib/core/err.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a run came to. */
struct outcome {
	size_t used, rows, metrics, missing, late, texts;
	int rc;
	bool done;
	enum tw_code code;
};

static struct outcome run(const char *data, size_t size, size_t piece)
{
	struct tw_request_parser *p = NULL;
	struct tw_err err = { 0 };
	struct outcome o = { 0 };

	if (tw_request_parser_new(&p, &err) < 0)
		return o;
	while (o.used < size && !o.done && o.rc == 0) {
		size_t used = 0, n = size - o.used < piece ? size - o.used : piece;

		o.rc = tw_request_parser_feed(p, data + o.used, n, &used, &o.done, &err);
		if (used > n || (o.rc == 0 && !o.done && used != n))
			abort();
		o.used += used;
	}
	if (o.done) {
		const struct tw_request *r = tw_request_parser_request(p);

		o.rows = r->rows;
		o.metrics = r->metrics.count;
		for (size_t i = 0; i < r->rows * (r->metrics.count - r->systems); i++)
			o.missing += isnan(r->x[i]);
		for (size_t i = 0; r->time_ms != NULL && i < r->rows; i++)
			o.late += r->time_ms[i] > 0;
		for (size_t i = 0; i < r->categories.count; i++)
			o.texts += strlen(r->categories.values[i]);
	}
	if (o.rc < 0)
		o.used = 0; /* where it is noticed depends on the pieces */
	o.code = err.code;
	tw_request_parser_free(p);
	return o;
}

/* Property: it does not matter in which pieces a request comes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	const struct outcome whole = run(text, size, size + 1),
			     bytes = run(text, size, 1),
			     some = run(text, size, 1 + size / 3);

	if (whole.rc != bytes.rc || whole.done != bytes.done ||
	    whole.used != bytes.used || whole.rows != bytes.rows ||
	    whole.missing != bytes.missing || whole.code != bytes.code)
		abort();
	if (whole.rc != some.rc || whole.done != some.done || whole.used != some.used ||
	    whole.metrics != some.metrics || whole.late != some.late ||
	    whole.texts != some.texts || whole.code != some.code)
		abort();
	return 0;
}
