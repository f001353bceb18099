/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The prior that ships, asked for the processors of tests/data/machines/processors.txt
 * with all that clients may send or leave out: physics bounds each answer.
 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/field/energy.h"
#include "model-db/model.h"
#include "model-db/prior/prior_file.h"
#include "model-db/prior/prior_model.h"
#include "profiler/cpu_identity.h"
#include "profiler/spec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAST (TW_PRIOR_LOADS - 1)
/* W above rest of a logical CPU: a NetBurst core draws 40 W, an E-core or a thread 0.5.
 */
#define CPU_MIN 0.4
#define CPU_MAX 45.0
/* W at rest of a logical CPU. */
#define REST_MIN 0.1
#define REST_MAX 45.0
/* high / low of an interval: 83 of the table, more of a vendor with a machine in it. A
 * core of a vendor of which nothing else is known may be of any of twenty years. */
#define INTERVAL_MAX 400.0
/* By how much the power of a CPU may change with a count or a word. */
#define JUMP_MAX 2.2

static int setup(void **state)
{
	static struct tw_prior p;
	struct tw_err err = { 0 };
	char *text;
	size_t len;

	if (tw_file_read("model-db/models/machines/prior.json", TW_PRIOR_BYTES_MAX, &text,
			 &len, &err) < 0 ||
	    tw_prior_read(text, len, &p, &err) < 0)
		fail_msg("%s", err.text);
	free(text);
	*state = &p;
	return 0;
}

static int teardown(void **state)
{
	tw_prior_release(*state);
	return 0;
}

static void describe(const struct tw_machine_spec *s, char out[256])
{
	snprintf(out, 256, "%s: %u CPUs, %u chips, %u GiB, %u threads", s->processor,
		 s->cores, s->chips, s->memory_gib, s->threads_per_core);
}

static void estimate(const struct tw_prior *p, const struct tw_machine_spec *s,
		     struct tw_prior_estimate *out)
{
	struct tw_err err = { 0 };
	char what[256];

	describe(s, what);
	if (tw_prior_estimate(p, s, out, &err) < 0)
		fail_msg("%s: %s", what, err.text);
}

/* The line that is sent for a part of the machine. */
struct line {
	double idle, full;
};

static double number_at(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	assert_non_null(at);
	return strtod(at + strlen(key), NULL);
}

static void lines_of(const struct tw_prior_estimate *e, const struct tw_machine_spec *s,
		     const char *source, struct line out[2])
{
	struct tw_strs metrics = { 0 };
	struct tw_model m = { 0 };
	struct tw_err err = { 0 };

	assert_int_equal(tw_strs_adds(&metrics, "bpf_cpu_time_ms", &err), 0);
	if (tw_prior_model_of(e, s, tw_energy_source_find(source), &metrics, &m, &err) <
	    0)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < m.parts; i++) {
		out[i].idle = number_at(m.part[i].text, "\"Bias_Weight\":");
		out[i].full = out[i].idle + number_at(m.part[i].text, "\"weight\":");
	}
	tw_model_release(&m);
	tw_strs_clear(&metrics);
}

static void check_curve(const struct tw_prior_estimate *e,
			const struct tw_machine_spec *s)
{
	const double *w = e->curve.w, above = (w[LAST] - w[0]) / s->cores,
		     rest = w[0] / s->cores;
	const bool is_typical = e->curve.view->unit == TW_PRIOR_OF_CPU;
	char what[256];

	describe(s, what);
	for (size_t l = 0; l < TW_PRIOR_LOADS; l++) {
		const double low = e->curve.low[l], high = e->curve.high[l];

		if (!(w[l] > 0) || !isfinite(w[l]) || (l > 0 && w[l] < w[l - 1]))
			fail_msg("%s: %g W at load %zu", what, w[l], l);
		if (!(low > 0) || low > w[l] || high < w[l] ||
		    (!is_typical && high > INTERVAL_MAX * low))
			fail_msg("%s: %g W of %g to %g", what, w[l], low, high);
	}
	if (above < CPU_MIN || above > CPU_MAX || rest < REST_MIN || rest > REST_MAX)
		fail_msg("%s (view %s): %g W of a CPU at rest, %g W above", what,
			 e->curve.view->name, rest, above);
}

