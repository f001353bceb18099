/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/powercap.h"

#include "collector/meters/meter_file.h"
#include "collector/power/estimates.h"
#include "collector/power/power.h"
#include "collector/workloads/workload.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/hash.h"
#include "lib/core/strs.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 1024
/* Longest path of a file in such a directory. */
#define FILE_BYTES (PATH_BYTES + 32)

/*
 * Limits of one tick, during which no scrape is answered: new trees, with 30 files each,
 * and trees whose counters are synced. Steps write the other trees, in turn.
 */
#define NEW_TREES 8
#define SYNCED_TREES 64

/*
 * The place of each kind in the tree. If two kinds share a place, the first with a meter
 * gets it, even while that meter fails: a counter never changes its meter.
 */
static const struct place {
	enum tw_zone_kind kind;
	const char *at, *name;
} places[TW_POWERCAP_PLACES] = {
	{ TW_ZONE_PACKAGE, "intel-rapl:0", "package-0" },
	{ TW_ZONE_CORE, "intel-rapl:0:0", "core" },
	{ TW_ZONE_UNCORE, "intel-rapl:0:1", "uncore" },
	{ TW_ZONE_DRAM, "intel-rapl:0:2", "dram" },
	{ TW_ZONE_PSYS, "intel-rapl:1", "psys" },
	{ TW_ZONE_PLATFORM, "intel-rapl:1", "psys" },
};

/* The common part of the trees of a tick, by place. */
struct common {
	bool readable[TW_POWERCAP_PLACES];
	struct tw_zone_origin origin[TW_POWERCAP_PLACES];
};

static int write_text(const char *dir, const char *file, const char *text,
		      struct tw_err *err)
{
	char path[FILE_BYTES], line[TW_ZONE_NAME + 1];
	const int len = snprintf(line, sizeof(line), "%s\n", text);

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	return tw_file_replace(path, line, (size_t)len, err);
}

static int write_number(const char *dir, const char *file, uint64_t value,
			struct tw_err *err)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return write_text(dir, file, text, err);
}

static int write_origin(const char *dir, const struct tw_zone_origin *o,
			uint64_t *written, struct tw_err *err)
{
	uint64_t hash = tw_hash(o->source, strlen(o->source) + 1);

	hash = tw_hash_add(hash, o->model, strlen(o->model)) | 1;
	if (hash == *written)
		return 0;
	if (write_text(dir, "model", o->model, err) < 0 ||
	    write_text(dir, "source", o->source, err) < 0)
		return -1;
	*written = hash;
	return 0;
}

/*
 * The name and range are written once, the origin if it has changed. Energy is written
 * last, so a zone with energy_uj is complete.
 */
static int write_zone(const char *dir, const char *name, const struct tw_zone_origin *o,
		      uint64_t *origin, uint64_t uj, struct tw_err *err)
{
	char path[FILE_BYTES];

	snprintf(path, sizeof(path), "%s/" TW_POWERCAP_COUNTER, dir);
	if (access(path, F_OK) != 0) {
		*origin = 0;
		if (tw_dir_make(dir, err) < 0 || write_text(dir, "name", name, err) < 0 ||
		    write_number(dir, "max_energy_range_uj", TW_POWERCAP_RANGE_UJ, err) <
			    0)
			return -1;
	}
	if (write_origin(dir, o, origin, err) < 0)
		return -1;
	return write_number(dir, TW_POWERCAP_COUNTER, uj % (TW_POWERCAP_RANGE_UJ + 1),
			    err);
}

/* Not found: no such file, or it is not our counter. */
static int read_counter(const char *dir, const char *file, uint64_t *out,
			struct tw_err *err)
{
	struct tw_err why = { 0 };
	char path[FILE_BYTES];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	if (tw_meter_number(path, out, &why) < 0 && why.code != TW_NOTFOUND &&
	    why.code != TW_PARSE && why.code != TW_INVALID)
		return tw_fail(err, why.code, "%s", why.text);
	return why.code == TW_OK && *out <= TW_POWERCAP_RANGE_UJ
		       ? 0
		       : tw_fail(err, TW_NOTFOUND, "no counter in '%s'", path);
}

