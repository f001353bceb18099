/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLOCK_H
#define TW_CLOCK_H

#include <pthread.h>
#include <stdint.h>

/* CLOCK_MONOTONIC, in ms or ns. It stops while the machine is suspended. */
uint64_t tw_now_ms(void);
uint64_t tw_now_ns(void);

/* CLOCK_REALTIME in ms: the time since 1970. It may be set, and jump. */
int64_t tw_wall_ms(void);

/* CLOCK_BOOTTIME in ns: time since boot, including suspend. */
uint64_t tw_boot_ns(void);

/* Initialise a condition whose timed waits are by CLOCK_MONOTONIC. */
void tw_cond_init(pthread_cond_t *c);

#endif /* TW_CLOCK_H */