static void check_parts(const struct tw_prior_estimate *e,
			const struct tw_machine_spec *s)
{
	struct line wall[2], part[2];
	char what[256];

	describe(s, what);
	lines_of(e, s, "acpi", wall);
	lines_of(e, s, "rapl-sysfs", part);
	if (part[0].idle + part[1].idle > wall->idle * (1 + 1e-9) ||
	    part[0].full + part[1].full > wall->full * (1 + 1e-9))
		fail_msg("%s: package %g to %g W and DRAM %g to %g W of %g to %g W", what,
			 part[0].idle, part[0].full, part[1].idle, part[1].full,
			 wall->idle, wall->full);
	/* Processors do the work: power above rest is theirs in good part. */
	if ((s->memory_gib > 0 &&
	     part[0].full - part[0].idle < 0.2 * (wall->full - wall->idle)) ||
	    !(part[0].idle > 0) || part[1].full < part[1].idle || !(part[1].idle > 0))
		fail_msg("%s: package %g to %g W, DRAM %g to %g W, machine %g to %g W",
			 what, part[0].idle, part[0].full, part[1].idle, part[1].full,
			 wall->idle, wall->full);
}

static void check(const struct tw_prior *p, const struct tw_machine_spec *s)
{
	struct tw_prior_estimate e;

	estimate(p, s, &e);
	check_curve(&e, s);
	check_parts(&e, s);
}

/* ---- the processors ---- */

static void each_processor(const struct tw_prior *p,
			   void (*run)(const struct tw_prior *p,
				       const struct tw_cpu_identity *id))
{
	char line[256];
	FILE *f = fopen("tests/data/machines/processors.txt", "re");
	size_t count = 0;

	assert_non_null(f);
	for (; fgets(line, sizeof(line), f) != NULL; count++) {
		struct tw_cpu_identity id;

		tw_cpu_identify(line, strcspn(line, "\n"), NULL, &id);
		run(p, &id);
	}
	fclose(f);
	assert_true(count > 150);
}

/* Cores of no desktop or mobile part are more. */
#define CLIENT_CORES 24

static bool is_client(const char *name)
{
	return strncmp(name, "intel_core_", 11) == 0 ||
	       strncmp(name, "intel_n", 7) == 0 ||
	       (strncmp(name, "amd_ryzen_", 10) == 0 &&
		strstr(name, "threadripper") == NULL);
}

static void check_guests(const struct tw_prior *p, const struct tw_cpu_identity *id)
{
	static const uint32_t cpus[] = { 1, 2, 3, 8, 32, 96 };
	struct tw_machine_spec s = { 0 };

	snprintf(s.processor, sizeof(s.processor), "%s", id->processor);
	for (size_t i = 0; i < TW_COUNT(cpus); i++)
		for (s.threads_per_core = 0; s.threads_per_core <= 2;
		     s.threads_per_core++) {
			if (is_client(s.processor) && cpus[i] > CLIENT_CORES)
				continue;
			s.cores = cpus[i];
			s.chips = i % 2;
			s.memory_gib = s.threads_per_core > 0 ? 4 * cpus[i] : 0;
			check(p, &s);
		}
}

static void check_hosts(const struct tw_prior *p, const struct tw_cpu_identity *id)
{
	static const char *const vendors[] = { "", "HPE" };
	/* Of products whose counts nobody published. */
	static const uint32_t guessed[] = { 4, 16, 64, 192 };
	struct tw_machine_spec s = { 0 };

	snprintf(s.processor, sizeof(s.processor), "%s", id->processor);
	for (size_t i = 0; i < (id->cores > 0 ? 1 : TW_COUNT(guessed)); i++)
		for (s.chips = 1; s.chips <= 2; s.chips++)
			for (uint32_t memory = 0; memory <= 8; memory += 8) {
				const uint32_t cores =
					id->cores > 0 ? id->cores : guessed[i];

				if (is_client(s.processor) &&
				    (cores > CLIENT_CORES || s.chips > 1))
					continue;
				s.threads_per_core =
					id->threads > cores ? id->threads / cores : 1;
				s.cores = s.chips * cores * s.threads_per_core;
				s.memory_gib = memory * s.cores;
				for (size_t v = 0; v < (memory > 0 ? 2 : 1); v++) {
					snprintf(s.system_vendor, TW_SPEC_TEXT, "%s",
						 vendors[v]);
					check(p, &s);
				}
			}
}

