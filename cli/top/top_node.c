/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/top_node.h"

#include "cli/memory.h"
#include "cli/top/top_rows.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define INSTANCE_SHOWN 4

/* A zone that another one counts for has power that is shown there. */
static bool has_watts(const json_t *z)
{
	return json_is_number(json_object_get(z, "watts")) &&
	       !json_is_false(json_object_get(z, "used"));
}

/* The watts of a kind of zone by a source, over dies and sockets; NaN: an earlier zone
 * has them, or there are none. */
static double zone_watts(const json_t *zones, size_t i, const char **zone,
			 const char **source)
{
	const json_t *z = json_array_get(zones, i), *y;
	double watts = 0;
	size_t k;

	*zone = json_string_value(json_object_get(z, "zone"));
	*source = json_string_value(json_object_get(z, "source"));
	if (*zone == NULL || *source == NULL || !has_watts(z))
		return NAN;
	json_array_foreach(zones, k, y) {
		const char *other = json_string_value(json_object_get(y, "zone"));
		const char *by = json_string_value(json_object_get(y, "source"));

		if (other == NULL || by == NULL || strcmp(other, *zone) != 0 ||
		    strcmp(by, *source) != 0 || !has_watts(y))
			continue;
		if (k < i)
			return NAN;
		watts += json_number_value(json_object_get(y, "watts"));
	}
	return watts;
}

/* "package 12.3 W, dram 1.0 W (fake)": a source once for the zones that it follows. */
static void add_node_zones(struct tw_buf *b, const json_t *zones)
{
	const char *of = NULL, *zone, *source;

	for (size_t i = 0; i < json_array_size(zones); i++) {
		const double watts = zone_watts(zones, i, &zone, &source);

		if (isnan(watts))
			continue;
		if (of != NULL && strcmp(of, source) != 0)
			tw_buf_addf(b, " (%s)", of);
		tw_buf_addf(b, "%s%s %.1f W", of != NULL ? ", " : "", zone, watts);
		of = source;
	}
	if (of != NULL)
		tw_buf_addf(b, " (%s)", of);
	else
		tw_buf_adds(b, "no meter measures its power");
}

/* Whether an estimate includes idle power. */
static const char *words_for_idle(const char *idle)
{
	return idle != NULL && strcmp(idle, "hidden") == 0 ? "above idle" : "with idle";
}

/* Name the models of estimates and their errors. False: no model is in use. */
static bool add_models(struct tw_buf *b, const json_t *models)
{
	const json_t *m, *mae;
	const char *name, *zone, *idle, *from, *join = "";
	size_t i;

	json_array_foreach(models, i, m) {
		name = json_string_value(json_object_get(m, "model"));
		if (name == NULL || name[0] == '\0')
			continue;
		idle = json_string_value(json_object_get(m, "idle"));
		from = json_string_value(json_object_get(m, "from"));
		if (from != NULL && strncmp(from, "prior ", strlen("prior ")) == 0)
			name = "the prior";
		tw_buf_addf(b, "%sestimated %s by %s", join, words_for_idle(idle), name);
		join = "; ";
		json_object_foreach((json_t *)(uintptr_t)json_object_get(m, "mae_watts"),
				    zone, mae)
			tw_buf_addf(b, ", %s +-%.1f W", zone, json_number_value(mae));
		if (json_is_true(json_object_get(m, "extrapolating")))
			tw_buf_adds(b, ", outside its training data");
	}
	return join[0] != '\0';
}

/* A less trusted meter's zone of a kind is not added to the trusted one's. */
static double total_of(const json_t *answer, const json_t *zones, const char *key)
{
	double sum = NAN;
	const json_t *z;
	size_t i;

	json_array_foreach(zones, i, z) {
		const char *zone = json_string_value(json_object_get(z, "zone"));
		const json_t *value = json_object_get(z, key);

		if (zone == NULL || !tw_top_adds_up(answer, zone) ||
		    json_is_false(json_object_get(z, "used")) || !json_is_number(value))
			continue;
		sum = (isnan(sum) ? 0 : sum) + json_number_value(value);
	}
	return sum;
}

/*
 * The idle power of the machine. NaN: a zone has an unknown idle power, which is in the
 * power of workloads.
 */
static double idle_of(const json_t *answer, const json_t *zones)
{
	const json_t *z;
	size_t i;

	json_array_foreach(zones, i, z)
		if (json_is_false(json_object_get(z, "idle_known")) &&
		    !json_is_false(json_object_get(z, "used")) &&
		    tw_top_adds_up(answer, tw_json_text_or(z, "zone", "")))
			return NAN;
	return total_of(answer, zones, "idle_power_watts");
}

