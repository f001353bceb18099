/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/program/file_limit.h"

#include <sys/resource.h>

uint64_t tw_file_limit_raise(uint64_t wanted)
{
	struct rlimit l, more;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0)
		return wanted;
	if (l.rlim_cur >= wanted || l.rlim_cur >= l.rlim_max)
		return l.rlim_cur;
	more = l;
	more.rlim_cur = l.rlim_max < wanted ? l.rlim_max : wanted;
	return setrlimit(RLIMIT_NOFILE, &more) < 0 ? l.rlim_cur : more.rlim_cur;
}