static void physics_bounds_guests(void **state)
{
	each_processor(*state, check_guests);
}

static void physics_bounds_hosts(void **state)
{
	each_processor(*state, check_hosts);
}

/* ---- neighbours ---- */

static double of_cpu(const struct tw_prior *p, const struct tw_machine_spec *s, size_t l)
{
	struct tw_prior_estimate e;

	estimate(p, s, &e);
	return e.curve.w[l] / s->cores;
}

static void check_neighbours(const struct tw_prior *p, const struct tw_machine_spec *a,
			     const struct tw_machine_spec *b)
{
	char what[2][256];

	describe(a, what[0]);
	describe(b, what[1]);
	for (size_t l = 0; l < TW_PRIOR_LOADS; l += LAST) {
		const double x = of_cpu(p, a, l), y = of_cpu(p, b, l);

		if (x > JUMP_MAX * y || y > JUMP_MAX * x)
			fail_msg("%s has %g W of a CPU, but %s has %g", what[0], x,
				 what[1], y);
	}
}

static void a_cpu_more_is_no_jump(void **state)
{
	static const char *const names[] = { "amd_epyc_9654",        "amd_epyc_9r45",
					     "intel_xeon_6780e",     "aws_graviton4",
					     "intel_core_i9_14900k", "intel_xeon",
					     "ampere_altra",         "" };

	for (size_t i = 0; i < TW_COUNT(names); i++)
		for (uint32_t cpus = 1; cpus < 512; cpus += 1 + cpus / 8)
			for (uint32_t chips = 0; chips <= 2; chips++) {
				struct tw_machine_spec a = { .cores = cpus,
							     .chips = chips,
							     .memory_gib = 4 * cpus,
							     .threads_per_core = 1 };
				struct tw_machine_spec b = a;

				b.cores++;
				snprintf(a.processor, sizeof(a.processor), "%s",
					 names[i]);
				snprintf(b.processor, sizeof(b.processor), "%s",
					 names[i]);
				check_neighbours(*state, &a, &b);
			}
}

#define GUEST_CPUS 16

static void check_pair(const struct tw_prior *p, const char *const pair[2],
		       uint32_t chips)
{
	struct tw_machine_spec s[2] = { 0 };

	for (size_t k = 0; k < 2; k++) {
		struct tw_cpu_identity id;

		tw_cpu_identify(pair[k], strlen(pair[k]), NULL, &id);
		s[k] = (struct tw_machine_spec){ .cores = GUEST_CPUS,
						 .chips = chips,
						 .memory_gib = 4 * GUEST_CPUS,
						 .threads_per_core = 2 };
		snprintf(s[k].processor, sizeof(s[k].processor), "%s", id.processor);
	}
	check_neighbours(p, &s[0], &s[1]);
}

/* Processors of one generation, as guests: a cloud's custom part beside the product. */
static void a_word_of_the_name_is_no_jump(void **state)
{
	static const char *const pairs[][2] = {
		{ "amd_epyc_9654", "amd_epyc_9654p" },
		{ "amd_epyc_9634", "amd_epyc_9v74" },
		{ "amd_epyc_7763", "amd_epyc_7r13" },
		{ "amd_epyc_7763", "amd_epyc_7b13" },
		{ "amd_epyc_9755", "amd_epyc_embedded_9755" },
		{ "intel_xeon_platinum_8480+", "intel_xeon_platinum_8488c" },
		{ "intel_xeon_platinum_8380", "intel_xeon_platinum_8370c" },
		{ "intel_xeon_6787p", "intel_xeon_gold_6787p" },
		{ "intel_xeon_6780e", "intel_xeon_6766e" },
		{ "aws_graviton4", "aws_graviton3" },
	};

	for (size_t i = 0; i < TW_COUNT(pairs); i++)
		check_pair(*state, pairs[i], 0);
}

