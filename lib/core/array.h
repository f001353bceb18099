/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ARRAY_H
#define TW_ARRAY_H

/* Number of entries of an array. Wrong for a pointer. */
#define TW_COUNT(a) (sizeof(a) / sizeof((a)[0]))

#endif /* TW_ARRAY_H */
