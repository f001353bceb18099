/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What looks like AMD's System Management Interface library, and tells what the file has
 * that TW_FAKE_AMDSMI names, read anew at each call. Its lines:
 *
 *	code N			what amdsmi_init() returns
 *	version N		of the library, 24 by default: the layout of its structs
 *	card			a physical card; then, for each of its partitions:
 *	gpu BDF NAME		the number of its address on PCI, in hexadecimal
 *	type N			1 by default
 *	energy COUNT UNIT	UNIT in uJ; without it there is no counter
 *	power CURRENT AVERAGE	in W; without it there is no power
 *	busy PERCENT
 *	lost			no query works
 */
#include "collector/meters/amdsmi.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As of the library's own names. */
#define EXPORT __attribute__((visibility("default")))

#define CARDS 8
#define GPUS 32
#define UUID_SIZE 38

struct tw_amdsmi_socket {
	unsigned first, count; /* of gpus */
};

struct tw_amdsmi_processor {
	char name[64];
	uint64_t bdf, count;
	unsigned type, current, average, busy;
	float unit;
	bool has_energy, has_power, has_busy, lost;
};

static struct tw_amdsmi_socket cards[CARDS];
static struct tw_amdsmi_processor gpus[GPUS];
static unsigned card_count, gpu_count, version;

static void take(struct tw_amdsmi_processor *g, const char *line)
{
	unsigned long long count;

	if (sscanf(line, "energy %llu %f", &count, &g->unit) == 2) {
		g->has_energy = true;
		g->count = count;
	} else if (sscanf(line, "power %u %u", &g->current, &g->average) == 2) {
		g->has_power = true;
	} else if (sscanf(line, "busy %u", &g->busy) == 1) {
		g->has_busy = true;
	} else if (strcmp(line, "lost\n") == 0) {
		g->lost = true;
	} else {
		(void)!sscanf(line, "type %u", &g->type);
	}
}

/* What amdsmi_init() is to return. */
static unsigned load(void)
{
	const char *path = getenv("TW_FAKE_AMDSMI");
	FILE *f = path != NULL ? fopen(path, "r") : NULL;
	unsigned code = TW_AMDSMI_OK;
	unsigned long long bdf;
	char line[256], name[64];

	if (f == NULL)
		return TW_AMDSMI_DRIVER_NOT_LOADED;
	memset(gpus, 0, sizeof(gpus));
	card_count = gpu_count = 0;
	version = 24;
	while (fgets(line, sizeof(line), f) != NULL) {
		if (strcmp(line, "card\n") == 0 && card_count < CARDS) {
			cards[card_count++] =
				(struct tw_amdsmi_socket){ .first = gpu_count };
		} else if (sscanf(line, "gpu %llx %63[^\n]", &bdf, name) == 2 &&
			   card_count > 0 && gpu_count < GPUS) {
			struct tw_amdsmi_processor *g = &gpus[gpu_count++];

			memcpy(g->name, name, sizeof(name));
			g->bdf = bdf;
			g->type = TW_AMDSMI_GPU;
			cards[card_count - 1].count++;
		} else if (gpu_count > 0) {
			take(&gpus[gpu_count - 1], line);
		} else if (sscanf(line, "code %u", &code) != 1) {
			(void)!sscanf(line, "version %u", &version);
		}
	}
	fclose(f);
	return code;
}

EXPORT unsigned amdsmi_init(uint64_t flags);
EXPORT unsigned amdsmi_shut_down(void);
EXPORT unsigned amdsmi_status_code_to_string(unsigned code, const char **out);
EXPORT unsigned amdsmi_get_lib_version(unsigned *out);
EXPORT unsigned amdsmi_get_socket_handles(uint32_t *count, tw_amdsmi_socket *out);
EXPORT unsigned amdsmi_get_processor_handles(tw_amdsmi_socket s, uint32_t *count,
					     tw_amdsmi_processor *out);
EXPORT unsigned amdsmi_get_processor_type(tw_amdsmi_processor p, unsigned *out);
EXPORT unsigned amdsmi_get_gpu_device_bdf(tw_amdsmi_processor p, uint64_t *out);
EXPORT unsigned amdsmi_get_gpu_device_uuid(tw_amdsmi_processor p, unsigned *size,
					   char *out);