/* Nobody published the cores of the second part. */
static void a_guest_on_a_custom_part_is_no_small_machine(void **state)
{
	static const char *const pairs[][2] = {
		{ "amd_epyc_9555", "amd_epyc_9r45" },
		{ "intel_xeon_6760p", "intel_xeon_6975p_c" },
		{ "intel_xeon_platinum_8592+", "intel_xeon_platinum_8581c" },
		{ "ampere_altra_q80_30", "ampere_altra" },
		{ "neoverse_n2", "cobalt_100" },
	};

	for (size_t i = 0; i < TW_COUNT(pairs); i++) {
		check_pair(*state, pairs[i], 1);
		check_pair(*state, pairs[i], GUEST_CPUS); /* as QEMU has it */
	}
}

/* The view of a machine of eight CPUs; "" if the prior has no answer. */
static void check_view(const struct tw_prior *p, const char *processor, const char *view)
{
	struct tw_machine_spec s = { .cores = 8 };
	struct tw_prior_estimate e;
	struct tw_err err = { 0 };

	snprintf(s.processor, sizeof(s.processor), "%s", processor);
	if (tw_prior_estimate(p, &s, &e, &err) < 0)
		assert_true(*view == '\0' && strstr(err.text, "mainframe") != NULL);
	else if (strcmp(e.curve.view->name, view) != 0)
		fail_msg("%s: %s", processor, e.curve.view->name);
}

static void machines_unlike_the_table_are_no_share_of_a_server(void **state)
{
	static const char *const cases[][2] = {
		/* Relatives of the table's: by the architecture of Altra, of Naples. */
		{ "aws_graviton4", "chip-name" },
		{ "cobalt_200", "core" },
		{ "hygon_c86_4g", "core" },
		/* Below its TDP. */
		{ "intel_n100", "typical" },
		{ "intel_celeron_j4125", "typical" },
		{ "intel_core_i7_1265u", "typical" },
		/* Of other vendors. */
		{ "apple_m2_pro", "typical" },
		{ "cortex_a76", "typical" },
		{ "neoverse_v3ae", "typical" },
		{ "power10", "typical" },
		{ "sifive_u74_mc", "typical" },
		{ "ibm_3931", "" },
	};

	for (size_t i = 0; i < TW_COUNT(cases); i++)
		check_view(*state, cases[i][0], cases[i][1]);
}

/* An EPYC 9R14 is of the cores of a 9654, and its TDP is not published. */
static void a_server_of_a_custom_part_is_like_one_of_its_generation(void **state)
{
	static const char *const pairs[][2] = {
		{ "amd_epyc_9r14", "amd_epyc_9654" },
		{ "intel_xeon_platinum_8488c", "intel_xeon_platinum_8468" },
	};

	for (size_t i = 0; i < TW_COUNT(pairs); i++) {
		struct tw_prior_estimate e[2];

		for (size_t k = 0; k < 2; k++) {
			struct tw_machine_spec s = { .cores = i == 0 ? 192 : 96,
						     .chips = i == 0 ? 2 : 1,
						     .memory_gib = 384,
						     .threads_per_core = i == 0 ? 1 : 2 };

			snprintf(s.processor, sizeof(s.processor), "%s", pairs[i][k]);
			estimate(*state, &s, &e[k]);
			assert_string_equal(e[k].curve.view->name, "host");
		}
		for (size_t l = 0; l < TW_PRIOR_LOADS; l++)
			assert_true(fabs(log(e[0].curve.w[l] / e[1].curve.w[l])) <
				    log(1.25));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(physics_bounds_guests),
		cmocka_unit_test(physics_bounds_hosts),
		cmocka_unit_test(machines_unlike_the_table_are_no_share_of_a_server),
		cmocka_unit_test(a_cpu_more_is_no_jump),
		cmocka_unit_test(a_word_of_the_name_is_no_jump),
		cmocka_unit_test(a_guest_on_a_custom_part_is_no_small_machine),
		cmocka_unit_test(a_server_of_a_custom_part_is_like_one_of_its_generation),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
