/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLOCK_H
#define TW_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC: stops while the machine is suspended. */
uint64_t tw_now_ms(void);
uint64_t tw_now_ns(void);

/* CLOCK_BOOTTIME: since boot, with the time that the machine was suspended. */
uint64_t tw_boot_ns(void);

#endif /* TW_CLOCK_H */
