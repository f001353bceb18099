/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_TRAIN_FLAGS_H
#define TW_CLI_TRAIN_FLAGS_H

/*
 * The options of `tallywatt train` and `tallywatt plan`, and the training job that they
 * describe.
 */

#include "cli/cmd_isolation.h"
#include "cli/train/input_cache.h"
#include "lib/core/strs.h"
#include "lib/http/client/credentials.h"
#include "lib/program/opt.h"
#include "trainer/response/thirdparty.h"
#include "trainer/train_job.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct tw_err;
struct tw_signer;
struct tw_train_input;
struct tw_train_result;
struct tw_until;

struct tw_train_flags {
	struct tw_strs input, csv, spec, names, gauges; /* of third-party metrics */
	struct tw_thirdparty thirdparty;                /* the schema made of them */
	char *name, *source, *group, *origin, *isolator;
	char *trainers, *abs_trainers, *dyn_trainers;
	struct tw_isolation_texts isolation;
	char *model_db, *output, *machine;
	char *sign, *sign_password_file;
	char *vendor, *processor;
	uint32_t cores, chips, memory, frequency, threads_per_core;
	uint32_t threads, seed, folds;
	unsigned resets, extractor;
	uint32_t window;
	char *workloads, *keep_until;
	bool vm_metrics, correct_lag, replace, shuffled, unconstrained, json;
	char *plan, *units, *parts, *cache;
	char *url; /* of a tw-trainer; or NULL */
	struct tw_credentials_config web;
};

extern const struct tw_opts tw_train_opts, tw_plan_opts;
/* The options that models depend on, beside the data and the machines' specs. */
extern const struct tw_opts tw_train_job_opts;

/* The options of downloads. Borrowed from the flags. */
struct tw_input_cache tw_train_flags_cache(const struct tw_train_flags *f);

/*
 * Check the options that say which data to train on, and cut queries into chunks. A
 * failure is wrong use.
 */
int tw_train_flags_check_input(struct tw_train_flags *f, struct tw_err *err);

/* Whether --keep-until is given; *until gets it. A failure is wrong use. */
int tw_train_flags_until(const struct tw_train_flags *f, struct tw_until *out,
			 bool *wanted, struct tw_err *err);

/*
 * Fill the job, except its data. A failure is wrong use. The job borrows texts of the
 * flags. Call tw_train_job_release() in any case.
 */
int tw_train_flags_job(struct tw_train_flags *f, struct tw_train_job *job,
		       struct tw_err *err);

/*
 * Read what the options name beside the data: the specs, the workloads, the isolator's
 * inputs, and the node types of the published pipeline, unless the job is planned. The
 * job borrows from the input, which the caller releases, also after a failure.
 */
int tw_train_flags_read_options(const struct tw_train_flags *f, struct tw_train_job *job,
				struct tw_train_input *in, struct tw_err *err);

/* As tw_train_flags_read_options(), and read the data. */
int tw_train_flags_read(const struct tw_train_flags *f, struct tw_train_job *job,
			struct tw_train_input *in, struct tw_err *err);

/*
 * Free the parts of the job that were made from flags. The flags stay as tw_opts_parse()
 * filled them.
 */
void tw_train_job_release(struct tw_train_flags *f, struct tw_train_job *job);

/* Progress lines of a training on this machine, on stderr. */
struct tw_progress_line {
	struct tw_train_watch watch; /* for the job */
	const char *program;         /* begins each line */
	uint64_t start_ns;
	_Atomic uint64_t next_ns; /* of the next line; shared by the threads */
};

/* The line must outlive the training and not move. */
void tw_progress_line_start(struct tw_progress_line *p, const char *program);

/*
 * Put the result where --model-db and --output say. With --model-db the zip gets the
 * whole published pipeline. Without any destination it is kept in the current directory.
 * signer may be NULL. `program` begins a message.
 */
int tw_train_publish(const struct tw_train_flags *f, const char *program,
		     const struct tw_signer *signer, struct tw_train_result *r,
		     struct tw_err *err);

#endif /* TW_CLI_TRAIN_FLAGS_H */
