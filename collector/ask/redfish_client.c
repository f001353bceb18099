/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/redfish_client.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOT "/redfish/v1/"
#define SESSIONS "/redfish/v1/SessionService/Sessions"
#define ANSWER_MAX ((size_t)1 << 20)
#define LOGOUT_MS 1500

/* Pages of a collection. */
#define PAGES_MAX 16

/* Sensors of a chassis to read for the one that measures the chassis. */
#define SENSORS_MAX 8

/* Make a call with this controller's URL and credentials. */
static int call(const struct tw_redfish *r, struct tw_http_call *c, const char *path,
		bool anonymous, struct tw_http_answer *out, struct tw_err *err)
{
	const struct tw_redfish_config *config = &r->config;
	struct tw_http_access access = { .ca_file = config->ca_file,
					 .insecure = config->insecure };
	char url[1024], version[] = "OData-Version: 4.0", token[TW_HTTP_HEADER_MAX + 16];
	char *headers_at[] = { version, token };
	struct tw_strs headers = { .at = headers_at, .count = 1, .size = 2 };

	if ((size_t)snprintf(url, sizeof(url), "%s%s", config->url, path) >= sizeof(url))
		return tw_fail(err, TW_INVALID, "'%.64s' is too long", config->url);
	if (!anonymous && r->token[0] != '\0') {
		snprintf(token, sizeof(token), "X-Auth-Token: %s", r->token);
		headers.count = 2;
	} else if (!anonymous && r->basic) {
		access.user = config->user;
		access.password = config->password;
	}
	/*
	 * A custom header disables redirects: the credentials are for this server only.
	 */
	access.headers = &headers;
	c->url = url;
	c->access = &access;
	c->accept = "application/json";
	c->answer_max = ANSWER_MAX;
	/* Do not interrupt a login: its session would stay open. */
	c->stopped = anonymous ? NULL : config->stopped;
	c->stopped_arg = config->stopped_arg;
	if (c->timeout_ms == 0)
		c->timeout_ms = config->timeout_ms;
	return config->call(config->call_arg, c, out, err);
}

/* "GET /redfish/v1/Chassis answers 503: busy" */
static int fail_status(const char *path, const struct tw_http_answer *a,
		       struct tw_err *err)
{
	const enum tw_code code = a->status == 401 ? TW_DENIED : TW_INVALID;
	char why[128];

	tw_redfish_parse_error(a->body != NULL ? a->body : "", a->len, why, sizeof(why));
	return tw_fail(err, code, "%.96s answers %u%s%s", path, a->status,
		       why[0] != '\0' ? ": " : "", why);
}

/* ---- login ---- */

static char *make_login(const struct tw_redfish_config *c)
{
	struct tw_buf b = { 0 };

	tw_json_add_object(&b, NULL);
	tw_json_add_text(&b, "UserName", c->user);
	tw_json_add_text(&b, "Password", c->password);
	tw_json_end_object(&b);
	return tw_buf_detach(&b, NULL);
}

/* Keep the path of Location, which may be a path or a URL. */
static void keep_session(struct tw_redfish *r, const char *location)
{
	const char *host = strstr(location, "://");
	const char *path = host != NULL ? strchr(host + 3, '/') : location;

	r->session[0] = '\0';
	if (path != NULL && strncmp(path, ROOT, strlen(ROOT)) == 0 &&
	    strlen(path) < sizeof(r->session))
		memcpy(r->session, path, strlen(path) + 1);
}

/* A missing session service is an error only if basic authentication is not allowed. */
static int make_session(struct tw_redfish *r, struct tw_err *err)
{
	struct tw_http_header wanted[] = { { .name = "X-Auth-Token" },
					   { .name = "Location" } };
	char *body = make_login(&r->config);
	struct tw_http_call post = { .body = body,
				     .body_len = body != NULL ? strlen(body) : 0,
				     .wanted = wanted,
				     .wanted_count = 2 };
	struct tw_http_answer answer = { 0 };
	int rc = -1;

	if (body == NULL) {
		tw_fail(err, TW_NOMEM, "login");
		goto out;
	}
	if (call(r, &post, r->sessions, true, &answer, err) < 0)
		goto out;
	r->basic = r->config.auth == TW_REDFISH_AUTO &&
		   (answer.status == 404 || answer.status == 405 || answer.status == 501);
	if (!r->basic && answer.status != 200 && answer.status != 201) {
		fail_status(r->sessions, &answer, err);
		goto out;
	}
	if (!r->basic && wanted[0].value[0] == '\0') {
		tw_fail(err, TW_PARSE, "%.96s: no X-Auth-Token", r->sessions);
		goto out;
	}
	snprintf(r->token, sizeof(r->token), "%s", wanted[0].value);
	keep_session(r, wanted[1].value);

	rc = 0;
out:
	tw_http_answer_release(&answer);
	free(body);
	return rc;
}

