/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_TRAIN_PUBLISH_H
#define TW_CLI_TRAIN_PUBLISH_H

struct tw_err;
struct tw_signer;
struct tw_train_flags;
struct tw_train_result;

/*
 * Put the result where --model-db and --output say. With --model-db the zip gets the
 * whole published pipeline. Without any destination it is kept in the current directory.
 * signer may be NULL. `program` begins a message.
 */
int tw_train_publish(const struct tw_train_flags *f, const char *program,
		     const struct tw_signer *signer, struct tw_train_result *r,
		     struct tw_err *err);

#endif /* TW_CLI_TRAIN_PUBLISH_H */
