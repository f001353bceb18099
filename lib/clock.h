/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLOCK_H
#define TW_CLOCK_H

#include <stdint.h>

/* Monotonic time. */
uint64_t tw_now_ms(void);
uint64_t tw_now_ns(void);

#endif /* TW_CLOCK_H */
