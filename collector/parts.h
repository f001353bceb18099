/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_PARTS_H
#define TW_COLLECTOR_PARTS_H

/*
 * What a collector is made of: opened as the settings say, while there are still the
 * rights for it.
 */

struct tw_collector;
struct tw_collector_settings;
struct tw_err;

/* Told what the machine has not got, and was not asked for by name. why has the whole
 * story. */
typedef void tw_passed_over(void *arg, const char *what, const struct tw_err *why);

/*
 * Start the keeper of models (collector/power/model_keeper.h) where a server or a
 * database is to be asked: before anything is opened. *fd is yours, or as it was: there
 * is none.
 */
int tw_collector_keeper_start(const struct tw_collector_settings *s, int *fd,
			      struct tw_err *err);

/*
 * Fills the members of c that are opened; c has its roots, and both live until
 * tw_collector_parts_close(), which is right after a failure, too. keeper_fd is taken,
 * even on failure; -1: none. passed gets NULL.
 */
int tw_collector_parts_open(struct tw_collector *c, const struct tw_collector_settings *s,
			    int keeper_fd, tw_passed_over *passed, struct tw_err *err);
void tw_collector_parts_close(struct tw_collector *c);

#endif /* TW_COLLECTOR_PARTS_H */
