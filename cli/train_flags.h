/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_TRAIN_FLAGS_H
#define TW_CLI_TRAIN_FLAGS_H

/*
 * The options of `tallywatt train`, and the training that they ask for.
 */

#include "cli/cmd_isolation.h"
#include "lib/core/strs.h"
#include "lib/program/opt.h"
#include "trainer/extract/thirdparty.h"

#include <stdbool.h>
#include <stdint.h>

struct tw_err;
struct tw_train_input;
struct tw_train_job;
struct tw_until;

struct tw_train_flags {
	struct tw_strs input, csv, spec, names; /* names: of third-party metrics */
	struct tw_thirdparty thirdparty;        /* made of them */
	char *name, *source, *group, *origin, *isolator;
	char *trainers, *abs_trainers, *dyn_trainers;
	struct tw_isolation_texts isolation;
	char *model_db, *output, *machine;
	char *vendor, *processor;
	uint32_t cores, chips, memory, frequency, threads_per_core;
	uint32_t threads, seed, folds;
	unsigned resets, extractor;
	uint32_t window;
	char *workloads, *keep_until;
	bool vm_metrics, replace, shuffled;
};

extern const struct tw_opts tw_train_opts;

/* Whether --keep-until is there, which is then read. What is wrong here is wrong use. */
int tw_train_flags_until(const struct tw_train_flags *f, struct tw_until *out,
			 bool *wanted, struct tw_err *err);

/*
 * All of the job but its data, which it has from the files. What is wrong here is wrong
 * use. Texts are the flags'; the job ends with tw_train_job_release(), after a failure
 * too.
 */
int tw_train_flags_job(struct tw_train_flags *f, struct tw_train_job *job,
		       struct tw_err *err);

/* The data and the specs. The input is the caller's to release, after a failure too. */
int tw_train_flags_read(const struct tw_train_flags *f, struct tw_train_job *job,
			struct tw_train_input *in, struct tw_err *err);

/* Free what the job has of the flags, and what was made of them; the flags themselves
 * are as tw_opts_parse() filled them. */
void tw_train_job_release(struct tw_train_flags *f, struct tw_train_job *job);

#endif /* TW_CLI_TRAIN_FLAGS_H */