/*
 * The value of the previous collector, so that readers see no fall: of one that was
 * killed, else of one that ended. Without any a counter starts at 0.
 */
static int read_base(const char *dir, uint64_t *out, struct tw_err *err)
{
	static const char *const files[] = { TW_POWERCAP_COUNTER, TW_POWERCAP_LAST };

	for (size_t i = 0; i < TW_COUNT(files); i++) {
		struct tw_err why = { 0 };

		if (read_counter(dir, files[i], out, &why) == 0)
			return 0;
		if (why.code != TW_NOTFOUND)
			return tw_fail(err, why.code, "%s", why.text);
	}
	*out = 0;
	return 0;
}

/* ---- steps ---- */

static uint64_t value_at(const struct tw_powercap *pc,
			 const struct tw_powercap_counter *c, uint64_t now_ns)
{
	const uint64_t ns = now_ns - pc->tick_ns;

	if (ns >= pc->span_ns)
		return c->to_uj;
	return c->from_uj + (uint64_t)((double)(c->to_uj - c->from_uj) * (double)ns /
				       (double)pc->span_ns);
}

/*
 * Replace the file without an fsync, which on a disk takes longer than a step. A tick
 * syncs it.
 */
static bool write_quickly(const char *dir, uint64_t uj)
{
	char path[FILE_BYTES], fresh[FILE_BYTES], text[24];
	const int len = snprintf(text, sizeof(text), "%" PRIu64 "\n",
				 uj % (TW_POWERCAP_RANGE_UJ + 1));
	struct tw_err ignored = { 0 };
	int fd;
	bool ok;

	snprintf(path, sizeof(path), "%s/" TW_POWERCAP_COUNTER, dir);
	snprintf(fresh, sizeof(fresh), "%s/." TW_POWERCAP_COUNTER, dir);
	fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return false;
	ok = tw_fd_write(fd, text, (size_t)len, fresh, &ignored) == 0;
	close(fd);
	return ok && rename(fresh, path) == 0;
}

static bool path_of(const struct tw_powercap_tree *tree, size_t i, char path[PATH_BYTES])
{
	return tree->dir != NULL &&
	       (size_t)snprintf(path, PATH_BYTES, "%s/class/powercap/%s", tree->dir,
				places[i].at) < PATH_BYTES;
}

/* The number of files that were written. */
static size_t step_tree(const struct tw_powercap *pc, struct tw_powercap_tree *tree,
			uint64_t now_ns)
{
	size_t written = 0;

	for (size_t i = 0; i < TW_POWERCAP_PLACES; i++) {
		struct tw_powercap_counter *c = &tree->counter[i];
		const uint64_t uj = value_at(pc, c, now_ns);
		char path[PATH_BYTES];

		if (uj != c->wrote_uj && path_of(tree, i, path) &&
		    write_quickly(path, uj)) {
			c->wrote_uj = uj;
			written++;
		}
	}
	return written;
}

bool tw_powercap_step(struct tw_powercap *pc, uint64_t now_ns)
{
	if (now_ns - pc->step_ns < pc->stepped * TW_POWERCAP_FILE_NS)
		return true;
	pc->step_ns = now_ns;
	pc->stepped = step_tree(pc, &pc->node, now_ns);
	for (size_t i = 0; i < pc->vms; i++)
		pc->stepped += step_tree(pc, &pc->vm[i], now_ns);
	return pc->stepped > 0;
}

/* ---- ticks ---- */

/* The counters of a tree begin a new interval where they are. */
static void begin_interval(const struct tw_powercap *pc, struct tw_powercap_tree *tree,
			   uint64_t now_ns)
{
	for (size_t i = 0; i < TW_POWERCAP_PLACES; i++)
		tree->counter[i].from_uj = value_at(pc, &tree->counter[i], now_ns);
}

