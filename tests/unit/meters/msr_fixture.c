/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/meters/msr_fixture.h"

#include "tests/unit/meters/meter_tree.h"
#include "tests/unit/tw_test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCRIPTED_MAX 16

static struct scripted {
	unsigned cpu;
	uint32_t at;
	uint64_t value;
	int errnum;
} scripted[SCRIPTED_MAX];

void msr_unscript(void)
{
	memset(scripted, 0, sizeof(scripted));
}

int msr_setup(void **state)
{
	msr_unscript();
	return meters_setup(state);
}

void msr_script(unsigned cpu, uint32_t at, uint64_t value, int errnum)
{
	size_t i = 0;

	while (i < SCRIPTED_MAX && scripted[i].at != 0 &&
	       (scripted[i].cpu != cpu || scripted[i].at != at))
		i++;
	assert_true(i < SCRIPTED_MAX);
	scripted[i] = (struct scripted){ cpu, at, value, errnum };
}

ssize_t msr_pread(int fd, void *buf, size_t len, off_t at,
		  ssize_t (*real)(int fd, void *buf, size_t len, off_t at))
{
	char link[64], path[1024] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (readlink(link, path, sizeof(path) - 1) < 0)
		return -1;
	for (size_t i = 0; i < SCRIPTED_MAX; i++) {
		char end[32];
		const struct scripted *r = &scripted[i];

		snprintf(end, sizeof(end), "/cpu/%u/msr", r->cpu);
		if (r->at != (uint32_t)at || strstr(path, end) == NULL)
			continue;
		if (r->errnum != 0) {
			errno = r->errnum;
			return -1;
		}
		memcpy(buf, &r->value, len);
		return (ssize_t)len;
	}
	return real(fd, buf, len, at);
}

void msr_model(const struct meter_fixture *f, const char *vendor, int family, int model)
{
	char text[128];

	snprintf(text, sizeof(text),
		 "processor : 0\nvendor_id : %s\ncpu family : %d\nmodel : %d\n", vendor,
		 family, model);
	tree_write(f->dir, "cpuinfo", text);
}

void msr_cpu(const struct meter_fixture *f, unsigned cpu, int package, int die, int core)
{
	static const char *const files[] = { "physical_package_id", "die_id", "core_id" };
	const int values[] = { package, die, core };

	for (int i = 0; i < 3; i++) {
		char path[128], text[16];

		snprintf(path, sizeof(path), "devices/system/cpu/cpu%u/topology/%s", cpu,
			 files[i]);
		snprintf(text, sizeof(text), "%d\n", values[i]);
		tree_write(f->dir, path, text);
	}
}

void msr_register(const struct meter_fixture *f, unsigned cpu, uint32_t at,
		  uint64_t value)
{
	char path[1024];
	int fd;

	snprintf(path, sizeof(path), "%s/cpu", f->dir);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/cpu/%u", f->dir, cpu);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/cpu/%u/msr", f->dir, cpu);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, &value, sizeof(value), (off_t)at), sizeof(value));
	close(fd);
}

void msr_client(const struct meter_fixture *f, unsigned cpu, uint64_t count)
{
	msr_register(f, cpu, 0x606, MSR_UNIT);
	msr_register(f, cpu, 0x611, count);
	msr_register(f, cpu, 0x639, count / 2);
	msr_register(f, cpu, 0x641, count / 4);
	msr_register(f, cpu, 0x619, count / 8);
	msr_register(f, cpu, 0x64d, count * 2);
}
