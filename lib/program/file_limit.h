/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_FILE_LIMIT_H
#define TW_FILE_LIMIT_H

#include <stdint.h>

/*
 * Raise the soft limit of open files (RLIMIT_NOFILE) to wanted, or to the hard limit if
 * that is lower; a higher soft limit stays. Returns the soft limit.
 */
uint64_t tw_file_limit_raise(uint64_t wanted);

#endif /* TW_FILE_LIMIT_H */
