/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/redfish_client.h"

#include "lib/core/err.h"
#include "lib/field/energy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sensors of a chassis to read for the one that measures the chassis. */
#define SENSORS_MAX 8

#define SYSTEMS_MAX 32

/* Calls without an answer in a search: a resource that hangs must not hide others. */
#define LOST_MAX 2

/* ---- power supplies ---- */

/* Errors of the connection, after which other requests fail, too. */
static bool is_fatal(const struct tw_err *err)
{
	return err->code == TW_IO || err->code == TW_NOMEM || err->code == TW_DENIED;
}

/* The power that a supply uses. A supply that is off reports no reading, or 0 W. */
static int read_use(struct tw_redfish *r, const struct tw_redfish_supply *supply,
		    struct tw_redfish_power *out, struct tw_err *err)
{
	union tw_redfish_doc doc = { .power = { .power_w = 0, .energy_j = NAN } };
	struct tw_err why = { 0 };

	if (supply->metrics[0] != '\0' &&
	    tw_redfish_read_doc(r, supply->metrics, TW_REDFISH_SUPPLY_METRICS, &doc,
				&why) < 0 &&
	    (!supply->off || is_fatal(&why)))
		return tw_fail(err, why.code, "%s", why.text);
	*out = doc.power;
	if (supply->off && isnan(out->power_w))
		out->power_w = 0;
	return 0;
}

/* Sum the supplies that are present. A value that one of them lacks becomes NaN. */
static int add_up(struct tw_redfish *r, const struct tw_strs *supplies, const char *path,
		  struct tw_redfish_power *sum, struct tw_err *err)
{
	bool any = false;

	for (size_t i = 0; i < supplies->count; i++) {
		union tw_redfish_doc doc;
		struct tw_redfish_power one;

		if (tw_redfish_read_doc(r, supplies->at[i], TW_REDFISH_SUPPLY, &doc,
					err) < 0)
			return -1;
		if (doc.supply.metrics[0] == '\0' && !doc.supply.off)
			continue;
		if (read_use(r, &doc.supply, &one, err) < 0)
			return -1;
		sum->power_w += one.power_w;
		sum->energy_j += one.energy_j;
		any = true;
	}
	if (!any)
		return tw_fail(err, TW_NOTFOUND, "%.96s: no power supply is present",
			       path);
	if (isnan(sum->power_w) && isnan(sum->energy_j))
		return tw_fail(err, TW_NOTFOUND,
			       "%.96s: the supplies report different quantities", path);
	return 0;
}

static int read_supplies(struct tw_redfish *r, const char *path,
			 struct tw_redfish_power *out, struct tw_err *err)
{
	struct tw_redfish_power sum = { .power_w = 0, .energy_j = 0 };
	struct tw_strs supplies = { 0 };
	union tw_redfish_doc doc;
	int rc = -1;

	if (tw_redfish_read_doc(r, path, TW_REDFISH_SUBSYSTEM, &doc, err) < 0 ||
	    tw_redfish_read_members(r, doc.supplies, &supplies, err) < 0)
		goto out;
	if (supplies.count > TW_REDFISH_SUPPLIES_MAX) {
		tw_fail(err, TW_INVALID, "%.96s: more than %d supplies", path,
			TW_REDFISH_SUPPLIES_MAX);
		goto out;
	}
	if (add_up(r, &supplies, path, &sum, err) < 0)
		goto out;

	*out = sum;
	rc = 0;
out:
	tw_strs_clear(&supplies);
	return rc;
}

int tw_redfish_read(struct tw_redfish *r, const struct tw_redfish_source *s,
		    struct tw_redfish_power *out, struct tw_err *err)
{
	union tw_redfish_doc doc;

	if (s->type == TW_REDFISH_SUBSYSTEM)
		return read_supplies(r, s->path, out, err);
	if (tw_redfish_read_doc(r, s->path, s->type, &doc, err) < 0)
		return -1;
	*out = doc.power;
	return 0;
}

/* True if the user names the chassis: machines or parts. */
static bool is_named(const struct tw_redfish *r)
{
	return r->config.chassis != NULL && r->config.chassis->count > 0;
}

/* ---- sensors ---- */

