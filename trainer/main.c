/* SPDX-License-Identifier: Apache-2.0 */
#include "isolator/isolator.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/http/client/credentials.h"
#include "lib/http/client/http.h"
#include "lib/http/server/expo.h"
#include "lib/http/server/httpd.h"
#include "lib/http/server/httpd_stats.h"
#include "lib/http/web/web.h"
#include "lib/program/daemon.h"
#include "lib/program/kepler_key.h"
#include "lib/program/log.h"
#include "lib/program/opt.h"
#include "model-db/signature.h"
#include "trainer/fit/trainer.h"
#include "trainer/names.h"
#include "trainer/online/online.h"
#include "trainer/online/online_metrics.h"
#include "trainer/response/prom.h"
#include "trainer/response/prom_store.h"
#include "trainer/service/rights.h"
#include "trainer/service/train_service.h"
#include "trainer/unit/unit_file.h"
#include "trainer/unit/unit_results.h"
#include "trainer/unit/unit_watch.h"

#include <errno.h>
#include <gsl/gsl_errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Each connection may hold a whole response in memory. */
#define CONNECTIONS_MAX 64

/* File descriptors besides connections: trainings, their workers and results. */
#define FILES_MORE 192

/* Limit of an answer of Prometheus. */
#define ANSWER_MAX ((size_t)512 << 20)

/* Options of online training and of units of work. */
struct online_config {
	bool on;
	char *prometheus, *state, *name, *trainers;
	struct tw_strs match;
	uint64_t interval_ms, delay_ms, lookback_ms, rollback_ms, bytes_max, timeout_ms;
	uint32_t rows_max, rows_min, margin_percent;
	unsigned partial;
	char *unit;
	struct tw_unit_file units;    /* of unit */
	struct tw_credentials access; /* of web */
};

struct config {
	char *listen, *model_db, *jobs, *web_config, *ready_file;
	struct tw_strs host_names;
	char *sign, *sign_password_file;
	struct tw_strs may_train;
	unsigned log_level, log_format, resets;
	uint32_t threads, seed, parallel, queue;
	uint64_t max_body;
	struct online_config online;
	struct tw_credentials_config web;
};

#define OPT(kind, flag, field, what, line) \
	TW_OPT_ROW(struct config, kind, flag, field, what, line)

