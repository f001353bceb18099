/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_PACKAGE_SHARES_H
#define TW_TRAINER_PACKAGE_SHARES_H

/*
 * The processor packages of a machine, and each package's share of a row's processor
 * usage.
 */

#include "trainer/extract/metric_series.h"

struct tw_dataset;
struct tw_err;
struct tw_guest;

#define TW_PACKAGES_MAX 64

/* Packages whose power and usage are both known, sorted: shorter names first, so that 2
 * comes before 10. All zero bytes: packages are not separated. */
struct tw_packages {
	const char *name[TW_PACKAGES_MAX]; /* the response's: compare addresses */
	size_t count;
	struct tw_metric_series use; /* the workloads' usage of the packages */
};

/*
 * Find the packages of the components' power. The result is empty unless the response has
 * the usage of each of them; the arguments' warnings gets a line for each package left
 * out.
 */
int tw_packages_find(const struct tw_extract_input *in, struct tw_packages *out,
		     struct tw_err *err);

/*
 * Add to d the usage of all packages and each package's share of it:
 *
 *	r[u] = use[u] / (use[0] + use[1] + ..)
 *
 * Node-level rows sum the usage over workloads first. Rows with an unknown or zero usage
 * are dropped. guest is NULL unless the rows are of VMs.
 */
int tw_package_shares_add(const struct tw_packages *p, const struct tw_extract_args *a,
			  struct tw_guest *guest, struct tw_dataset *d,
			  struct tw_err *err);

#endif /* TW_TRAINER_PACKAGE_SHARES_H */