static int base_counter(const char *path, struct tw_powercap_counter *c,
			struct tw_err *err)
{
	if (c->based)
		return 0;
	if (read_base(path, &c->base_uj, err) < 0)
		return -1;
	c->from_uj = c->to_uj = c->base_uj;
	c->based = true;
	return 0;
}

/* The energy of a place in e, which a reading of the past never exceeds. */
static void take_energy(struct tw_powercap_counter *c, enum tw_zone_kind kind,
			const struct tw_charge *e)
{
	const uint64_t uj = c->base_uj + e->dynamic_uj[kind] + e->idle_uj[kind];

	if (uj > c->to_uj)
		c->to_uj = uj;
}

/* Take the energy of all places that were written from e. */
static void take_energies(struct tw_powercap_tree *tree, const struct tw_charge *e)
{
	for (size_t i = 0; i < TW_POWERCAP_PLACES; i++)
		if (tree->counter[i].based)
			take_energy(&tree->counter[i], places[i].kind, e);
}

/* Write the places whose zones have a reading, and take their energy from e. */
static int write_tree(const char *dir, const struct common *common,
		      const struct tw_charge *e, struct tw_powercap_tree *tree,
		      struct tw_err *err)
{
	if (tree->dir == NULL) {
		tree->dir = strdup(dir);
		if (tree->dir == NULL)
			return tw_fail(err, TW_NOMEM, "powercap tree");
	}
	for (size_t i = 0; i < TW_POWERCAP_PLACES; i++) {
		struct tw_powercap_counter *c = &tree->counter[i];
		char path[PATH_BYTES];

		if (!common->readable[i])
			continue;
		if (!path_of(tree, i, path))
			return tw_fail(err, TW_INVALID, "too long a path: '%s'", dir);
		if (base_counter(path, c, err) < 0 ||
		    write_zone(path, places[i].name, &common->origin[i], &c->origin,
			       c->from_uj, err) < 0)
			return -1;
		c->wrote_uj = c->from_uj;
		take_energy(c, places[i].kind, e);
	}
	return 0;
}

/* The energy of the node since the start. */
static struct tw_charge charge_of_node(const struct tw_power *p)
{
	struct tw_charge sum = { 0 };
	size_t count;
	const struct tw_power_zone *z = tw_power_zones(p, &count);

	for (size_t i = 0; i < count; i++) {
		const enum tw_zone_kind kind = z[i].zone->kind;

		if (!z[i].counts && !z[i].superseded)
			continue;
		sum.dynamic_uj[kind] += z[i].dynamic_uj;
		sum.idle_uj[kind] += z[i].idle_uj;
	}
	return sum;
}

/* ---- trees of VMs ---- */

/* A tree, of no VM yet. NULL without memory. */
static struct tw_powercap_tree *add_tree(struct tw_powercap *p, const char *dir)
{
	char *copy = strdup(dir);

	if (copy == NULL || !tw_resize(&p->vm, p->vms + 1, sizeof(*p->vm))) {
		free(copy);
		return NULL;
	}
	p->vm[p->vms] = (struct tw_powercap_tree){ .dir = copy };
	return &p->vm[p->vms++];
}

/* Whether dir is the tree of the machine, which may lie among the trees of VMs. */
static bool is_node_tree(const struct tw_powercap *p, const char *dir)
{
	struct stat node, st;

	return p->node_dir != NULL && stat(p->node_dir, &node) == 0 &&
	       stat(dir, &st) == 0 && node.st_ino == st.st_ino &&
	       node.st_dev == st.st_dev;
}