static const struct tw_opt options[] = {
	{ OPT(LISTEN, "listen", listen, "ADDR:PORT", "address and port to listen on"),
	  .env = "TW_TRAINER_LISTEN", .fallback = "127.0.0.1:8102" },
	{ OPT(TEXT, "model-db", model_db, "DIR",
	      "model database to publish pipelines in"),
	  .env = "TW_MODEL_DB" },
	{ OPT(TEXT, "sign", sign, "FILE",
	      "minisign secret key that signs published pipelines"),
	  .env = "TW_TRAINER_SIGN" },
	{ OPT(TEXT, "sign-password-file", sign_password_file, "FILE",
	      "file with the password of the key; else TW_SIGN_PASSWORD"),
	  .env = "TW_TRAINER_SIGN_PASSWORD_FILE" },
	{ OPT(TEXT, "jobs", jobs, "DIR",
	      "directory of job records; without it, jobs end with the process"),
	  .env = "TW_TRAINER_JOBS" },
	{ OPT(TEXT, "web-config", web_config, "FILE",
	      "file with TLS and users, in the format of Prometheus exporters"),
	  .env = "TW_TRAINER_WEB_CONFIG" },
	TW_OPTS_HOST_NAMES(struct config, "TW_TRAINER_HOST_NAMES"),
	{ OPT(TEXTS, "may-train", may_train, "USER=PATTERNS",
	      "only these users may train, into pipelines with such names: a=web-*,db"),
	  .env = "TW_TRAINER_MAY_TRAIN" },
	{ OPT(CHOICE, "resets", resets, "HOW",
	      "where counters fall, as at a restart: drop the row, carry on with the "
	      "last "
	      "rate, or refuse the data"),
	  .env = "TW_TRAINER_RESETS", .fallback = "drop", .choices = tw_resets_names },
	{ OPT(U32, "threads", threads, "N", "threads of a training; 0: as many as CPUs"),
	  .env = "TW_TRAINER_THREADS", .fallback = "0", .max = 1024 },
	{ OPT(U32, "parallel", parallel, "N", "trainings that run at the same time"),
	  .env = "TW_TRAINER_PARALLEL", .fallback = "2", .min = 1, .max = 16 },
	{ OPT(U32, "queue", queue, "N", "trainings that may wait besides"),
	  .env = "TW_TRAINER_QUEUE", .fallback = "4", .max = CONNECTIONS_MAX },
	{ OPT(SIZE_BYTES, "max-body", max_body, "SIZE",
	      "limit of a request body, such as 64MiB"),
	  .env = "TW_TRAINER_MAX_BODY", .fallback = "256MiB" },
	{ OPT(U32, "seed", seed, "N",
	      "seed of random choices; same data and seed give the same models"),
	  .env = "TW_TRAINER_SEED", .fallback = "1", .max = UINT32_MAX },
	{ OPT(BOOL, "online", online.on, NULL,
	      "train on the samples of a Prometheus server, too") },
	{ OPT(TEXT, "prometheus", online.prometheus, "URL",
	      "the server, or another one with its API"),
	  .env = "PROM_SERVER", .fallback = "http://localhost:9090" },
	{ OPT(DURATION_MS, "sampling-interval", online.interval_ms, "TIME",
	      "time between two readings of the server"),
	  .env = "SAMPLING_INTERVAL", .fallback = "60s" },
	{ OPT(TEXT, "online-state", online.state, "DIR",
	      "directory of the samples and decisions of online training") },
	{ OPT(TEXT, "online-name", online.name, "NAME",
	      "the pipeline of a machine is NAME-MACHINE"),
	  .fallback = "online" },
	{ OPT(TEXT, "online-trainers", online.trainers, "NAMES",
	      "comma-separated trainers of online training"),
	  .fallback = "AutoTrainer" },
	{ OPT(TEXTS, "match", online.match, "MATCHERS",
	      "only series with these labels: instance=\"a\",job=~\"b|c\"") },
	{ OPT(DURATION_MS, "delay", online.delay_ms, "TIME",
	      "do not read samples younger than this: others may still arrive"),
	  .fallback = "15s" },
	{ OPT(DURATION_MS, "lookback", online.lookback_ms, "TIME",
	      "age of the oldest samples to read after a pause"),
	  .fallback = "1h" },
	{ OPT(DURATION_MS, "query-timeout", online.timeout_ms, "TIME",
	      "time limit of a request to the server"),
	  .fallback = "30s" },
	{ OPT(CHOICE, "partial", online.partial, "HOW",
	      "answers that lack series (Thanos, VictoriaMetrics): refuse, or accept"),
	  .fallback = "refuse", .choices = tw_prom_partial_names },
	{ OPT(U32, "window-rows", online.rows_max, "N",
	      "limit of the rows that are kept of a machine"),
	  .fallback = "10000", .min = 10, .max = 10000000 },
	{ OPT(SIZE_BYTES, "window-size", online.bytes_max, "SIZE",
	      "limit of the bytes that are kept of a machine"),
	  .fallback = "256MiB" },
	{ OPT(U32, "train-after", online.rows_min, "N",
	      "new rows before a training; a quarter while the model drifts"),
	  .fallback = "600", .min = 8, .max = 10000000 },
	{ OPT(U32, "margin", online.margin_percent, "PERCENT",
	      "publish if the error on held-out samples is smaller by this"),
	  .fallback = "5", .max = 90 },
	{ OPT(DURATION_MS, "rollback-after", online.rollback_ms, "TIME",
	      "roll back if the live error is worse than before for this time"),
	  .fallback = "30m" },
	{ OPT(TEXT, "unit", online.unit, "FILE",
	      "file of units of work, whose joules are found from the server"),
	  .env = "TW_TRAINER_UNIT" },
	TW_CREDENTIALS_OPTS(struct config, "PROM_SSL_DISABLE"),
	TW_OPT_READY_FILE(struct config),
	TW_OPTS_LOG(struct config),
};

/* kepler-model-server's key for the online trainer's pause, and those of its queries. */
static const char *const online_keys[] = { "PROM_SERVER", "PROM_SSL_DISABLE",
					   "PROM_HEADERS", "SAMPLING_INTERVAL", NULL };

