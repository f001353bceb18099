/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs of AMD: their energy counters, or their power. A card counts once, however many
 * partitions it has: each of them shows the card's counter. A GPU inside a processor is
 * left out, because the package contains it. The counter of an MI300A is that of the
 * whole: CPU, GPU and memory, so it is a zone of the platform.
 */
#include "collector/meters/amdsmi.h"
#include "collector/meters/meter.h"
#include "collector/meters/meter_file.h"
#include "collector/system/roots.h"
#include "lib/core/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CARDS_MAX 64
#define PARTITIONS_MAX 64 /* of a card */
#define HWMON_MAX 1       /* of a card */

/* The counter of a card with power moves within this time: it is updated every 1 ms. */
#define MOVES_WITHIN_MS 100

struct card {
	tw_amdsmi_processor processor;
	bool by_energy;    /* else by power */
	uint64_t first_uj; /* the counter at the start */
};

/* The list is first, so that its operations take the whole. */
struct cards {
	struct tw_zone_list list;
	struct tw_amdsmi *smi;
	struct card card[CARDS_MAX]; /* of each zone */
};

/* The part of a card that its power covers, by the sensors that hwmon shows. */
static enum tw_amdgpu covers(const struct tw_roots *roots, const char *pci)
{
	struct tw_err ignored = { 0 };
	char dir[TW_ZONE_PATH], hwmon[TW_ZONE_PATH];
	unsigned at[HWMON_MAX];
	size_t count = 0;

	if ((size_t)snprintf(dir, sizeof(dir), "%s/bus/pci/devices/%s/hwmon", roots->sys,
			     pci) >= sizeof(dir) ||
	    tw_meter_list(dir, "hwmon", at, HWMON_MAX, &count, &ignored) < 0 ||
	    count == 0 ||
	    (size_t)snprintf(hwmon, sizeof(hwmon), "%s/hwmon%u", dir, at[0]) >=
		    sizeof(hwmon))
		return TW_AMDGPU_CARD;
	return tw_amdgpu_covers(hwmon);
}

/* The address on PCI; "": unknown. */
static void read_address(const struct tw_amdsmi *a, tw_amdsmi_processor p, char *out,
			 size_t size)
{
	uint64_t bdf;

	out[0] = '\0';
	if (a->bdf != NULL && a->bdf(p, &bdf) == TW_AMDSMI_OK)
		snprintf(out, size, "%04x:%02x:%02x.%x", TW_AMDSMI_DOMAIN(bdf),
			 TW_AMDSMI_BUS(bdf), TW_AMDSMI_DEVICE(bdf),
			 TW_AMDSMI_FUNCTION(bdf));
}

static void describe(const struct tw_amdsmi *a, tw_amdsmi_processor p, unsigned index,
		     const char *pci, struct tw_zone *z)
{
	unsigned size = sizeof(z->gpu.uuid);

	*z = (struct tw_zone){ .kind = TW_ZONE_GPU, .package = -1 };
	snprintf(z->name, sizeof(z->name), "gpu-%u", index);
	snprintf(z->gpu.index, sizeof(z->gpu.index), "%u", index);
	z->gpu.vendor = "amd";
	if (a->uuid == NULL || a->uuid(p, &size, z->gpu.uuid) != TW_AMDSMI_OK)
		z->gpu.uuid[0] = '\0';
	z->gpu.uuid[sizeof(z->gpu.uuid) - 1] = '\0';
	tw_amdsmi_name(a, p, z->gpu.model, sizeof(z->gpu.model));
	snprintf(z->path, sizeof(z->path), "amdsmi:%s",
		 pci[0] != '\0' ? pci : z->gpu.index);
}

static void make_module(struct tw_zone *z)
{
	z->kind = TW_ZONE_PLATFORM;
	z->place = TW_PLACE_MODULE;
	z->note = "the reading is that of the module: CPU, GPU and memory";
	snprintf(z->name, sizeof(z->name), "module-%s", z->gpu.index);
}

/* Decide how a processor is read. False: it tells nothing. */
static bool find_way(const struct tw_amdsmi *a, struct card *c)
{
	double power_w;

	c->by_energy = tw_amdsmi_energy(a, c->processor, &c->first_uj) == TW_AMDSMI_OK;
	return c->by_energy || tw_amdsmi_power(a, c->processor, &power_w) == TW_AMDSMI_OK;
}

/* `known`: a partition of the card counts already. */
static int add_processor(struct cards *c, const struct tw_roots *roots,
			 tw_amdsmi_processor p, unsigned index, bool known,
			 struct tw_err *err)
{
	struct card card = { .processor = p };
	unsigned type = TW_AMDSMI_GPU;
	enum tw_amdgpu what;
	struct tw_zone z;
	char pci[24];

	if (c->smi->type(p, &type) != TW_AMDSMI_OK ||
	    (type != TW_AMDSMI_GPU && type != TW_AMDSMI_APU))
		return 0;
	read_address(c->smi, p, pci, sizeof(pci));
	describe(c->smi, p, index, pci, &z);
	if (known)
		return tw_zone_list_leave(&c->list, &z,
					  "a partition of a card that counts", err);
	what = pci[0] != '\0' ? covers(roots, pci) : TW_AMDGPU_CARD;
	if (what == TW_AMDGPU_INSIDE)
		return tw_zone_list_leave(&c->list, &z,
					  "a GPU inside the processor, whose package "
					  "contains it",
					  err);
	if (!find_way(c->smi, &card))
		return tw_zone_list_leave(&c->list, &z,
					  "it reports neither energy nor power", err);
	if (what == TW_AMDGPU_MODULE || type == TW_AMDSMI_APU ||
	    strstr(z.gpu.model, "MI300A") != NULL)
		make_module(&z);
	z.reports_power = !card.by_energy;
	c->card[c->list.count] = card;
	return tw_zone_list_add(&c->list, &z, err);
}

