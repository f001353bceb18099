/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/cpuinfo.h"

#include "lib/core/array.h"
#include "lib/core/num.h"
#include "profiler/name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- names of Arm processors, by the register MIDR_EL1 ---- */

/* Implementer codes: Arm Architecture Reference Manual, MIDR_EL1. */
static const struct {
	uint32_t implementer;
	const char *name;
} vendors[] = {
	{ 0x41, "arm" },      { 0x42, "broadcom" },  { 0x43, "cavium" },
	{ 0x46, "fujitsu" },  { 0x48, "hisilicon" }, { 0x4e, "nvidia" },
	{ 0x51, "qualcomm" }, { 0x61, "apple" },     { 0x6d, "microsoft" },
	{ 0x70, "phytium" },  { 0xc0, "ampere" },
};

/* "arm", "ampere"; NULL if not in the table. */
static const char *find_arm_vendor(uint32_t implementer)
{
	for (size_t i = 0; i < TW_COUNT(vendors); i++)
		if (vendors[i].implementer == implementer)
			return vendors[i].name;
	return NULL;
}

/* ---- /proc/cpuinfo ---- */

#define MHZ_MAX 100000.0

struct span {
	const char *at;
	size_t len;
};

struct parse {
	struct tw_cpuinfo *out;
	bool model, stepping; /* seen */
	uint64_t chips;       /* a bit for each physical id */
	uint32_t siblings;
};