static int login(struct tw_redfish *r, struct tw_err *err)
{
	r->token[0] = '\0';
	r->session[0] = '\0';
	r->basic = r->config.user != NULL && r->config.auth == TW_REDFISH_BASIC;
	return r->config.user == NULL || r->basic ? 0 : make_session(r, err);
}

void tw_redfish_logout(struct tw_redfish *r)
{
	struct tw_http_call end = { .method = "DELETE", .timeout_ms = LOGOUT_MS };
	struct tw_http_answer answer = { 0 };
	struct tw_err ignored = { 0 };
	bool (*const stopped)(void *arg) = r->config.stopped;

	/* Log out even after a stop was requested. */
	r->config.stopped = NULL;
	if (r->session[0] != '\0' &&
	    call(r, &end, r->session, false, &answer, &ignored) == 0)
		tw_http_answer_release(&answer);
	r->config.stopped = stopped;
	r->token[0] = '\0';
	r->session[0] = '\0';
}

/* ---- reading ---- */

/* An expired session answers 401, like a wrong password. */
static int get(struct tw_redfish *r, const char *path, struct tw_http_answer *out,
	       struct tw_err *err)
{
	for (int attempt = 0;; attempt++) {
		struct tw_http_call plain = { .url = NULL };
		struct tw_http_answer answer = { 0 };
		bool again;

		if (call(r, &plain, path, false, &answer, err) < 0)
			return -1;
		if (answer.status == 200) {
			*out = answer;
			return 0;
		}
		again = answer.status == 401 && attempt == 0 && r->token[0] != '\0';
		if (!again)
			fail_status(path, &answer, err);
		tw_http_answer_release(&answer);
		if (!again || login(r, err) < 0)
			return -1;
	}
}

static int read_doc(struct tw_redfish *r, const char *path, enum tw_redfish_type type,
		    union tw_redfish_doc *out, struct tw_err *err)
{
	struct tw_http_answer answer = { 0 };
	int rc;

	if (get(r, path, &answer, err) < 0)
		return -1;
	rc = tw_redfish_parse(type, answer.body, answer.len, out, err);
	tw_http_answer_release(&answer);
	/* A source has its chassis for its name. */
	return rc < 0 && (type >= TW_REDFISH_POWER_TYPES || type == TW_REDFISH_SUBSYSTEM)
		       ? tw_err_wrap(err, "%.96s", path)
		       : rc;
}

static int read_members(struct tw_redfish *r, const char *path, struct tw_strs *out,
			struct tw_err *err)
{
	char next[TW_REDFISH_PATH];

	snprintf(next, sizeof(next), "%s", path);
	for (int page = 0; next[0] != '\0'; page++) {
		struct tw_http_answer answer = { 0 };
		int rc;

		if (page == PAGES_MAX)
			return tw_fail(err, TW_INVALID, "%.96s: more than %d pages", path,
				       PAGES_MAX);
		if (get(r, next, &answer, err) < 0)
			return -1;
		rc = tw_redfish_parse_members(answer.body, answer.len, out, next, err);
		tw_http_answer_release(&answer);
		if (rc < 0)
			return tw_err_wrap(err, "%.96s", path);
	}
	return 0;
}

/* ---- power supplies ---- */

/* Errors of the connection, after which other requests fail, too. */
static bool is_fatal(const struct tw_err *err)
{
	return err->code == TW_IO || err->code == TW_NOMEM || err->code == TW_DENIED;
}

/* What a supply uses. One that is off has no reading, or 0 W. */
static int read_use(struct tw_redfish *r, const struct tw_redfish_supply *supply,
		    struct tw_redfish_power *out, struct tw_err *err)
{
	union tw_redfish_doc doc = { .power = { .power_w = 0, .energy_j = NAN } };
	struct tw_err why = { 0 };

