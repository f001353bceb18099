/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_PUSH_TEXT_H
#define TW_COLLECTOR_PUSH_TEXT_H

struct tw_collector;

/* After a tick: start a child for each helper that waits for the metrics. */
void tw_push_tick(struct tw_collector *c);

#endif /* TW_COLLECTOR_PUSH_TEXT_H */