/* Whether a directory is a tree, and not that of the machine itself. */
static bool is_old_tree(const struct tw_powercap *p, const char *dir)
{
	char inside[FILE_BYTES];
	struct stat st;

	snprintf(inside, sizeof(inside), "%s/class/powercap", dir);
	if (lstat(dir, &st) < 0 || !S_ISDIR(st.st_mode) || access(inside, F_OK) != 0)
		return false;
	return !is_node_tree(p, dir);
}

/* Trees of the previous collector, whose VMs may be there yet. */
static void find_old_trees(struct tw_powercap *p)
{
	struct tw_strs names = { 0 };
	struct tw_err ignored = { 0 };
	char dir[PATH_BYTES];

	if (tw_dir_list(p->vm_dir, &names, &ignored) == 0)
		for (size_t i = 0; i < names.count && p->vms < p->trees_max; i++) {
			if (snprintf(dir, sizeof(dir), "%s/%s", p->vm_dir, names.at[i]) <
				    (int)sizeof(dir) &&
			    is_old_tree(p, dir))
				add_tree(p, dir);
		}
	tw_strs_clear(&names);
}

/*
 * The tree of a VM: its own, or that of an earlier VM with its id. NULL if there is none
 * and may be no new one in this tick, or out of memory.
 */
static struct tw_powercap_tree *tree_of(struct tw_powercap *p,
					const struct tw_workload *w, const char *dir)
{
	struct tw_powercap_tree *tree = NULL;

	for (size_t i = 0; i < p->vms && tree == NULL; i++)
		if (p->vm[i].serial == w->serial ||
		    (!p->vm[i].keep && strcmp(p->vm[i].dir, dir) == 0))
			tree = &p->vm[i];
	if (tree == NULL && !w->ended && p->vms < p->trees_max && p->made < NEW_TREES) {
		tree = add_tree(p, dir);
		p->made++;
	}
	if (tree != NULL && tree->serial != w->serial) {
		/* The energy of a new VM begins at 0: add it to the tree's counters. */
		for (size_t i = 0; i < TW_COUNT(tree->counter); i++)
			tree->counter[i].base_uj = tree->counter[i].to_uj;
		tree->serial = w->serial;
	}
	return tree;
}

/*
 * Remove the trees of VMs that no longer exist: the collector has kept those for a while.
 * A tree of the previous collector waits as long for its VM.
 */
static void forget_trees(struct tw_powercap *p)
{
	const bool old_stay = p->tick_ns - p->began_ns < p->keep_ns;
	struct tw_err ignored = { 0 };
	size_t kept = 0;

	for (size_t i = 0; i < p->vms; i++) {
		if (p->vm[i].keep || (p->vm[i].serial == 0 && old_stay)) {
			p->vm[kept++] = p->vm[i];
			continue;
		}
		tw_tree_remove(p->vm[i].dir, &ignored);
		free(p->vm[i].dir);
	}
	p->vms = kept;
	for (size_t i = 0; i < kept; i++)
		p->vm[i].keep = false;
}

/* Whether it is the turn of a tree to be synced. */
static bool is_synced(const struct tw_powercap *p, const struct tw_powercap_tree *tree)
{
	const size_t at = (size_t)(tree - p->vm);

	return (at + p->vms - p->turn % p->vms) % p->vms < SYNCED_TREES;
}

static int write_vm(struct tw_powercap *pc, const struct common *c,
		    const struct tw_workload *w, struct tw_err *err)
{
	struct tw_err unfit = { 0 };
	struct tw_powercap_tree *tree = NULL;
	char dir[PATH_BYTES];

	if (tw_name_check("VM id", w->who->id, strlen(w->who->id), &unfit) == 0 &&
	    (size_t)snprintf(dir, sizeof(dir), "%s/%s", pc->vm_dir, w->who->id) <
		    sizeof(dir) &&
	    !is_node_tree(pc, dir))
		tree = tree_of(pc, w, dir);
	if (tree == NULL) {
		pc->left_out += !w->ended;
		return 0;
	}
	if (strcmp(tree->dir, dir) != 0) {
		/* Another VM has the id. This one has lost it. */
		pc->left_out++;
		return 0;
	}
	tree->keep = true;
	take_energies(tree, &w->charged);
	/* The files of an ended VM may be deleted: make no new ones. */
	return w->ended || !is_synced(pc, tree)
		       ? 0
		       : write_tree(dir, c, &w->charged, tree, err);
}