	if (supply->metrics[0] != '\0' &&
	    read_doc(r, supply->metrics, TW_REDFISH_SUPPLY_METRICS, &doc, &why) < 0 &&
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

		if (read_doc(r, supplies->at[i], TW_REDFISH_SUPPLY, &doc, err) < 0)
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

	if (read_doc(r, path, TW_REDFISH_SUBSYSTEM, &doc, err) < 0 ||
	    read_members(r, doc.supplies, &supplies, err) < 0)
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
	if (read_doc(r, s->path, s->type, &doc, err) < 0)
		return -1;
	*out = doc.power;
	return 0;
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

/* True for the name of a sensor of a whole machine: "PWR_SYSTEM", "total_power". */
static bool names_machine(const char *name)
{
	static const char *const power[] = { "power", "pwr", "watt", NULL };
	static const char *const whole[] = { "platform", "sys", "total", NULL };
	static const char *const part[] = { "cap",   "cpu", "dimm",  "disk",  "dram",
					    "fan",   "gpu", "hdd",   "limit", "max",
					    "mem",   "min", "nvme",  "pcie",  "peak",
					    "state", "psu", "sysio", NULL };

	return has_word(name, power) && has_word(name, whole) && !has_word(name, part);
}

/*
 * Find the sensor that measures the chassis: the only sensor of power with such a name,
 * or the only one at all.
 */
static int find_sensor(struct tw_redfish *r, struct tw_redfish_source *s,
		       const struct tw_strs *sensors, struct tw_err *err)
{
	struct tw_redfish_source one = *s;
	size_t named = 0, found = 0;

	for (size_t i = 0; i < sensors->count; i++)
		named += names_machine(last_segment(sensors->at[i]));
	if ((named > 0 ? named : sensors->count) > SENSORS_MAX)
		return tw_fail(err, TW_NOTFOUND,
			       "%zu sensors: too many to look for that of the chassis",
			       sensors->count);
	for (size_t i = 0; i < sensors->count; i++) {
		struct tw_redfish_power power;
		struct tw_err why = { 0 };

		if (named > 0 && !names_machine(last_segment(sensors->at[i])))
			continue;
		snprintf(one.path, sizeof(one.path), "%s", sensors->at[i]);
		if (tw_redfish_read(r, &one, &power, &why) == 0) {
			*s = one;
			found++;
		} else if (is_fatal(&why)) {
			return tw_fail(err, why.code, "%s", why.text);
		}
	}
	if (found != 1)
		return tw_fail(err, TW_NOTFOUND,
			       "%zu of its sensors measure power, want one", found);
	return 0;
}

/* The source has the path of a collection: set the path of the chassis' sensor. */
static int choose_sensor(struct tw_redfish *r, struct tw_redfish_source *s,
			 struct tw_err *err)
{
	struct tw_strs sensors = { 0 };
	const int rc = read_members(r, s->path, &sensors, err) < 0 ||
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

	if (read_doc(r, path, TW_REDFISH_CHASSIS, &doc, err) < 0)
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
	ZERO, /* a placeholder, or a value that no machine has */
	POWER
};

struct found {
	struct tw_redfish_chassis chassis[FOUND_MAX];
	char path[FOUND_MAX][TW_REDFISH_PATH];
	struct tw_redfish_source source[FOUND_MAX];
	enum report reports[FOUND_MAX];
	size_t count, unread;
};

/* Compare paths, ignoring a trailing '/'. */
static bool is_same_path(const char *a, const char *b)
{
	const size_t n = strlen(a) - (a[0] != '\0' && a[strlen(a) - 1] == '/');
	const size_t m = strlen(b) - (b[0] != '\0' && b[strlen(b) - 1] == '/');

	return n == m && memcmp(a, b, n) == 0;
}

/* What the resource reports now; fills *s. */
static enum report try_type(struct tw_redfish *r, const struct tw_redfish_chassis *c,
			    enum tw_redfish_type type, const char *path,
			    struct tw_redfish_source *s, struct tw_err *err)
{
	struct tw_redfish_power power;

	*s = (struct tw_redfish_source){ .type = type };
	snprintf(s->id, sizeof(s->id), "%s", c->id);
	snprintf(s->path, sizeof(s->path), "%s", path);
	if ((type == TW_REDFISH_SENSOR && choose_sensor(r, s, err) < 0) ||
	    tw_redfish_read(r, s, &power, err) < 0)
		return SILENT;
	return tw_redfish_is_plausible(&power) ? POWER : ZERO;
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
		struct tw_err one = { 0 };
		enum report report;

		if (paths[k][0] == '\0')
			continue;
		report = try_type(r, c, (enum tw_redfish_type)k, paths[k], &source, &one);
		if (report > f->reports[i]) {
			f->reports[i] = report;
			f->source[i] = source;
		}
		if (report == SILENT)
			tw_fail(is_fatal(&one) ? err : why, one.code, "%s: %s", c->id,
				one.text);
		if (is_fatal(&one))
			return -1;
	}
	return 0;
}

static bool is_wanted(const struct tw_redfish *r, const struct tw_redfish_chassis *c)
{
	const struct tw_strs *only = r->config.chassis;

	if (only != NULL && only->count > 0)
		return tw_strs_has(only, c->id);
	/* NVIDIA's prefix for the tray of accelerators, beside the host's chassis. */
	return !c->part && strncmp(c->id, "HGX_", 4) != 0;
}

/* True if an enclosing chassis, of any depth, reports as much. */
static bool is_inside(const struct found *f, size_t i, enum report report)
{
	const char *around = f->chassis[i].contained_by;

	for (size_t steps = 0; around[0] != '\0' && steps < f->count; steps++) {
		size_t k = 0;

		while (k < f->count && !is_same_path(f->path[k], around))
			k++;
		if (k == f->count)
			return false;
		if (f->reports[k] >= report && k != i)
			return true;
		around = f->chassis[k].contained_by;
	}
	return false;
}

/* A chassis that cannot be read is skipped; why has the first reason. */
static int find_chassis(struct tw_redfish *r, const struct tw_strs *members,
			struct found *f, struct tw_err *why, struct tw_err *err)
{
	for (size_t i = 0; i < members->count; i++) {
		struct tw_err one = { 0 };

		if (f->count == FOUND_MAX)
			return tw_fail(err, TW_INVALID, "more than %d chassis",
				       FOUND_MAX);
		if (read_chassis(r, members->at[i], &f->chassis[f->count], &one) < 0) {
			tw_fail(is_fatal(&one) ? err : why, one.code, "%s", one.text);
			if (is_fatal(&one))
				return -1;
			f->unread++;
			continue;
		}
		snprintf(f->path[f->count++], TW_REDFISH_PATH, "%s", members->at[i]);
	}
	return 0;
}

static int fail_none(const struct found *f, const struct tw_err *why, struct tw_err *err)
{
	if (why->code != TW_OK)
		return tw_fail(err, TW_NOTFOUND, "no chassis reports power: %s",
			       why->text);
	for (size_t i = 0; i < f->count; i++)
		if (f->chassis[i].sensors[0] != '\0' || f->chassis[i].metrics[0] != '\0')
			return tw_fail(err, TW_NOTFOUND,
				       "no chassis reports power, only parts have "
				       "sensors: choose some by --redfish-chassis");
	return tw_fail(err, TW_NOTFOUND, "no chassis reports power");
}

/*
 * Of the outermost chassis, those of the type Other may be parts of the others, or of
 * each other: drop them, or fail.
 */
static int drop_others(const struct found *f, size_t *kept, size_t *count,
		       struct tw_err *err)
{
	size_t typed = 0;

