/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_EXTRACT_ARGS_H
#define TW_TRAINER_EXTRACT_ARGS_H

/*
 * The arguments of an extraction (trainer/extract/extract.h), which each of its stages
 * reads.
 */

#include "lib/field/energy.h"
#include "lib/field/feature.h"

#include <stdbool.h>

struct tw_buf;
struct tw_quality;

enum tw_row_level {
	TW_ROWS_NODE,      /* one row a time stamp; features summed over containers */
	TW_ROWS_CONTAINER, /* one row a time stamp and container */
	TW_ROWS_FINEST,    /* CONTAINER where the group has containers, else NODE */
};

/* How to treat a counter that falls within a series. */
enum tw_resets {
	TW_RESETS_REFUSE, /* fail; the error names the series and the time */
	TW_RESETS_CARRY,  /* repeat the previous rate for that step (0 at the start) */
};

/* Which program's arithmetic to reproduce. */
enum tw_compat {
	TW_COMPAT_NONE, /* divide each difference by its own step */
	TW_COMPAT_KMS,  /* kepler-model-server: divide energy by the mean step; carry
			   resets */
};

/* Borrowed for the call. */
struct tw_extract_args {
	const struct tw_energy_source *source;
	const struct tw_feature_group *group;
	enum tw_row_level level;
	enum tw_resets resets;
	enum tw_compat compat;
	bool vm_metrics; /* use only series of VMs (job="vm"), which are skipped else */
	/* Add power columns of each package and the packages' shares, if the response has
	 * the usage of each package. */
	bool packages;
	/* Shift power by its lag behind the features (trainer/extract/lag.h). Not with
	 * compat. */
	bool correct_lag;
	struct tw_buf *warnings;    /* gets a line for each part left out; or NULL */
	struct tw_quality *quality; /* gets the quality of the recording: all zero bytes,
				       and yours after a success; or NULL */
	bool apart;                 /* the response is known to be of one machine */
	const char *machine; /* the machine to extract (trainer/response/machines.h);
				NULL: the response must be of one */
};

#endif /* TW_TRAINER_EXTRACT_ARGS_H */