static bool is_readable(const struct tw_power *p, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (strcmp(places[k].at, places[i].at) == 0 &&
		    tw_power_meter(p, places[k].kind) != NULL)
			return false;
	return tw_power_complete(p, places[i].kind);
}

/* The meter of the kind's first zone, and the model of an estimate. */
static void find_origin(const struct tw_powercap *pc, const struct tw_power *p,
			enum tw_zone_kind kind, struct tw_zone_origin *out)
{
	size_t count;
	const struct tw_power_zone *z = tw_power_zones(p, &count);

	for (size_t i = 0; i < count; i++) {
		if (z[i].zone->kind != kind || !z[i].counts)
			continue;
		*out = z[i].zone->origin;
		if (out->source[0] != '\0')
			return;
		snprintf(out->source, sizeof(out->source), "%s", z[i].source);
		if (z[i].meter == &tw_meter_model && pc->estimates != NULL) {
			const struct tw_estimate *e =
				tw_estimates_of_zone(pc->estimates, z[i].zone);

			snprintf(out->model, sizeof(out->model), "%.63s",
				 tw_estimate_model(e));
		}
		return;
	}
}

int tw_powercap_tick(struct tw_powercap *pc, const struct tw_power *power,
		     const struct tw_workloads *workloads, uint64_t now_ns,
		     uint64_t span_ns, struct tw_err *err)
{
	const struct tw_workload *w = NULL;
	struct common common = { .readable = { false } };
	bool failed = false;

	tw_powercap_keeper_beat(&pc->keeper);
	begin_interval(pc, &pc->node, now_ns);
	for (size_t i = 0; i < pc->vms; i++)
		begin_interval(pc, &pc->vm[i], now_ns);
	pc->tick_ns = now_ns;
	pc->span_ns = span_ns;
	for (size_t i = 0; i < TW_POWERCAP_PLACES; i++) {
		common.readable[i] = is_readable(power, i);
		if (common.readable[i])
			find_origin(pc, power, places[i].kind, &common.origin[i]);
	}
	if (pc->node_dir != NULL) {
		const struct tw_charge node = charge_of_node(power);

		failed = write_tree(pc->node_dir, &common, &node, &pc->node, err) < 0;
	}
	if (pc->vm_dir == NULL)
		return failed ? -1 : 0;
	if (pc->began_ns == 0) {
		pc->began_ns = now_ns;
		find_old_trees(pc);
	}
	pc->made = 0;
	pc->left_out = 0;
	while ((w = tw_workloads_next(workloads, TW_LEVEL_VM, w)) != NULL)
		if (write_vm(pc, &common, w, err) < 0)
			failed = true;
	pc->turn += SYNCED_TREES;
	forget_trees(pc);
	return failed ? -1 : 0;
}

/* Write all energy that is known. A counter that stands still would be read as 0 W. */
static void retire_tree(const struct tw_powercap *pc, struct tw_powercap_tree *tree)
{
	char dir[PATH_BYTES];

	step_tree(pc, tree, pc->tick_ns + pc->span_ns);
	for (size_t i = 0; i < TW_POWERCAP_PLACES; i++)
		if (tree->counter[i].based && path_of(tree, i, dir))
			tw_powercap_retire_zone(dir);
	free(tree->dir);
}

void tw_powercap_release(struct tw_powercap *p)
{
	retire_tree(p, &p->node);
	for (size_t i = 0; i < p->vms; i++)
		retire_tree(p, &p->vm[i]);
	free(p->vm);
	tw_aside_close(&p->keeper);
	*p = (struct tw_powercap){ .vms = 0 };
}
