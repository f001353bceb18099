/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/meters/meter_fixture.h"

#include "lib/core/err.h"
#include "tests/unit/meters/meter_tree.h"
#include "tests/unit/scratch.h"
#include "tests/unit/tw_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int meters_setup(void **state)
{
	struct meter_fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->dir = scratch_new();
	f->roots = (struct tw_roots){ .proc = f->dir, .sys = f->dir, .dev = f->dir };
	f->node = (struct tw_node){ .cpus = 4, .elapsed_ns = S, .used_ns = S };
	f->nvml = "/nonexistent/libnvidia-ml.so.1";
	f->amdsmi = "/nonexistent/libamd_smi.so";
	f->now_ns = 1000 * S;
	*state = f;
	return 0;
}

int meters_teardown(void **state)
{
	struct meter_fixture *f = *state;

	tw_power_close(f->power);
	scratch_free(f->dir);
	free(f);
	return 0;
}

static void note(void *arg, const char *meter, const struct tw_err *why)
{
	struct meter_fixture *f = arg;
	const size_t used = strlen(f->passed);

	(void)meter;
	snprintf(f->passed + used, sizeof(f->passed) - used, "%s\n", why->text);
}

void meters_open(struct meter_fixture *f)
{
	const struct tw_power_config c = { .meter = { .roots = &f->roots,
						      .node = &f->node,
						      .nvml = f->nvml,
						      .amdsmi = f->amdsmi },
					   .passed = note,
					   .passed_arg = f };
	struct tw_err err = { 0 };

	tw_power_close(f->power);
	f->power = NULL;
	f->passed[0] = '\0';
	if (tw_power_open(&c, &f->power, &err) < 0)
		fail_msg("%s", err.text);
}

void meters_fake(char *path, size_t size, const char *name)
{
	const ssize_t len = readlink("/proc/self/exe", path, size - 64);

	assert_true(len > 0);
	path[len] = '\0';
	snprintf(strrchr(path, '/'), 64, "/../../fake/%s", name);
	if (access(path, R_OK) != 0)
		fail_msg("no '%s': make build-tests", path);
}

void meters_tick(struct meter_fixture *f)
{
	f->now_ns += S;
	tw_power_tick(f->power, f->now_ns, S, 0.5, NULL);
}

const struct tw_power_zone *meters_zone(const struct meter_fixture *f, const char *name,
					int package)
{
	size_t count;
	const struct tw_power_zone *z = tw_power_zones(f->power, &count);

	for (size_t i = 0; i < count; i++)
		if (strcmp(z[i].zone->name, name) == 0 &&
		    (package == -2 || z[i].zone->package == package))
			return &z[i];
	return NULL;
}

size_t meters_zones(const struct meter_fixture *f)
{
	size_t count;

	tw_power_zones(f->power, &count);
	return count;
}

uint64_t zone_energy(const struct tw_power_zone *z)
{
	assert_non_null(z);
	return z->dynamic_uj + z->idle_uj;
}

uint64_t meters_ticked(const struct meter_fixture *f, enum tw_zone_kind kind)
{
	const struct tw_charge *c = tw_power_ticked(f->power);

	return c->dynamic_uj[kind] + c->idle_uj[kind];
}

void assert_untold(const struct meter_fixture *f, const char *name, const char *why)
{
	const struct tw_power_zone *z = meters_zone(f, name, -2);

	assert_non_null(z);
	assert_false(z->fresh);
	if (strstr(z->why, why) == NULL)
		fail_msg("%s: '%s' has no '%s'", name, z->why, why);
	assert_false(tw_power_complete(f->power, z->zone->kind));
}

void write_socket(const struct meter_fixture *f, int socket, unsigned long long uj)
{
	char path[64], name[64];

	snprintf(path, sizeof(path), CAP "intel-rapl:%d", socket);
	snprintf(name, sizeof(name), "package-%d", socket);
	tree_rapl(f->dir, path, name, uj, RANGE);
	snprintf(path, sizeof(path), CAP "intel-rapl:%d:0", socket);
	tree_rapl(f->dir, path, "core", uj / 2, RANGE);
	snprintf(path, sizeof(path), CAP "intel-rapl:%d:1", socket);
	tree_rapl(f->dir, path, "dram", uj / 10, 65712999613ull);
}

/* A failed assertion would go on with the tests in the child. */
bool holds_for_nobody(struct meter_fixture *f, bool (*check)(struct meter_fixture *f))
{
	int status = -1;
	pid_t child;

	assert_int_equal(chmod(f->dir, 0755), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (geteuid() == 0 && setresuid(65534, 65534, 65534) < 0)
			_exit(2);
		_exit(check(f) ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
