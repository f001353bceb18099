/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/fenced.h"

#include "tests/unit/tw_test.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct fenced fenced_copy(const char *data, size_t len, bool at_end)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t room = (len / page + 1) * page;
	struct fenced f = { .size = room + 2 * page };

	f.memory = mmap(NULL, f.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(f.memory, MAP_FAILED);
	assert_int_equal(mprotect(f.memory + page, room, PROT_READ | PROT_WRITE), 0);
	f.data = f.memory + page + (at_end ? room - len : 0);
	memcpy(f.data, data, len);
	return f;
}

void fenced_free(struct fenced *f)
{
	munmap(f->memory, f->size);
}
