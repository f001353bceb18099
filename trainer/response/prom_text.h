/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_PROM_TEXT_H
#define TW_TRAINER_PROM_TEXT_H

/*
 * Writes a response as text: what trainer/response/prom.h reads.
 */

struct tw_buf;
struct tw_prom;

/* Append the response. A failed allocation marks the buffer. */
void tw_prom_text(const struct tw_prom *p, struct tw_buf *out);

#endif /* TW_TRAINER_PROM_TEXT_H */
