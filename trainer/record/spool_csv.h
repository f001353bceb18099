/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_SPOOL_CSV_H
#define TW_TRAINER_SPOOL_CSV_H

/*
 * Series as CSV tables: a file <metric>.csv for each metric, with a row for each sample.
 * Its columns are the time in seconds, all labels of the metric's series, and the value.
 */

struct tw_err;
struct tw_spool;

/*
 * Write the tables into a directory, which is made if needed. A file is replaced as a
 * whole. TW_INVALID for a metric whose name is no name of Prometheus.
 */
int tw_spool_write_csv(const struct tw_spool *s, const char *dir, struct tw_err *err);

#endif /* TW_TRAINER_SPOOL_CSV_H */
