/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/in_use.h"

#include <malloc.h>

size_t bytes_in_use(void)
{
	const struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}