/* How the power is known, what of it is idle power, and how often it is read. */
static void add_facts(struct tw_buf *b, const json_t *root, const struct tw_top_node *n)
{
	const bool known = !isnan(n->watts);
	const json_t *interval = json_object_get(root, "interval_seconds");
	const bool estimated = add_models(b, json_object_get(root, "models"));

	if (!estimated)
		tw_buf_adds(b, !known                         ? "not measured"
			       : n->known == TW_TOP_SIMULATED ? "simulated"
							      : "measured");
	if (!isnan(n->idle_w))
		tw_buf_addf(b, "; idle %.1f W", n->idle_w);
	else if (known && !estimated)
		tw_buf_adds(b, "; idle power not known yet");
	if (json_is_number(interval))
		tw_buf_addf(b, "; tick %g s", json_number_value(interval));
}

static bool is_model_hiding(const json_t *models)
{
	const json_t *m;
	size_t i;

	json_array_foreach(models, i, m) {
		const char *idle = json_string_value(json_object_get(m, "idle"));

		if (idle != NULL && strcmp(idle, "hidden") == 0)
			return true;
	}
	return false;
}

/* The worst way in which a part of the sum is known. */
static enum tw_top_known how_known(const json_t *root, const json_t *zones)
{
	enum tw_top_known known = TW_TOP_MEASURED;
	const json_t *z;
	size_t i;

	json_array_foreach(zones, i, z) {
		const char *zone = json_string_value(json_object_get(z, "zone"));
		const char *source = json_string_value(json_object_get(z, "source"));

		if (zone == NULL || source == NULL || !tw_top_adds_up(root, zone) ||
		    json_is_false(json_object_get(z, "used")))
			continue;
		if (strcmp(source, "fake") == 0)
			return TW_TOP_SIMULATED;
		if (json_is_true(json_object_get(z, "estimated")))
			known = TW_TOP_ESTIMATED;
	}
	return known == TW_TOP_ESTIMATED &&
			       is_model_hiding(json_object_get(root, "models"))
		       ? TW_TOP_ABOVE_IDLE
		       : known;
}

/* Energy is a difference: it is known from the second tick on. */
static bool is_starting(const json_t *root)
{
	const json_t *uptime = json_object_get(root, "uptime_seconds"),
		     *interval = json_object_get(root, "interval_seconds");

	return json_is_number(uptime) && json_is_number(interval) &&
	       json_number_value(uptime) < 3 * json_number_value(interval);
}

int tw_top_node_read(const char *data, size_t len, struct tw_top_node *out,
		     struct tw_err *err)
{
	struct tw_buf power = { 0 }, facts = { 0 };
	struct tw_top_node n = { .name = NULL };
	const json_t *list, *zones;
	json_t *root = NULL;
	const char *name, *instance;
	int rc = -1;

	if (tw_json_parse(data, len, "answer", &root, err) < 0 ||
	    tw_json_array(root, "answer", "workloads", false, &list, err) < 0 ||
	    tw_json_array(json_array_get(list, 0), "answer.workloads[0]", "zones", false,
			  &zones, err) < 0 ||
	    tw_json_text(json_array_get(list, 0), "answer.workloads[0]", "node_name",
			 false, &name, err) < 0)
		goto out;
	n.watts = total_of(root, zones, "watts");
	n.idle_w = idle_of(root, zones);
	n.known = how_known(root, zones);
	n.error_w = n.known == TW_TOP_ESTIMATED || n.known == TW_TOP_ABOVE_IDLE
			    ? tw_top_error_w(root)
			    : NAN;
	n.starting = isnan(n.watts) && is_starting(root);
	add_node_zones(&power, zones);
	add_facts(&facts, root, &n);
	n.name = tw_must(strdup(name));
	instance = json_string_value(json_object_get(root, "instance"));
	n.instance = tw_must(strdup(instance != NULL ? instance : ""));
	n.power = tw_must(tw_buf_detach(&power, NULL));
	n.facts = tw_must(tw_buf_detach(&facts, NULL));
	*out = n;
	rc = 0;
out:
	json_decref(root);
	return rc;
}

void tw_top_node_release(struct tw_top_node *n)
{
	free(n->name);
	free(n->instance);
	free(n->power);
	free(n->facts);
	*n = (struct tw_top_node){ .name = NULL };
}

/* Two collectors of one name are "local~b173" and "local~08fe". */
static void rename_node(struct tw_top_node *n)
{
	char *name = tw_must_printf("%.*s~%.*s", TW_TOP_NODE_COLUMNS - INSTANCE_SHOWN - 1,
				    n->name, INSTANCE_SHOWN, n->instance);

	free(n->name);
	n->name = name;
}

void tw_top_nodes_tell_apart(struct tw_top_node *node, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		bool used_again = false;

		for (size_t k = i + 1; k < count; k++) {
			if (strcmp(node[i].name, node[k].name) != 0)
				continue;
			rename_node(&node[k]);
			used_again = true;
		}
		if (used_again)
			rename_node(&node[i]);
	}
}