static void list_metrics(struct tw_buf *out)
{
	tw_expo_list(out, tw_http_families);
	tw_expo_list(out, tw_train_service_families);
	tw_expo_list(out, tw_online_families);
	tw_expo_list(out, tw_unit_families);
}

static int check(void *config, struct tw_err *err);

static const struct tw_opts opts = {
	.program = "tw-trainer",
	.summary = "Train power models from Prometheus responses sent to it.",
	TW_OPTS_TABLE(options),
	.list_metrics = list_metrics,
	.check = check,
};

/* Return on a stop signal. */
static void wait_for_stop(int signals)
{
	struct pollfd p = { .fd = signals, .events = POLLIN };

	for (;;) {
		if (poll(&p, 1, -1) < 0 && errno != EINTR)
			return;
		if (tw_signals_next(signals) == TW_SIGNAL_STOP)
			return;
	}
}

static int check_rights(const struct config *c, struct tw_err *err)
{
	if (c->may_train.count > 0 && c->web_config == NULL)
		return tw_fail(err, TW_INVALID,
			       "--may-train without --web-config, which has the users");
	return tw_rights_check_rules(&c->may_train, err);
}

/* Log what an accepted answer lacks. */
static void warn_of_answer(const char *text)
{
	static struct tw_log_limit limit;

	tw_log_warn_limited(&limit, "%s", text);
}

static int check_online(struct config *c, struct tw_err *err)
{
	if (c->online.unit != NULL &&
	    tw_unit_file_read(c->online.unit, &c->online.units, err) < 0)
		return tw_err_wrap(err, "--unit");
	if ((c->online.on || c->online.unit != NULL) &&
	    tw_credentials_open(&c->online.access, &c->web, "PROM_HEADERS", err) < 0)
		return -1;
	if (!c->online.on)
		return 0;
	if (c->model_db == NULL)
		return tw_fail(err, TW_INVALID, "--online without --model-db");
	if (c->online.state == NULL)
		return tw_fail(err, TW_INVALID, "--online without --online-state");
	if (c->online.interval_ms == 0)
		return tw_fail(err, TW_INVALID, "--sampling-interval is not above 0");
	return tw_name_check("--online-name", c->online.name, strlen(c->online.name),
			     err);
}

/* Split and check the names of trainers. */
static int read_trainers(const char *names, struct tw_online_rules *r, struct tw_err *err)
{
	if (tw_strs_split(&r->abs_trainers, names, err) < 0 ||
	    tw_strs_split(&r->dyn_trainers, names, err) < 0)
		return -1;
	for (size_t i = 0; i < r->abs_trainers.count; i++)
		if (tw_trainer_find(r->abs_trainers.at[i]) == NULL)
			return tw_fail(err, TW_INVALID,
				       "--online-trainers: no trainer '%.60s'",
				       r->abs_trainers.at[i]);
	return r->abs_trainers.count > 0
		       ? 0
		       : tw_fail(err, TW_INVALID, "--online-trainers has no name");
}

/* A damaged store is not a reason to refuse clients' trainings. */
static int go_without_online(struct tw_train_service *service, struct tw_err *err)
{
	static char why[TW_ERR_TEXT];

	snprintf(why, sizeof(why), "%s", err->text);
	tw_log_error("no online training: %s; move the file away, and start again", why);
	tw_train_service_add(
		service,
		&(struct tw_train_part){ .arg = why, .health = tw_online_write_damage });
	tw_err_clear(err);
	return 0;
}

static int open_online(const struct config *c, struct tw_online_config *online,
		       struct tw_train_service *service, struct tw_online **out,
		       struct tw_err *err)
{
	const struct online_config *k = &c->online;

	if (!k->on)
		return 0;
	online->rules.trainings = tw_train_service_trainings(service);
	if (read_trainers(k->trainers, &online->rules, err) < 0)
		return -1;
	if (tw_online_open(online, out, err) < 0)
		return err->code == TW_PARSE ? go_without_online(service, err) : -1;
	tw_train_service_add(service,
			     &(struct tw_train_part){ .arg = *out,
						      .metrics = tw_online_write_metrics,
						      .health = tw_online_write_health });
	tw_log_info("online: reading '%s' each %" PRIu64 " s", k->prometheus,
		    k->interval_ms / 1000);
	return 0;
}

