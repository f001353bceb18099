/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_PLAN_H
#define TW_TRAINER_PLAN_H

/*
 * The plan of a training in shards: a JSON document that lists the inputs with their
 * digests, the machines with their node types, and the units. A unit is one model: a
 * trainer on the data of one machine, energy source, feature group and output type. The
 * units are numbered from 0 in the order of a training's models. Workers train units and
 * a merge packs them; both read the plan, so all agree on node types and options
 * (docs/shards.md, "The plan").
 */

#include "lib/core/sha256.h"
#include "lib/core/strs.h"
#include "lib/json/fields.h"
#include "profiler/spec.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct tw_buf;
struct tw_err;
struct tw_train_job;
struct tw_train_planned;

#define TW_PLAN_FORMAT 1
#define TW_PLAN_BYTES_MAX ((size_t)1 << 30)
#define TW_PLAN_UNITS_MAX ((size_t)4 << 20)

/* A file and its digest. Texts are borrowed from the plan's document. */
struct tw_plan_file {
	const char *text; /* as on the command line: [MACHINE=]PATH */
	const char *sha256;
};

struct tw_plan_machine {
	const char *name; /* NULL: no name */
	struct tw_machine_spec spec;
	size_t node_type;
	size_t *input; /* indexes of the inputs that have series of the machine */
	size_t inputs;
};

/* Rows that several trainers train on. */
struct tw_plan_data {
	size_t machine;
	const char *source, *output, *group;
	size_t rows;         /* estimate: samples of the longest series */
	const json_t *costs; /* seconds of each trainer, from which units are made */
};

struct tw_plan_unit {
	size_t data;
	const char *trainer;
	double cost_s; /* estimated CPU time, seconds */
};

/* The tables of the plan's members. */
extern const struct tw_fields tw_plan_file_fields, tw_plan_machine_fields;

/* All zero bytes is empty. */
struct tw_plan {
	json_t *doc;
	char digest[TW_SHA256_TEXT]; /* of the plan's text */
	const char *name;            /* of the pipeline */
	struct tw_strs options;      /* of tallywatt train: "folds=3" */
	bool tables;                 /* the inputs are tables, of one machine */
	struct tw_plan_file *file;   /* files that the options name */
	struct tw_plan_file *input;
	struct tw_plan_machine *machine; /* in order of name */
	struct tw_plan_data *data;
	struct tw_plan_unit *unit;
	size_t files, inputs, machines, datas, units;
};

/* Parse a plan and check it. `where` is its name in errors. *out must be all zero. */
int tw_plan_parse(const char *text, size_t len, const char *where, struct tw_plan *out,
		  struct tw_err *err);
int tw_plan_read(const char *path, struct tw_plan *out, struct tw_err *err);

void tw_plan_release(struct tw_plan *p);

/* Append "node-a/rapl-sysfs/AbsPower/BPFOnly/SVRRegressorTrainer"; "-": no name. */
void tw_plan_add_address(const struct tw_plan *p, size_t unit, struct tw_buf *out);

/* The machines for tw_train_job.planned; *out is yours (free()). */
int tw_plan_machines(const struct tw_plan *p, struct tw_train_planned **out,
		     struct tw_err *err);

/* ---- making a plan ---- */

/*
 * The inputs are looked at one at a time, so that the memory is that of the largest
 * input.
 */
struct tw_plan_maker;

/* The job has the options, without inputs; it is borrowed. *out: tw_plan_maker_free(). */
int tw_plan_maker_new(const struct tw_train_job *job, struct tw_plan_maker **out,
		      struct tw_err *err);
void tw_plan_maker_free(struct tw_plan_maker *m); /* NULL is fine */

/* Add a file that the options name, with the digest of its content. */
int tw_plan_maker_add_file(struct tw_plan_maker *m, const char *path, const char *sha256,
			   struct tw_err *err);

/*
 * Look at the next input: its text on the command line, its digest, and a job that has
 * this response alone.
 */
int tw_plan_maker_look(struct tw_plan_maker *m, const char *text, const char *sha256,
		       const struct tw_train_job *one, struct tw_err *err);

/* Instead: all tables, which the job has, with the texts and digests of their files. */
int tw_plan_maker_look_at_tables(struct tw_plan_maker *m, const struct tw_strs *texts,
				 const struct tw_strs *sha256,
				 const struct tw_train_job *job, struct tw_err *err);

/*
 * Append the text of the plan. job is the whole one, without data: its specs and known
 * node types number the machines, and its isolator's inputs are checked.
 */
int tw_plan_maker_finish(struct tw_plan_maker *m, const struct tw_train_job *job,
			 const struct tw_strs *options, struct tw_buf *out,
			 struct tw_err *err);

#endif /* TW_TRAINER_PLAN_H */
