/* SPDX-License-Identifier: Apache-2.0 */
/* Processors of tables: of the signatures, of published results, of node types. */
#include "tests/unit/fenced.h"
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "profiler/cpu_identity.h"
#include "profiler/node_types.h"
#include "profiler/spec.h"
#include "tests/unit/shared.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 1024
#define COLUMNS 40

static void identify(const char *brand, const struct tw_cpu_signature *sig,
		     struct tw_cpu_identity *out)
{
	const size_t len = strlen(brand);
	struct fenced exact = fenced_copy(brand, len, true);

	tw_cpu_identify(exact.data, len, sig, out);
	fenced_free(&exact);
}

/* Split a line of CSV in place, without quotes inside of quotes. */
static size_t split(char *line, char *cell[COLUMNS])
{
	size_t count = 0;

	for (char *p = line; count < COLUMNS; p++) {
		cell[count++] = *p == '"' ? p + 1 : p;
		if (*p == '"') {
			p = strchr(p + 1, '"');
			assert_non_null(p);
			*p++ = '\0';
		}
		p += strcspn(p, ",\n");
		if (*p != ',')
			break;
		*p = '\0';
	}
	return count;
}

static size_t find_column(char *const *header, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(header[i], name) == 0)
			return i;
	fail_msg("no column '%s'", name);
	return 0;
}

/* Each row of the table of signatures, at both ends of its models and steppings. */
static void a_signature_has_the_generation_of_its_row(void **state)
{
	FILE *f = fopen("profiler/data/signatures.csv", "re");
	char line[LINE_MAX_BYTES], *cell[COLUMNS];
	size_t rows = 0;

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		const struct tw_cpu_generation *g;

		line[strcspn(line, "\n")] = '\0';
		if (line[0] == '#' || split(line, cell) < 7 || atoi(cell[1]) == 0)
			continue;
		g = tw_cpu_generation_find(cell[6]);
		assert_non_null(g);
		for (size_t end = 0; end < 2; end++) {
			struct tw_cpu_signature sig = {
				.family = (uint32_t)atoi(cell[1]),
				.model = (uint32_t)atoi(cell[2 + end]),
				.stepping = (uint32_t)atoi(cell[4 + end])
			};
			struct tw_cpu_identity id;

			snprintf(sig.vendor, sizeof(sig.vendor), "%s", cell[0]);
			identify("", &sig, &id);
			if (strcmp(id.architecture, g->architecture) != 0 ||
			    strcmp(id.generation, g->name != NULL ? g->name : "") != 0)
				fail_msg("%s %s %s %s: %s %s", cell[0], cell[1],
					 cell[2 + end], cell[4 + end], id.architecture,
					 id.generation);
		}
		rows++;
	}
	fclose(f);
	assert_true(rows > 30);
}

/* The name has a generation, and the table of products the row's figures. */
static void expect_row(const char *name, double cores, double tdp_w)
{
	/* In the table with the figures that are theirs; the rows name the early Xeons by
	 * frequency alone. */
	const bool no_product =
		strstr(name, "GHz") != NULL && strncmp(name, "Intel Xeon", 10) == 0;
	struct tw_cpu_identity id;

	identify(name, NULL, &id);
	if (id.generation[0] == '\0')
		fail_msg("'%s' ('%s') has no generation", name, id.processor);
	if (id.cores == 0 && no_product && strcmp(id.generation, "nocona") == 0)
		return;
	if (id.cores != (uint32_t)cores)
		fail_msg("'%s' has %u cores, not %g", name, id.cores, cores);
	if (tdp_w > 0 && (id.tdp_w < 0.8 * tdp_w || id.tdp_w > 1.25 * tdp_w))
		fail_msg("'%s' has %u W, not %g", name, id.tdp_w, tdp_w);
}

static void processors_of_published_results_are_known(void **state)
{
	char path[512], line[LINE_MAX_BYTES], top[LINE_MAX_BYTES], *header[COLUMNS],
		*cell[COLUMNS];
	size_t columns, name, cores, chips, tdp, rows = 0;
	FILE *f;

	(void)state;
	shared_path(path, sizeof(path), "data/specpower/specpower.csv");
	f = fopen(path, "re");
	assert_non_null(f);
	assert_non_null(fgets(top, sizeof(top), f));
	columns = split(top, header);
	name = find_column(header, columns, "cpu_name");
	cores = find_column(header, columns, "cores");
	chips = find_column(header, columns, "chips");
	tdp = find_column(header, columns, "tdp_w_per_chip");
	for (; fgets(line, sizeof(line), f) != NULL; rows++) {
		assert_true(split(line, cell) >= 20);
		expect_row(cell[name], atof(cell[cores]) / atof(cell[chips]),
			   atof(cell[tdp]));
	}
	fclose(f);
	assert_true(rows >= 400);
}

static void processors_of_node_types_are_known(void **state)
{
	struct tw_node_types types = { 0 };
	struct tw_err err = { 0 };
	char path[512];

	(void)state;
	shared_path(path, sizeof(path), "data/node_type_index.json");
	if (tw_node_types_read(path, &types, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(types.count > 0);
	for (size_t i = 0; i < types.count; i++) {
		const struct tw_machine_spec *s = &types.at[i].spec;
		struct tw_cpu_identity id;

		identify(s->processor, NULL, &id);
		assert_string_equal(id.processor, s->processor);
		assert_int_equal(id.how[TW_CPU_GENERATION], TW_CPU_BY_NAME);
		/* The database has logical cores. */
		assert_int_equal(id.how[TW_CPU_THREADS], TW_CPU_BY_TABLE);
		assert_int_equal(s->cores, s->chips * id.threads);
	}
	tw_node_types_release(&types);
}

static void tdp_of_a_machine_is_that_of_all_chips(void **state)
{
	struct tw_machine_spec spec = { .processor = "amd_epyc_7763", .chips = 2 };

	(void)state;
	assert_true(tw_machine_tdp_w(&spec) == 2 * 280);
	spec.chips = 0;
	assert_true(tw_machine_tdp_w(&spec) == 0);
	spec = (struct tw_machine_spec){ .processor = "abacus", .chips = 1 };
	assert_true(tw_machine_tdp_w(&spec) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_signature_has_the_generation_of_its_row),
		cmocka_unit_test(processors_of_published_results_are_known),
		cmocka_unit_test(processors_of_node_types_are_known),
		cmocka_unit_test(tdp_of_a_machine_is_that_of_all_chips),
	};

	return cmocka_run_group_tests_name("known_processors", tests, NULL, NULL);
}