static struct span trim(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	while (end > at && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		end--;
	return (struct span){ at, (size_t)(end - at) };
}

/* "0xd0c"; 0 if malformed. */
static uint32_t read_hex(struct span s)
{
	uint32_t v = 0;

	if (s.len < 3 || s.len > 10 || s.at[0] != '0' || s.at[1] != 'x')
		return 0;
	for (size_t i = 2; i < s.len; i++) {
		const char c = s.at[i];

		if (c >= '0' && c <= '9')
			v = v * 16 + (uint32_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v * 16 + (uint32_t)(c - 'a') + 10;
		else
			return 0;
	}
	return v;
}

static void take_vendor(struct parse *p, struct span v)
{
	if (p->out->vendor[0] == '\0')
		tw_vendor_name(v.at, v.len, p->out->vendor);
}

static void take_brand(struct parse *p, struct span v)
{
	const size_t len = v.len < TW_CPU_BRAND_MAX ? v.len : TW_CPU_BRAND_MAX - 1;

	if (p->out->brand[0] == '\0')
		memcpy(p->out->brand, v.at, len);
	if (p->out->processor[0] == '\0')
		tw_processor_name(v.at, v.len, p->out->processor);
}

/* POWER: "POWER9, altivec supported". */
static void take_cpu(struct parse *p, struct span v)
{
	const char *comma = memchr(v.at, ',', v.len);

	if (comma != NULL)
		v.len = (size_t)(comma - v.at);
	take_brand(p, v);
}

/* RISC-V: "sifive,u74-mc". */
static void take_uarch(struct parse *p, struct span v)
{
	const char *comma = memchr(v.at, ',', v.len);

	if (comma != NULL)
		take_vendor(p, (struct span){ v.at, (size_t)(comma - v.at) });
	take_brand(p, v);
}

/* s390x: "version = FF,  identification = 13C7B7,  machine = 2964". */
static void take_machine(struct parse *p, struct span v)
{
	static const char key[] = "machine = ";
	const size_t len = sizeof(key) - 1;
	char brand[16];
	size_t n = 0;

	for (size_t i = 0; i + len < v.len; i++)
		if (memcmp(v.at + i, key, len) == 0) {
			const char *at = v.at + i + len;

			while (at + n < v.at + v.len && isalnum((unsigned char)at[n]) &&
			       n < 8)
				n++;
			snprintf(brand, sizeof(brand), "IBM %.*s", (int)n, at);
			take_brand(p, (struct span){ brand, strlen(brand) });
			return;
		}
}

static void take_frequency(struct parse *p, struct span v)
{
	double mhz;

	/* POWER: "2300.000000MHz". */
	if (v.len > 3 && memcmp(v.at + v.len - 3, "MHz", 3) == 0)
		v.len -= 3;
	if (!tw_parse_double(v.at, v.len, &mhz) || !(mhz >= 0 && mhz <= MHZ_MAX))
		return;
	mhz = 100 * (double)(uint32_t)(mhz / 100 + 0.5);
	if (mhz > p->out->frequency_mhz)
		p->out->frequency_mhz = (uint32_t)mhz;
}

/* A decimal number; 0 if malformed. */
static uint32_t read_number(struct span s)
{
	double d;

	return tw_parse_double(s.at, s.len, &d) && d >= 0 && d <= 0xffff ? (uint32_t)d
									 : 0;
}

/* LoongArch: "Loongson-64bit". */
static void take_family(struct parse *p, struct span v)
{
	const char *dash = memchr(v.at, '-', v.len);

	if (dash != NULL)
		take_vendor(p, (struct span){ v.at, (size_t)(dash - v.at) });
	if (p->out->signature.family == 0)
		p->out->signature.family = read_number(v);
}

static void take_model(struct parse *p, struct span v)
{
	if (!p->model)
		p->out->signature.model = read_number(v);
	p->model = true;
}

static void take_stepping(struct parse *p, struct span v)
{
	if (!p->stepping)
		p->out->signature.stepping = read_number(v);
	p->stepping = true;
}

/* A number, or the name of a CPU model on arm32. */
static void count_cpu(struct parse *p, struct span v)
{
	p->out->cpus += v.len > 0 && v.at[0] >= '0' && v.at[0] <= '9';
}

static void take_cpus(struct parse *p, struct span v)
{
	p->out->cpus = read_number(v);
}

static void take_chip(struct parse *p, struct span v)
{
	const uint32_t id = read_number(v);

	if (id < 64 && (p->chips >> id & 1) == 0) {
		p->chips |= UINT64_C(1) << id;
		p->out->chips++;
	}
}

static void take_siblings(struct parse *p, struct span v)
{
	p->siblings = read_number(v);
}

static void take_cores(struct parse *p, struct span v)
{
	const uint32_t cores = read_number(v);

	if (cores > 0 && p->siblings / cores > p->out->threads_per_core)
		p->out->threads_per_core = p->siblings / cores;
}

static void take_implementer(struct parse *p, struct span v)
{
	if (p->out->signature.implementer == 0)
		p->out->signature.implementer = read_hex(v);
}

/*
 * The big core names a processor with big and small cores: Arm gives it the higher
 * number.
 */
static void take_part(struct parse *p, struct span v)
{
	struct tw_cpu_signature *s = &p->out->signature;
	const uint32_t part = read_hex(v);

	if (s->part == 0 || (s->implementer == 0x41 && part > s->part))
		s->part = part;
}

static const struct {
	const char *key;
	void (*take)(struct parse *p, struct span v);
} keys[] = {
	{ "vendor_id", take_vendor },
	{ "model name", take_brand },
	{ "cpu MHz", take_frequency },
	{ "CPU implementer", take_implementer },
	{ "CPU part", take_part },
	{ "cpu", take_cpu },                   /* POWER */
	{ "clock", take_frequency },           /* POWER */
	{ "# processors", take_cpus },         /* s390x */
	{ "processor 0", take_machine },       /* s390x */
	{ "cpu MHz dynamic", take_frequency }, /* s390x */
	{ "uarch", take_uarch },               /* RISC-V */
	{ "cpu family", take_family },
	{ "model", take_model },
	{ "stepping", take_stepping },
	{ "processor", count_cpu },
	{ "physical id", take_chip },
	{ "siblings", take_siblings },
	{ "cpu cores", take_cores },
};

static void take_line(struct parse *p, const char *at, const char *end)
{
	const char *colon = memchr(at, ':', (size_t)(end - at));
	struct span key;

	if (colon == NULL)
		return;
	key = trim(at, colon);
	for (size_t i = 0; i < TW_COUNT(keys); i++)
		if (strlen(keys[i].key) == key.len &&
		    strncasecmp(keys[i].key, key.at, key.len) == 0)
			keys[i].take(p, trim(colon + 1, end));
}

/* arm64 has numbers instead of names. */
static void name_arm(const struct parse *p)
{
	const struct tw_cpu_signature *s = &p->out->signature;
	const char *vendor = find_arm_vendor(s->implementer);
	const struct tw_arm_part *part = tw_arm_part_find(s->implementer, s->part);

	if (p->out->vendor[0] == '\0' && vendor != NULL)
		tw_vendor_name(vendor, strlen(vendor), p->out->vendor);
	if (p->out->processor[0] == '\0' && part != NULL)
		tw_processor_name(part->name, strlen(part->name), p->out->processor);
}

void tw_cpuinfo_parse(const char *data, size_t len, struct tw_cpuinfo *out)
{
	const char *at = data, *end = data + len;
	struct parse p = { .out = out };

	*out = (struct tw_cpuinfo){ 0 };
	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));

		if (stop == NULL)
			stop = end;
		take_line(&p, at, stop);
		at = stop < end ? stop + 1 : end;
	}
	name_arm(&p);
	memcpy(out->signature.vendor, out->vendor, sizeof(out->signature.vendor));
}

/* Byte offsets: SMBIOS 3.x, 7.5 "Processor Information (Type 4)". */
#define TYPE 4
#define AT_TYPE 0x00
#define AT_LENGTH 0x01
#define AT_VENDOR 0x07
#define AT_VERSION 0x10

/* The nth string behind the structure, counted from 1; each ends with a NUL. */
static const char *find_string(const char *at, const char *end, unsigned n, size_t *len)
{
	*len = 0;
	while (n > 0 && at < end && *at != '\0') {
		const char *stop = memchr(at, '\0', (size_t)(end - at));

		if (stop == NULL)
			return at;
		if (--n == 0) {
			*len = (size_t)(stop - at);
			return at;
		}
		at = stop + 1;
	}
	return at;
}

bool tw_smbios_processor_parse(const char *data, size_t len,
			       struct tw_smbios_processor *out)
{
	const char *end = data + len;
	size_t length;

	if (len <= AT_VERSION || data[AT_TYPE] != TYPE)
		return false;
	length = (unsigned char)data[AT_LENGTH];
	if (length <= AT_VERSION || length > len)
		return false;
	out->vendor = find_string(data + length, end, (unsigned char)data[AT_VENDOR],
				  &out->vendor_len);
	out->version = find_string(data + length, end, (unsigned char)data[AT_VERSION],
				   &out->version_len);
	return true;
}
