/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_AUTO_LEARNER_H
#define TW_TRAINER_AUTO_LEARNER_H

/*
 * What AutoTrainer tries: trees of its own, and the other trainers. A learner is a
 * trainer whose name tells what it is; those of trees are not in the registry.
 */

#include "trainer/fit/trainer.h"

/* Trees, from the one that columns are chosen by. */
size_t tw_auto_trees_count(void);
const struct tw_trainer *tw_auto_trees_at(size_t i);

/* Registered trainers that are quick and general enough to be a member. */
size_t tw_auto_others_count(void);
/* NULL: this build lacks it. */
const struct tw_trainer *tw_auto_other_at(size_t i);

#endif /* TW_TRAINER_AUTO_LEARNER_H */
