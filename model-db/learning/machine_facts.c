/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells the learning what a server would know of machines, by the server's own code: so
 * that an attribute means the same in training and serving.
 *
 *	machine-facts < MACHINES > FACTS
 *
 * A machine is a line, its cells separated by tabs: the processor's name, the system's
 * vendor, logical CPUs, chips, GiB of memory, MHz, threads of a core (0: unknown). Each
 * gets a line of JSON: "number" and "category" (model-db/prior/prior_machine.h), from
 * the two names alone, "before" and "memory_before" (tw_prior_generation_before(),
 * tw_prior_memory_before()), and "likeness" (profiler/likeness.h): of this machine, which
 * asks, to every machine.
 */

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/json/json.h"
#include "model-db/prior/prior.h"
#include "profiler/likeness.h"
#include "profiler/spec.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CELLS 7
#define LINE_MAX_BYTES 1024

struct machine {
	struct tw_prior_machine known;
	struct tw_likeness likeness;
};

/* Cut at tabs and at the end of the line. Returns the number of cells. */
static size_t cut(char *line, char *cell[CELLS])
{
	size_t n = 0;

	line[strcspn(line, "\n")] = '\0';
	for (char *at = line; at != NULL && n < CELLS; n++)
		cell[n] = strsep(&at, "\t");
	return n;
}

static int take_machine(char *line, struct machine *m, struct tw_err *err)
{
	struct tw_machine_spec s = { 0 };
	uint32_t *const number[] = { &s.cores, &s.chips, &s.memory_gib, &s.frequency_mhz,
				     &s.threads_per_core };
	char *cell[CELLS];

	if (cut(line, cell) != CELLS)
		return tw_fail(err, TW_PARSE, "want %d cells", CELLS);
	tw_processor_name(cell[0], strlen(cell[0]), s.processor);
	for (size_t i = 0; i < TW_COUNT(number); i++)
		if (tw_parse_u32(cell[2 + i], 0, UINT32_MAX, number[i], err) < 0)
			return -1;
	tw_prior_machine_of_name(cell[0], &m->known);
	tw_prior_machine_set_system(&m->known, cell[1]);
	tw_likeness_of(&s, &m->likeness);
	return 0;
}

/*
 * Add generations and memory types of earlier processors, for a prior that lacks those of
 * the machine.
 */
static void add_before(struct tw_buf *b, const struct tw_prior_machine *of)
{
	struct tw_prior_machine m = *of;
	const char *comma = "";

	tw_buf_adds(b, "],\"before\":[");
	for (; tw_prior_generation_before(&m); comma = ",")
		tw_buf_addf(b, "%s\"%s\"", comma, m.category[TW_PRIOR_GENERATION]);
	tw_buf_adds(b, "],\"memory_before\":[");
	comma = "";
	for (; tw_prior_memory_before(&m); comma = ",")
		tw_buf_addf(b, "%s\"%s\"", comma, m.category[TW_PRIOR_MEMORY_TYPE]);
}

static void add_machine(struct tw_buf *b, const struct machine *of,
			const struct machine *all, size_t count)
{
	tw_buf_adds(b, "{\"number\":[");
	for (size_t n = 0; n < TW_PRIOR_FACTS; n++) {
		tw_buf_adds(b, n > 0 ? "," : "");
		if (isnan(of->known.number[n]))
			tw_buf_adds(b, "null");
		else
			tw_buf_add_double(b, of->known.number[n]);
	}
	tw_buf_adds(b, "],\"category\":[");
	for (size_t c = 0; c < TW_PRIOR_CATEGORIES; c++) {
		const char *text = of->known.category[c];

		tw_buf_adds(b, c > 0 ? "," : "");
		tw_buf_add_json_text(b, text, strlen(text));
	}
	add_before(b, &of->known);
	tw_buf_adds(b, "],\"likeness\":[");
	for (size_t i = 0; i < count; i++)
		tw_buf_addf(b, "%s%.2f", i > 0 ? "," : "",
			    tw_likeness(&of->likeness, &all[i].likeness));
	tw_buf_adds(b, "]}\n");
}

int main(void)
{
	static struct machine m[TW_PRIOR_ROWS_MAX];
	char line[LINE_MAX_BYTES];
	struct tw_err err = { 0 };
	size_t count = 0;

	while (fgets(line, sizeof(line), stdin) != NULL) {
		if (count == TW_PRIOR_ROWS_MAX)
			tw_fail(&err, TW_INVALID, "more than %d machines",
				TW_PRIOR_ROWS_MAX);
		if (err.code != TW_OK || take_machine(line, &m[count], &err) < 0) {
			fprintf(stderr, "machine-facts: line %zu: %s\n", count + 1,
				err.text);
			return 1;
		}
		count++;
	}
	for (size_t i = 0; i < count; i++) {
		struct tw_buf b = { 0 };

		add_machine(&b, &m[i], m, count);
		if (tw_buf_failed(&b) || fwrite(b.data, 1, b.len, stdout) != b.len) {
			fprintf(stderr, "machine-facts: cannot write\n");
			return 1;
		}
		tw_buf_clear(&b);
	}
	return 0;
}