EXPORT unsigned amdsmi_get_gpu_asic_info(tw_amdsmi_processor p, char *out);
EXPORT unsigned amdsmi_get_energy_count(tw_amdsmi_processor p, uint64_t *count,
					float *unit, uint64_t *time_ns);
EXPORT unsigned amdsmi_get_power_info(tw_amdsmi_processor p, unsigned *out);
EXPORT unsigned amdsmi_get_gpu_activity(tw_amdsmi_processor p,
					struct tw_amdsmi_usage *out);

unsigned amdsmi_init(uint64_t flags)
{
	return flags == TW_AMDSMI_GPUS ? load() : 1;
}

unsigned amdsmi_shut_down(void)
{
	return TW_AMDSMI_OK;
}

unsigned amdsmi_status_code_to_string(unsigned code, const char **out)
{
	*out = code == TW_AMDSMI_NOT_FOUND           ? "Device not found"
	       : code == TW_AMDSMI_NOT_SUPPORTED     ? "Feature not supported"
	       : code == TW_AMDSMI_NO_DATA           ? "No data"
	       : code == TW_AMDSMI_DRIVER_NOT_LOADED ? "Driver not loaded"
						     : NULL;
	return TW_AMDSMI_OK;
}

unsigned amdsmi_get_lib_version(unsigned *out)
{
	load();
	out[0] = version;
	out[1] = 7;
	return TW_AMDSMI_OK;
}

/* As many handles as there is room for; *count has how many there are. */
static unsigned give(uint32_t all, uint32_t *count)
{
	const uint32_t n = all < *count ? all : *count;

	*count = all;
	return n;
}

unsigned amdsmi_get_socket_handles(uint32_t *count, tw_amdsmi_socket *out)
{
	uint32_t n;

	load();
	n = give(card_count, count);
	for (uint32_t i = 0; i < n && out != NULL; i++)
		out[i] = &cards[i];
	return TW_AMDSMI_OK;
}

unsigned amdsmi_get_processor_handles(tw_amdsmi_socket s, uint32_t *count,
				      tw_amdsmi_processor *out)
{
	const uint32_t n = give(s->count, count);

	for (uint32_t i = 0; i < n && out != NULL; i++)
		out[i] = &gpus[s->first + i];
	return TW_AMDSMI_OK;
}

/* TW_AMDSMI_OK if a query of p is answered. */
static unsigned find(const struct tw_amdsmi_processor *p, bool has)
{
	return p->lost ? TW_AMDSMI_NOT_FOUND
	       : has   ? TW_AMDSMI_OK
		       : TW_AMDSMI_NOT_SUPPORTED;
}

unsigned amdsmi_get_processor_type(tw_amdsmi_processor p, unsigned *out)
{
	*out = p->type;
	return find(p, true);
}

unsigned amdsmi_get_gpu_device_bdf(tw_amdsmi_processor p, uint64_t *out)
{
	*out = p->bdf;
	return find(p, true);
}

unsigned amdsmi_get_gpu_device_uuid(tw_amdsmi_processor p, unsigned *size, char *out)
{
	if (*size < UUID_SIZE)
		return 1;
	snprintf(out, *size, "uuid-%llx", (unsigned long long)p->bdf);
	return find(p, true);
}

unsigned amdsmi_get_gpu_asic_info(tw_amdsmi_processor p, char *out)
{
	memcpy(out, p->name, sizeof(p->name));
	return find(p, true);
}

unsigned amdsmi_get_energy_count(tw_amdsmi_processor p, uint64_t *count, float *unit,
				 uint64_t *time_ns)
{
	load();
	*count = p->count;
	*unit = p->unit;
	*time_ns = 1;
	return find(p, p->has_energy);
}

unsigned amdsmi_get_power_info(tw_amdsmi_processor p, unsigned *out)
{
	/* From version 25 on a number of 8 bytes comes first. */
	unsigned *at = out;

	load();
	if (version >= 25) {
		*at++ = 7777;
		*at++ = 0;
	}
	*at++ = p->current;
	*at++ = p->average;
	*at = 850; /* voltage */
	return find(p, p->has_power);
}

unsigned amdsmi_get_gpu_activity(tw_amdsmi_processor p, struct tw_amdsmi_usage *out)
{
	load();
	*out = (struct tw_amdsmi_usage){ .shaders = p->busy };
	return find(p, p->has_busy);
}
