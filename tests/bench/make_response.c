/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_response SAMPLES CONTAINERS LIFE MACHINES
 *
 * Write a Prometheus response, as large as you like, of Kepler 0.7's usage and energy
 * metrics and no others: all of it is kept by who reads it. SAMPLES time stamps, 3 s
 * apart. On each machine CONTAINERS run at a time, each for LIFE samples (0: all the
 * time), after which another takes its place. Same arguments, same bytes. As bytes go it
 * is like a recording; it follows no power law (tests/generate_response.py does).
 */
#include "lib/core/array.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define START_S 1700000000u
#define STEP_S 3u
#define MODES 2
#define CHIPS 2

/* What a counter's step is at most, and digits behind the point. */
struct metric {
	const char *name;
	uint64_t step;
	unsigned digits;
};

static const struct metric usage[] = {
	{ "bpf_block_irq", 3, 0 },         { "bpf_cpu_time_ms", 3000000, 3 },
	{ "bpf_net_rx_irq", 900, 0 },      { "bpf_net_tx_irq", 40, 0 },
	{ "bpf_page_cache_hit", 4000, 0 }, { "cache_miss", 30000000, 0 },
	{ "cpu_cycles", 7800000000, 0 },   { "cpu_instructions", 12000000000, 0 },
};

static const struct metric energy[] = {
	{ "core", 90000, 3 }, { "dram", 30000, 3 },      { "package", 200000, 3 },
	{ "uncore", 0, 3 },   { "platform", 600000, 3 },
};

struct shape {
	uint64_t samples, containers, life, machines;
};

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void put_text(const char *text)
{
	fwrite_unlocked(text, 1, strlen(text), stdout);
}

/* v / 10^digits, as short as Prometheus prints it. */
static void put_number(uint64_t v, unsigned digits)
{
	char text[32];
	size_t at = sizeof(text);
	unsigned n = 0;

	for (; digits > 0 && v % 10 == 0; digits--)
		v /= 10;
	do {
		if (n == digits && n > 0)
			text[--at] = '.';
		text[--at] = (char)('0' + v % 10);
		v /= 10;
		n++;
	} while (v > 0 || n <= digits);
	fwrite_unlocked(text + at, 1, sizeof(text) - at, stdout);
}

/* Samples from..to of a counter. Busy and idle phases take turns. */
static void put_values(const struct metric *m, uint64_t seed, uint64_t from, uint64_t to)
{
	uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1, value = 0;

	put_text(",\"values\":[");
	for (uint64_t i = from; i < to; i++) {
		const uint64_t r = next_random(&state);

		put_text(i > from ? ",[" : "[");
		put_number(START_S + STEP_S * i, 0);
		put_text(",\"");
		put_number(value, m->digits);
		put_text("\"]");
		if (m->step > 0 && (i >> 4 & 3) != 0)
			value += r % (m->step + 1);
	}
	put_text("]}");
}

static void put_labels(const char *name, uint64_t machine)
{
	printf("{\"metric\":{\"__name__\":\"%s\",\"container\":\"kepler-exporter\","
	       "\"endpoint\":\"http\",\"instance\":\"node-%" PRIu64 "\","
	       "\"job\":\"kepler-exporter\",\"namespace\":\"kepler\","
	       "\"service\":\"kepler-exporter\"",
	       name, machine);
}

static void put_container(const char *name, const struct metric *m,
			  const struct shape *shape, uint64_t machine, uint64_t place)
{
	const uint64_t life = shape->life > 0 ? shape->life : shape->samples;
	/* Not all of them end at the same time. */
	uint64_t from = 0, to = life - (shape->life > 0 ? place * 7 % life : 0);

	for (uint64_t turn = 0; from < shape->samples; turn++) {
		const uint64_t id =
			(turn * shape->machines + machine) * shape->containers + place;
		uint64_t state = id * UINT64_C(0xd1342543de82ef95) + 99;

		to = to < shape->samples ? to : shape->samples;
		if (turn > 0 || place > 0 || machine > 0)
			put_text(",\n");
		put_labels(name, machine);
		printf(",\"container_id\":\"%016" PRIx64 "%016" PRIx64 "%016" PRIx64
		       "%016" PRIx64 "\",\"container_name\":\"load-%" PRIu64
		       "\",\"container_namespace\":\"default\",\"pod_name\":\"load-"
		       "%" PRIu64 "-%" PRIu64 "\"}",
		       next_random(&state), next_random(&state), next_random(&state),
		       next_random(&state), place, place, id);
		put_values(m, id * TW_COUNT(usage) + (uint64_t)(m - usage), from, to);
		from = to;
		to += life;
	}
}

static void put_usage(const struct metric *m, const struct shape *shape)
{
	char name[80];

	snprintf(name, sizeof(name), "kepler_container_%s_total", m->name);
	printf("\"%s\":[\n", name);
	for (uint64_t machine = 0; machine < shape->machines; machine++)
		for (uint64_t c = 0; c < shape->containers; c++)
			put_container(name, m, shape, machine, c);
	put_text("],\n");
}

static void put_energy(const struct metric *m, const struct shape *shape)
{
	const int chips = strcmp(m->name, "platform") == 0 ? 1 : CHIPS;
	char name[80];
	int n = 0;

	snprintf(name, sizeof(name), "kepler_node_%s_joules_total", m->name);
	printf("\"%s\":[\n", name);
	for (uint64_t machine = 0; machine < shape->machines; machine++) {
		for (int i = 0; i < MODES * chips; i++) {
			put_text(n++ > 0 ? ",\n" : "");
			put_labels(name, machine);
			printf(",\"exported_instance\":\"node-%" PRIu64
			       "\",\"mode\":\"%s\",\"source\":\"%s\"",
			       machine, i < chips ? "dynamic" : "idle",
			       chips == 1 ? "acpi" : "rapl-sysfs");
			if (chips > 1)
				printf(",\"package\":\"%d\"", i % chips);
			put_text("}");
			put_values(m, (uint64_t)n, 0, shape->samples);
		}
	}
	put_text(m == &energy[TW_COUNT(energy) - 1] ? "]\n" : "],\n");
}

int main(int argc, char **argv)
{
	static char buffer[1 << 20];
	struct shape shape;

	if (argc != 5) {
		fprintf(stderr,
			"usage: make_response SAMPLES CONTAINERS LIFE MACHINES\n");
		return 2;
	}
	shape.samples = strtoull(argv[1], NULL, 10);
	shape.containers = strtoull(argv[2], NULL, 10);
	shape.life = strtoull(argv[3], NULL, 10);
	shape.machines = strtoull(argv[4], NULL, 10);
	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	put_text("{\n");
	for (size_t i = 0; i < TW_COUNT(usage); i++)
		put_usage(&usage[i], &shape);
	for (size_t i = 0; i < TW_COUNT(energy); i++)
		put_energy(&energy[i], &shape);
	put_text("}\n");
	return fflush(stdout) == 0 ? 0 : 1;
}