	for (size_t i = 0; i < *count; i++)
		if (!f->chassis[kept[i]].other)
			kept[typed++] = kept[i];
	if (typed > 0)
		*count = typed;
	else if (*count > 1)
		return tw_fail(err, TW_INVALID,
			       "%.24s and %.24s may contain each other: choose by "
			       "--redfish-chassis",
			       f->chassis[kept[0]].id, f->chassis[kept[1]].id);
	return 0;
}

/* Replace the sources only if the search succeeded. */
static int keep_sources(struct tw_redfish *r, const struct found *f,
			const struct tw_err *why, struct tw_err *err)
{
	const bool named = r->config.chassis != NULL && r->config.chassis->count > 0;
	size_t count = 0, skipped = f->unread, kept[FOUND_MAX];
	enum report best = SILENT;

	for (size_t i = 0; i < f->count; i++)
		if (f->reports[i] > best)
			best = f->reports[i];
	if (best == SILENT)
		return fail_none(f, why, err);
	for (size_t i = 0; i < f->count; i++) {
		skipped += f->reports[i] == ZERO && best == POWER;
		if (named ? f->reports[i] != SILENT
			  : f->reports[i] == best && !is_inside(f, i, best))
			kept[count++] = i;
	}
	if (!named && drop_others(f, kept, &count, err) < 0)
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

static int find_sources(struct tw_redfish *r, const char *chassis, struct tw_err *err)
{
	struct tw_strs members = { 0 };
	struct found *f = calloc(1, sizeof(*f));
	struct tw_err why = { 0 }, unread = { 0 };
	int rc = -1;

	if (f == NULL) {
		tw_fail(err, TW_NOMEM, "chassis");
		goto out;
	}
	if (read_members(r, chassis, &members, err) < 0 ||
	    find_chassis(r, &members, f, &unread, err) < 0)
		goto out;
	for (size_t i = 0; i < f->count; i++)
		if (is_wanted(r, &f->chassis[i]) && try_source(r, f, i, &why, err) < 0)
			goto out;
	if (keep_sources(r, f, why.code != TW_OK ? &why : &unread, err) < 0)
		goto out;

	rc = 0;
out:
	free(f);
	tw_strs_clear(&members);
	return rc;
}

/* ---- connecting ---- */

int tw_redfish_connect(struct tw_redfish *r, struct tw_err *err)
{
	union tw_redfish_doc doc;

	/* The root needs no login, and names the session service. */
	r->token[0] = '\0';
	r->basic = false;
	if (read_doc(r, ROOT, TW_REDFISH_ROOT, &doc, err) < 0)
		return -1;
	snprintf(r->sessions, sizeof(r->sessions), "%s",
		 doc.root.sessions[0] != '\0' ? doc.root.sessions : SESSIONS);
	if (login(r, err) < 0)
		return -1;
	return find_sources(r, doc.root.chassis, err);
}