static int open_units(const struct config *c, const struct tw_prom_client_config *client,
		      struct tw_train_service *service, struct tw_unit_watch **out,
		      struct tw_err *err)
{
	const struct tw_unit_watch_config watch = { .file = &c->online.units,
						    .client = *client,
						    .delay_ms = c->online.delay_ms };

	if (c->online.unit == NULL)
		return 0;
	if (tw_unit_watch_open(&watch, out, err) < 0)
		return -1;
	tw_train_service_add(service,
			     &(struct tw_train_part){ .arg = *out,
						      .metrics = tw_unit_watch_metrics,
						      .health = tw_unit_watch_health,
						      .units = tw_unit_watch_list });
	tw_log_info("evaluating %zu units of work each %" PRIu64 " s, by '%s'",
		    c->online.units.count, c->online.units.every_ms / 1000,
		    c->online.prometheus);
	return 0;
}

/* The parts of the daemon. signals is -1 without. */
struct daemon {
	struct tw_signer signer;
	struct tw_online_config online_config;
	struct tw_http_stats *stats;
	struct tw_train_service *service;
	struct tw_online *online;
	struct tw_unit_watch *units;
	struct tw_httpd *httpd;
	int signals;
};

/* Open the readers of the Prometheus server. */
static int open_readers(const struct config *c, struct daemon *d, struct tw_err *err)
{
	if (!c->online.on && c->online.unit == NULL)
		return 0;
	if (c->web.insecure)
		tw_log_warn("certificates are not verified (--insecure)");
	d->online_config = (struct tw_online_config){
		.rules = { .model_db = c->model_db,
			   .name = c->online.name,
			   .dir = c->online.state,
			   .signer = c->sign != NULL ? &d->signer : NULL,
			   .isolator = tw_isolator_find(TW_ISOLATOR_DEFAULT),
			   .limits = { c->online.rows_max, c->online.bytes_max },
			   .rows_min = c->online.rows_min,
			   .margin = c->online.margin_percent / 100.0,
			   .rollback_ms = c->online.rollback_ms },
		.client = { .url = c->online.prometheus,
			    .access = c->online.access.access,
			    .timeout_ms = c->online.timeout_ms,
			    .answer_max = ANSWER_MAX,
			    .accept_partial = c->online.partial != 0,
			    .say = warn_of_answer },
		.match = &c->online.match,
		.interval_ms = c->online.interval_ms,
		.delay_ms = c->online.delay_ms,
		.lookback_ms = c->online.lookback_ms,
	};
	if (tw_http_init(err) < 0 ||
	    open_online(c, &d->online_config, d->service, &d->online, err) < 0)
		return -1;
	return open_units(c, &d->online_config.client, d->service, &d->units, err);
}

static int open_service(const struct config *c, struct daemon *d, struct tw_err *err)
{
	const struct tw_trainings_config trainings = {
		.model_db = c->model_db,
		.jobs_dir = c->jobs,
		.rights = &c->may_train,
		.signer = c->sign != NULL ? &d->signer : NULL,
		.resets = (enum tw_resets)c->resets,
		.threads = c->threads,
		.seed = c->seed,
		.parallel = c->parallel,
		.queue = c->queue,
	};

	if (c->sign != NULL &&
	    tw_signer_read(c->sign, c->sign_password_file, &d->signer, err) < 0)
		return -1;
	if (tw_http_stats_new(tw_train_service_routes, tw_train_service_route_count,
			      &d->stats, err) < 0)
		return -1;
	return tw_train_service_new(&trainings, d->stats, &d->service, err);
}

static int open_server(const struct config *c, struct daemon *d, struct tw_err *err)
{
	const struct tw_httpd_config config = {
		.listen = c->listen,
		.routes = tw_train_service_routes,
		.route_count = tw_train_service_route_count,
		.app = d->service,
		.stats = d->stats,
		.thread_per_connection = true,
		.connections_max = CONNECTIONS_MAX,
		.files_more = FILES_MORE,
		.body_max = c->max_body,
		.web_config = c->web_config,
		.host_names = &c->host_names,
		.web_changed = tw_web_log_changed,
	};

	if (tw_httpd_open(&config, &d->httpd, err) < 0)
		return -1;
	return tw_daemon_ready(c->ready_file, tw_httpd_address(d->httpd), err);
}