static const char *last_segment(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static bool has_word(const char *name, const char *const *words)
{
	while (*words != NULL && strcasestr(name, *words) == NULL)
		words++;
	return *words != NULL;
}

/* True if the sensor measures a part of a machine, or no power of now. */
static bool names_other(const char *name)
{
	static const char *const words[] = { "aux",    "avg",   "cap",  "limit", "max",
					     "mem",    "min",   "peak", "rail",  "state",
					     "subsys", "sysio", "vr",   NULL };

	return tw_energy_is_of_part(name) || has_word(name, words);
}

/* True for the name of a sensor of a whole machine: "PWR_SYSTEM", "total_power". */
static bool names_machine(const char *name)
{
	static const char *const power[] = { "power", "pwr", "watt", NULL };
	static const char *const whole[] = { "chassis", "node",  "platform", "server",
					     "sys",     "total", NULL };

	return has_word(name, power) && has_word(name, whole) && !names_other(name);
}

/*
 * How sure it is that a sensor measures the chassis; 0: it does not. A name with a number
 * is one of several: "PS1_Input_Power", "P12V_PWR". An id that is only a number is no
 * name. The user may want the sensor of a part.
 */
static int rank_of_sensor(const struct tw_redfish *r, const char *name)
{
	static const char digits[] = "0123456789";

	if (names_machine(name))
		return 2;
	if (is_named(r) || name[strspn(name, digits)] == '\0')
		return 1;
	return strpbrk(name, digits) == NULL && !names_other(name);
}

/*
 * Find the sensor that measures the chassis: the only sensor of power with the name of a
 * machine, or the only one whose name names no part.
 */
static int find_sensor(struct tw_redfish *r, struct tw_redfish_source *s,
		       const struct tw_strs *sensors, struct tw_err *err)
{
	struct tw_redfish_source one = *s;
	size_t possible = 0, zero = 0, found = 0;
	int best = 1;

	for (size_t i = 0; i < sensors->count; i++) {
		const int rank = rank_of_sensor(r, last_segment(sensors->at[i]));

		if (rank > best)
			possible = 0;
		best = rank > best ? rank : best;
		possible += rank == best;
	}
	if (possible > SENSORS_MAX)
		return tw_fail(err, TW_NOTFOUND,
			       "%zu sensors: too many to look for that of the chassis",
			       sensors->count);
	for (size_t i = 0; i < sensors->count; i++) {
		struct tw_redfish_power power;
		struct tw_err why = { 0 };

		if (rank_of_sensor(r, last_segment(sensors->at[i])) != best)
			continue;
		snprintf(one.path, sizeof(one.path), "%s", sensors->at[i]);
		if (tw_redfish_read(r, &one, &power, &why) == 0) {
			const bool fine = tw_redfish_is_plausible(&power);

			if (fine || found == 0)
				*s = one;
			found += fine;
			zero += !fine;
		} else if (is_fatal(&why)) {
			return tw_fail(err, why.code, "%s", why.text);
		}
	}
	if (found > 1 || (found == 0 && zero != 1))
		return tw_fail(err, TW_NOTFOUND,
			       "%zu of its sensors measure its power, want one", found);
	return 0;
}

/* The source has the path of a collection: set the path of the chassis' sensor. */
static int choose_sensor(struct tw_redfish *r, struct tw_redfish_source *s,
			 struct tw_err *err)
{
	struct tw_strs sensors = { 0 };
	const int rc = tw_redfish_read_members(r, s->path, &sensors, err) < 0 ||
				       find_sensor(r, s, &sensors, err) < 0
			       ? -1
			       : 0;

	tw_strs_clear(&sensors);
	return rc;
}

/* ---- chassis ---- */

static int read_chassis(struct tw_redfish *r, const char *path,
			struct tw_redfish_chassis *out, struct tw_err *err)
{
	union tw_redfish_doc doc;

	if (tw_redfish_read_doc(r, path, TW_REDFISH_CHASSIS, &doc, err) < 0)
		return -1;
	*out = doc.chassis;
	/* The standard wants the last part of the path to be the id. */
	if (out->id[0] == '\0')
		snprintf(out->id, sizeof(out->id), "%.*s", TW_REDFISH_ID - 1,
			 last_segment(path));
	return 0;
}

/* Machines with many GPUs have a hundred chassis. */
#define FOUND_MAX 256

enum report {
	SILENT,
	ZERO,     /* a placeholder, or a value that no machine has */
	DOUBTFUL, /* a power of an entry that is disabled, or of a sensor of a part */
	POWER
};

struct found {
	struct tw_redfish_chassis chassis[FOUND_MAX];
	char path[FOUND_MAX][TW_REDFISH_PATH];
	struct tw_redfish_source source[FOUND_MAX];
	enum report reports[FOUND_MAX];
	double power_w[FOUND_MAX]; /* NaN: it reports energy only */
	size_t count, unread;
	unsigned lost; /* calls without an answer */
	char system[SYSTEMS_MAX][TW_REDFISH_PATH];
	size_t systems;
	/* Bits of `system`: those of each chassis, and those that are parts of a machine.
	 */
	uint32_t of[FOUND_MAX], parts;
};

/* Count a call without an answer; false if the search can go on without it. */
static bool ends_search(struct found *f, const struct tw_err *err)
{
	return is_fatal(err) && (err->code != TW_IO || ++f->lost > LOST_MAX);
}

/* Compare paths, ignoring a trailing '/'. */
static bool is_same_path(const char *a, const char *b)
{
	const size_t n = strlen(a) - (a[0] != '\0' && a[strlen(a) - 1] == '/');
	const size_t m = strlen(b) - (b[0] != '\0' && b[strlen(b) - 1] == '/');

	return n == m && memcmp(a, b, n) == 0;
}

/* The chassis of a path; f->count: none. */
static size_t find_path(const struct found *f, const char *path)
{
	size_t i = 0;

	while (i < f->count && !is_same_path(f->path[i], path))
		i++;
	return i;
}

/* Read what the resource reports now: *s and *power. */
static enum report try_type(struct tw_redfish *r, const struct tw_redfish_chassis *c,
			    enum tw_redfish_type type, const char *path,
			    struct tw_redfish_source *s, struct tw_redfish_power *power,
			    struct tw_err *err)
{
	*s = (struct tw_redfish_source){ .type = type };
	snprintf(s->id, sizeof(s->id), "%s", c->id);
	snprintf(s->path, sizeof(s->path), "%s", path);
	if ((type == TW_REDFISH_SENSOR && choose_sensor(r, s, err) < 0) ||
	    tw_redfish_read(r, s, power, err) < 0)
		return SILENT;
	if (!tw_redfish_is_plausible(power))
		return ZERO;
	return power->doubtful ? DOUBTFUL : POWER;
}

/*
 * Try the resources of a chassis, most trusted first. Skip those without power, why has
 * the first reason; fail only on errors of the connection.
 */
static int try_source(struct tw_redfish *r, struct found *f, size_t i, struct tw_err *why,
		      struct tw_err *err)
{
	const struct tw_redfish_chassis *c = &f->chassis[i];
	const char *const paths[TW_REDFISH_POWER_TYPES] = {
		[TW_REDFISH_METRICS] = c->metrics,
		[TW_REDFISH_POWER] = c->power,
		[TW_REDFISH_SUBSYSTEM] = c->subsystem,
		[TW_REDFISH_SENSOR] = c->sensors,
	};

	for (int k = 0; k < TW_REDFISH_POWER_TYPES && f->reports[i] < POWER; k++) {
		struct tw_redfish_source source;
		struct tw_redfish_power power;
		struct tw_err one = { 0 };
		enum report report;

		if (paths[k][0] == '\0')
			continue;
		report = try_type(r, c, (enum tw_redfish_type)k, paths[k], &source,
				  &power, &one);
		if (report > f->reports[i]) {
			f->reports[i] = report;
			f->source[i] = source;
			f->power_w[i] = power.power_w;
		}
		if (report != SILENT)
			continue;
		if (ends_search(f, &one))
			return tw_fail(err, one.code, "%s: %s", c->id, one.text);
		tw_fail(why, one.code, "%s: %s", c->id, one.text);
	}
	return 0;
}

/* NVIDIA's prefix for the tray of accelerators: an own system beside the host. */
static bool is_tray(const char *name)
{
	return strncmp(name, "HGX_", 4) == 0;
}

/* The machines that a chassis belongs to; all of them parts: it is not a machine. */
static uint32_t machines_of(const struct found *f, size_t i)
{
	return f->of[i] & ~f->parts;
}

/* A part that may be the main board of a machine. */
static bool is_board(const struct found *f, size_t i)
{
	const struct tw_redfish_chassis *c = &f->chassis[i];

	return c->kind == TW_REDFISH_PART && c->power[0] != '\0' && !is_tray(c->id) &&
	       machines_of(f, i) != 0;
}

/* A rack that has a system itself, and at most parts of a machine in it, is a server. */
static bool is_group(const struct found *f, size_t i)
{
	bool empty = true;

	for (size_t k = 0; k < f->count; k++)
		empty = empty && (f->chassis[k].kind == TW_REDFISH_PART ||
				  !is_same_path(f->chassis[k].contained_by, f->path[i]));
	return f->chassis[i].kind == TW_REDFISH_GROUP &&
	       !(empty && machines_of(f, i) != 0);
}

static bool is_wanted(const struct tw_redfish *r, const struct found *f, size_t i)
{
	const struct tw_redfish_chassis *c = &f->chassis[i];

	if (is_named(r))
		return tw_strs_has(r->config.chassis, c->id);
	return c->kind != TW_REDFISH_PART && !is_group(f, i) && !is_tray(c->id) &&
	       (f->of[i] == 0 || machines_of(f, i) != 0);
}

/* True if an enclosing chassis, of any depth, reports as much. */
static bool is_inside(const struct found *f, size_t i, enum report report)
{
	size_t k = find_path(f, f->chassis[i].contained_by);

	for (size_t steps = 0; k < f->count && steps < f->count; steps++) {
		if (f->reports[k] >= report && k != i)
			return true;
		k = find_path(f, f->chassis[k].contained_by);
	}
	return false;
}

/* A chassis that cannot be read is skipped; why has the first reason. */
static int find_chassis(struct tw_redfish *r, const struct tw_strs *members,
			struct found *f, struct tw_err *why, struct tw_err *err)
{
	for (size_t i = 0; i < members->count; i++) {
		struct tw_err one = { 0 };

		if (find_path(f, members->at[i]) < f->count)
			continue;
		if (f->count == FOUND_MAX)
			return tw_fail(err, TW_INVALID, "more than %d chassis",
				       FOUND_MAX);
		if (read_chassis(r, members->at[i], &f->chassis[f->count], &one) < 0) {
			if (ends_search(f, &one))
				return tw_fail(err, one.code, "%s", one.text);
			tw_fail(why, one.code, "%s", one.text);
			f->unread++;
			continue;
		}
		snprintf(f->path[f->count++], TW_REDFISH_PATH, "%s", members->at[i]);
	}
	return 0;
}

/* ---- containment ---- */

/* An enclosure around a chassis of one machine is around others, too. */
static void settle_group(struct found *f, size_t i)
{
	size_t k = find_path(f, f->chassis[i].contained_by);

	for (size_t steps = 0; k < f->count && steps < f->count; steps++) {
		if (f->chassis[k].kind == TW_REDFISH_ENCLOSURE)
			f->chassis[k].kind = TW_REDFISH_GROUP;
		k = find_path(f, f->chassis[k].contained_by);
	}
}

/* Containment may be told by the outer chassis, by the inner one, or by both. */
static void settle_containment(struct found *f)
{
	for (size_t k = 0; k < f->count; k++)
		for (size_t n = 0; n < f->chassis[k].contains.count; n++) {
			const size_t i = find_path(f, f->chassis[k].contains.path[n]);

			if (i < f->count && f->chassis[i].contained_by[0] == '\0')
				memcpy(f->chassis[i].contained_by, f->path[k],
				       sizeof(f->path[k]));
		}
	for (size_t i = 0; i < f->count; i++)
		if (f->chassis[i].kind == TW_REDFISH_SINGLE ||
		    f->chassis[i].kind == TW_REDFISH_PLUGGED)
			settle_group(f, i);
}

/* ---- systems: which chassis are the machine ---- */

/* The bit of a system; 0 if there are too many. */
static uint32_t bit_of(struct found *f, const char *path)
{
	size_t i = 0;

	while (i < f->systems && !is_same_path(f->system[i], path))
		i++;
	if (i == SYSTEMS_MAX)
		return 0;
	if (i == f->systems) {
		snprintf(f->system[f->systems++], TW_REDFISH_PATH, "%s", path);
		if (is_tray(last_segment(path)))
			f->parts |= (uint32_t)1 << i;
	}
	return (uint32_t)1 << i;
}

static void take_system(struct found *f, const char *path,
			const struct tw_redfish_system *system)
{
	const uint32_t bit = bit_of(f, path);

	f->parts |= system->part ? bit : 0;
	for (size_t i = 0; i < f->count; i++)
		for (size_t k = 0; k < system->chassis.count; k++)
			if (is_same_path(f->path[i], system->chassis.path[k]))
				f->of[i] |= bit;
}

/* A system without links to chassis is the machine of the chassis with its name. */
static void match_names(struct found *f)
{
	for (size_t k = 0; k < f->systems; k++) {
		const uint32_t bit = (uint32_t)1 << k;
		uint32_t linked = 0;

		for (size_t i = 0; i < f->count; i++)
			linked |= f->of[i] & bit;
		for (size_t i = 0; linked == 0 && i < f->count; i++)
			if (is_same_path(last_segment(f->path[i]),
					 last_segment(f->system[k])))
				f->of[i] |= bit;
	}
}

/* A controller without systems, or whose systems cannot be read, has its chassis only. */
static int find_systems(struct tw_redfish *r, const char *path, struct found *f,
			struct tw_err *err)
{
	struct tw_strs members = { 0 };
	struct tw_err one = { 0 };
	int rc = 0;

	for (size_t i = 0; i < f->count; i++)
		for (size_t k = 0; k < f->chassis[i].systems.count; k++)
			f->of[i] |= bit_of(f, f->chassis[i].systems.path[k]);
	if (path[0] != '\0' && tw_redfish_read_members(r, path, &members, &one) < 0 &&
	    ends_search(f, &one))
		rc = tw_fail(err, one.code, "%s", one.text);
	for (size_t i = 0; rc == 0 && i < members.count && i < SYSTEMS_MAX; i++) {
		union tw_redfish_doc doc;

		tw_err_clear(&one);
		if (tw_redfish_read_doc(r, members.at[i], TW_REDFISH_SYSTEM, &doc,
					&one) == 0)
			take_system(f, members.at[i], &doc.system);
		else if (ends_search(f, &one))
			rc = tw_fail(err, one.code, "%s", one.text);
	}
	match_names(f);
	tw_strs_clear(&members);
	return rc;
}

static int fail_none(const struct found *f, const struct tw_err *why, struct tw_err *err)
{
	static const char none[] =
		"no chassis reports power, --meter-command may read it";

	if (why->code != TW_OK)
		return tw_fail(err, TW_NOTFOUND, "%s: %s", none, why->text);
	for (size_t i = 0; i < f->count; i++)
		if (f->chassis[i].sensors[0] != '\0' || f->chassis[i].metrics[0] != '\0')
			return tw_fail(err, TW_NOTFOUND,
				       "no chassis reports power, only parts have "
				       "sensors: choose some by --redfish-chassis");
	return tw_fail(err, TW_NOTFOUND, "%s", none);
}

/* Keep the machine's chassis among those that report best. */
static int keep_machine(struct found *f, enum report best, struct tw_err *err)
{
	uint32_t machines = 0;

	for (size_t i = 0; i < f->count; i++)
		machines |= f->reports[i] == best ? machines_of(f, i) : 0;
	if ((machines & (machines - 1)) != 0)
		return tw_fail(err, TW_INVALID,
			       "the controller has several machines: choose by "
			       "--redfish-chassis");
	for (size_t i = 0; i < f->count && machines != 0; i++)
		if (machines_of(f, i) == 0)
			f->reports[i] = SILENT;
	return 0;
}

static bool is_kept(const struct found *f, const size_t *kept, size_t count, size_t i)
{
	size_t k = 0;

	while (k < count && !is_same_path(f->source[kept[k]].path, f->source[i].path))
		k++;
	return k < count;
}

/* How sure it is that a chassis is a machine, and no part of another chassis. */
static int rank_of(const struct tw_redfish_chassis *c)
{
	if (c->kind == TW_REDFISH_OTHER || c->kind == TW_REDFISH_PART)
		return 0;
	return c->kind == TW_REDFISH_SINGLE ? 2 : 1;
}

/*
 * Of the outermost chassis, those of a lower rank may be parts of the others: drop them.
 * Those of the lowest rank may be parts of each other: fail.
 */
static int drop_others(const struct found *f, size_t *kept, size_t *count,
		       struct tw_err *err)
{
	size_t left = 0;
	int best = 0;

	for (size_t i = 0; i < *count; i++)
		if (rank_of(&f->chassis[kept[i]]) > best)
			best = rank_of(&f->chassis[kept[i]]);
	for (size_t i = 0; i < *count; i++)
		if (rank_of(&f->chassis[kept[i]]) == best)
			kept[left++] = kept[i];
	*count = left;
	if (best == 0 && *count > 1)
		return tw_fail(err, TW_INVALID,
			       "%.24s and %.24s may contain each other: choose by "
			       "--redfish-chassis",
			       f->chassis[kept[0]].id, f->chassis[kept[1]].id);
	return 0;
}

/*
 * Some controllers show one machine as several chassis. Of two that report alike and have
 * one serial number, the first counts; a board has another number than its chassis.
 */
static int drop_mirrors(const struct found *f, size_t *kept, size_t *count,
			struct tw_err *err)
{
	size_t left = 0;

	for (size_t i = 0; i < *count; i++) {
		const struct tw_redfish_chassis *c = &f->chassis[kept[i]];
		bool mirrored = false;

		for (size_t k = 0; k < left && !mirrored; k++) {
			const struct tw_redfish_chassis *of = &f->chassis[kept[k]];
			const bool same = c->serial[0] != '\0' &&
					  strcmp(c->serial, of->serial) == 0;

			mirrored = tw_redfish_is_alike(f->power_w[kept[i]],
						       f->power_w[kept[k]]);
			if (mirrored != same)
				return tw_fail(err, TW_INVALID,
					       "%.24s and %.24s may be the same: choose "
					       "by --redfish-chassis",
					       of->id, c->id);
		}
		kept[left] = kept[i];
		left += !mirrored;
	}
	*count = left;
	return 0;
}

static enum report best_report(const struct found *f)
{
	enum report best = SILENT;

	for (size_t i = 0; i < f->count; i++)
		if (f->reports[i] > best)
			best = f->reports[i];
	return best;
}

/* Replace the sources only if the search succeeded. */
static int keep_sources(struct tw_redfish *r, struct found *f, const struct tw_err *why,
			struct tw_err *err)
{
	size_t count = 0, skipped = f->unread, kept[FOUND_MAX];
	const enum report best = best_report(f);

	if (best == SILENT)
		return fail_none(f, why, err);
	for (size_t i = 0; i < f->count; i++)
		skipped += f->reports[i] == ZERO && best == POWER;
	if (!is_named(r) && keep_machine(f, best, err) < 0)
		return -1;
	for (size_t i = 0; i < f->count; i++)
		if ((is_named(r) ? f->reports[i] != SILENT
				 : f->reports[i] == best && !is_inside(f, i, best)) &&
		    !is_kept(f, kept, count, i))
			kept[count++] = i;
	if (!is_named(r) && (drop_others(f, kept, &count, err) < 0 ||
			     drop_mirrors(f, kept, &count, err) < 0))
		return -1;
	if (count == 0)
		return tw_fail(err, TW_INVALID,
			       "no chassis is outermost: all of them contain each other");
	if (count > TW_REDFISH_CHASSIS_MAX)
		return tw_fail(err, TW_INVALID,
			       "more than %d chassis report power: choose some by "
			       "--redfish-chassis",
			       TW_REDFISH_CHASSIS_MAX);
	for (size_t i = 0; i < count; i++)
		r->source[i] = f->source[kept[i]];
	r->sources = count;
	r->skipped = skipped;
	return 0;
}

static int find_sources(struct tw_redfish *r, const struct tw_redfish_root *root,
			struct tw_err *err)
{
	struct tw_strs members = { 0 };
	struct found *f = calloc(1, sizeof(*f));
	struct tw_err why = { 0 }, unread = { 0 };
	bool boards;
	int rc = -1;

	if (f == NULL) {
		tw_fail(err, TW_NOMEM, "chassis");
		goto out;
	}
	if (tw_redfish_read_members(r, root->chassis, &members, err) < 0 ||
	    find_chassis(r, &members, f, &unread, err) < 0)
		goto out;
	settle_containment(f);
	if (!is_named(r) && find_systems(r, root->systems, f, err) < 0)
		goto out;
	for (size_t i = 0; i < f->count; i++)
		if (is_wanted(r, f, i) && try_source(r, f, i, &why, err) < 0)
			goto out;
	/* Intel's boards report the power of their silent chassis. */
	boards = !is_named(r) && best_report(f) == SILENT;
	for (size_t i = 0; boards && i < f->count; i++)
		if (is_board(f, i) && try_source(r, f, i, &why, err) < 0)
			goto out;
	if (keep_sources(r, f, why.code != TW_OK ? &why : &unread, err) < 0)
		goto out;
	/* The chassis may report later, as after a restart of the controller. */
	r->skipped += boards;

	rc = 0;
out:
	free(f);
	tw_strs_clear(&members);
	return rc;
}

int tw_redfish_connect(struct tw_redfish *r, struct tw_err *err)
{
	struct tw_redfish_root root;

	return tw_redfish_log_in(r, &root, err) < 0 ? -1 : find_sources(r, &root, err);
}
