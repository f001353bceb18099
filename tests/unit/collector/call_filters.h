/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_CALL_FILTERS_H
#define TW_TEST_CALL_FILTERS_H

/*
 * A test of filters of system calls skips loudly where there are none, as in qemu-user;
 * or fails if TW_REQUIRE has "filters".
 */
void need_call_filters(const char *test);

#endif /* TW_TEST_CALL_FILTERS_H */