static void stop_training(struct daemon *d)
{
	if (d->online != NULL)
		tw_online_stop(d->online);
	tw_train_service_stop(d->service);
}

static void close_daemon(struct daemon *d)
{
	tw_httpd_close(d->httpd);
	if (d->online != NULL)
		stop_training(d);
	tw_online_close(d->online);
	tw_unit_watch_close(d->units);
	tw_strs_clear(&d->online_config.rules.abs_trainers);
	tw_strs_clear(&d->online_config.rules.dyn_trainers);
	tw_train_service_free(d->service);
	tw_signer_release(&d->signer);
	tw_http_stats_free(d->stats);
	if (d->signals >= 0)
		close(d->signals);
}

static int serve(const struct config *c, struct tw_err *err)
{
	struct daemon d = { .signals = -1 };
	int rc = -1;

	/* Block signals first: threads inherit the mask. */
	if (tw_signals_open(&d.signals, err) < 0 || open_service(c, &d, err) < 0 ||
	    open_readers(c, &d, err) < 0 || open_server(c, &d, err) < 0)
		goto out;
	tw_log_info("listening on %s, publishing %s%s", tw_httpd_address(d.httpd),
		    c->model_db != NULL ? "in " : "nowhere",
		    c->model_db != NULL ? c->model_db : "");
	wait_for_stop(d.signals);
	tw_log_info("stopping");
	tw_daemon_stopping(c->ready_file);
	stop_training(&d);

	rc = 0;
out:
	close_daemon(&d);
	return rc;
}

static int check_files(const struct config *c, struct tw_err *err)
{
	const struct tw_httpd_config web = { .web_config = c->web_config };
	struct tw_online_rules rules = { .trainings = NULL };
	struct tw_signer signer = { 0 };
	int rc = tw_httpd_check(&web, err);

	if (rc == 0 && c->sign != NULL)
		rc = tw_signer_read(c->sign, c->sign_password_file, &signer, err);
	if (rc == 0 && c->online.on)
		rc = read_trainers(c->online.trainers, &rules, err);
	tw_strs_clear(&rules.abs_trainers);
	tw_strs_clear(&rules.dyn_trainers);
	tw_signer_release(&signer);
	return rc;
}

static int check(void *config, struct tw_err *err)
{
	return check_rights(config, err) < 0 || check_online(config, err) < 0 ||
			       check_files(config, err) < 0
		       ? -1
		       : 0;
}

int main(int argc, char **argv)
{
	struct config c = { 0 };
	enum tw_opts_action action;
	struct tw_err err = { 0 };
	int rest, status = TW_EXIT_FAILED;

	if (!tw_std_files_open())
		return TW_EXIT_FAILED;
	/* GSL's default handler aborts the process. */
	gsl_set_error_handler_off();
	/* Allocate large tables by mmap, so that free() returns them to the kernel. */
	mallopt(M_MMAP_THRESHOLD, 4 << 20);

	if (tw_kepler_keys_load(tw_kepler_model_db_keys, &err) < 0 ||
	    tw_kepler_keys_load(tw_guest_keys, &err) < 0 ||
	    tw_kepler_keys_load(online_keys, &err) < 0 ||
	    tw_kepler_model_db_default(&err) < 0 ||
	    tw_opts_parse(&opts, argc, argv, &c, &action, &rest, &err) < 0 ||
	    (action == TW_OPTS_RUN &&
	     (check_rights(&c, &err) < 0 || check_online(&c, &err) < 0))) {
		fprintf(stderr, "tw-trainer: %s\n", err.text);
		status = TW_EXIT_USAGE;
	} else if (action == TW_OPTS_EXIT) {
		status = TW_EXIT_OK;
	} else {
		tw_log_init("tw-trainer", (enum tw_log_level)c.log_level,
			    (enum tw_log_format)c.log_format);
		if (serve(&c, &err) < 0)
			tw_log_error("%s", err.text);
		else
			status = TW_EXIT_OK;
	}
	tw_credentials_release(&c.online.access);
	tw_unit_file_release(&c.online.units);
	tw_opts_release(&opts, &c);
	return status;
}