static int add_card(struct cards *c, const struct tw_roots *roots, tw_amdsmi_socket s,
		    unsigned index, struct tw_err *err)
{
	tw_amdsmi_processor p[PARTITIONS_MAX];
	uint32_t count = PARTITIONS_MAX;
	const size_t had = c->list.count;

	if (c->smi->processors(s, &count, p) != TW_AMDSMI_OK)
		return 0;
	for (uint32_t i = 0; i < count && i < PARTITIONS_MAX; i++)
		if (add_processor(c, roots, p[i], index, c->list.count > had, err) < 0)
			return -1;
	return 0;
}

static int add_cards(struct cards *c, const struct tw_roots *roots, struct tw_err *err)
{
	tw_amdsmi_socket s[CARDS_MAX];
	uint32_t count = CARDS_MAX;
	const unsigned code = c->smi->sockets(&count, s);

	if (code != TW_AMDSMI_OK)
		return tw_amdsmi_fail(c->smi, code, "cards", err);
	for (uint32_t i = 0; i < count && i < CARDS_MAX; i++)
		if (add_card(c, roots, s[i], i, err) < 0)
			return -1;
	return c->list.count > 0
		       ? 0
		       : tw_fail(err, TW_NOTFOUND, "no GPU that reports energy or power");
}

static bool stands_still(const struct tw_amdsmi *a, const struct card *c)
{
	uint64_t energy_uj;
	double power_w;

	return c->by_energy &&
	       tw_amdsmi_energy(a, c->processor, &energy_uj) == TW_AMDSMI_OK &&
	       energy_uj == c->first_uj &&
	       tw_amdsmi_power(a, c->processor, &power_w) == TW_AMDSMI_OK && power_w > 0;
}

/*
 * Read cards by power whose counter stands still although they have some, as MI100s do
 * until a restart of the machine (ROCm/amdsmi, issue 38).
 */
static void drop_still_counters(struct cards *c)
{
	const struct timespec pause = { .tv_nsec = MOVES_WITHIN_MS * 1000000L };
	bool any = false;

	for (size_t i = 0; i < c->list.count; i++)
		any = any || stands_still(c->smi, &c->card[i]);
	if (any)
		nanosleep(&pause, NULL);
	for (size_t i = 0; any && i < c->list.count; i++) {
		struct tw_zone *z = &c->list.at[i];

		if (!stands_still(c->smi, &c->card[i]))
			continue;
		c->card[i].by_energy = false;
		z->reports_power = true;
		z->note = "its energy counter stands still: it is read by power";
	}
}

static void close_cards(void *state)
{
	struct cards *c = state;

	if (c == NULL)
		return;
	tw_amdsmi_close(c->smi);
	tw_zone_list_close(&c->list);
}

static void read_load(const struct tw_amdsmi *a, tw_amdsmi_processor p,
		      struct tw_reading *out)
{
	struct tw_amdsmi_usage u = { 0 };

	out->own_load = true;
	out->load = -1;
	if (a->usage != NULL && a->usage(p, &u) == TW_AMDSMI_OK && u.shaders <= 100)
		out->load = u.shaders / 100.0;
}

static void read_cards(void *state, struct tw_reading *out)
{
	const struct cards *c = state;

	for (size_t i = 0; i < c->list.count; i++) {
		const struct card *card = &c->card[i];
		struct tw_err why = { 0 };
		unsigned code;

		out[i] = (struct tw_reading){ 0 };
		code = card->by_energy ? tw_amdsmi_energy(c->smi, card->processor,
							  &out[i].energy_uj)
				       : tw_amdsmi_power(c->smi, card->processor,
							 &out[i].power_w);
		out[i].readable = code == TW_AMDSMI_OK;
		if (out[i].readable && c->list.at[i].kind == TW_ZONE_GPU)
			read_load(c->smi, card->processor, &out[i]);
		if (out[i].readable)
			continue;
		tw_amdsmi_fail(c->smi, code, c->list.at[i].name, &why);
		tw_reading_fail(&out[i], &why);
	}
}

/*
 * Read everything once while the collector still has its rights. Without the driver the
 * library is not even loaded.
 */
static int open_cards(const struct tw_meter_config *c, void **state, struct tw_err *err)
{
	struct tw_reading first[CARDS_MAX];
	char driver[TW_ZONE_PATH];
	struct cards *cards;

	if ((size_t)snprintf(driver, sizeof(driver), "%s/module/amdgpu", c->roots->sys) >=
		    sizeof(driver) ||
	    access(driver, F_OK) != 0)
		return tw_fail(err, TW_NOTFOUND, "the driver amdgpu is not loaded");
	cards = calloc(1, sizeof(*cards));
	if (cards == NULL)
		return tw_fail(err, TW_NOMEM, "GPUs");
	if (tw_amdsmi_open(c->amdsmi, &cards->smi, err) < 0 ||
	    add_cards(cards, c->roots, err) < 0) {
		close_cards(cards);
		return -1;
	}
	drop_still_counters(cards);
	read_cards(cards, first);
	*state = cards;
	return 0;
}

const struct tw_meter tw_meter_amdsmi = {
	.name = "amdsmi",
	.summary = "AMD GPUs, by the library of ROCm",
	.late = true,
	.costly = true,
	.open = open_cards,
	.zones = tw_zone_list_zones,
	.left_out = tw_zone_list_left_out,
	.read = read_cards,
	.close = close_cards,
};
