/* SPDX-License-Identifier: Apache-2.0 */
/* What a user names proves nothing of others, and there is an end to it. */
#include "collector/workloads/workload_state.h"
#include "tests/unit/collector/scripted_tasks.h"
#include "tests/unit/collector/workload_fixture.h"
#include "tests/unit/meters/meter_tree.h"
#include "tests/unit/tw_test.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VM "11111111-2222-3333-4444-555555555555"
#define TENANT "/user.slice/user-1000.slice/user@1000.service"
#define POD "/kubepods.slice/kubepods-pod8f3b1c52_7e0d_4b59_9a4e_0d1c2b3a4f5e.slice"
#define BOX "cri-containerd-" HEX ".scope"

static const char command[] = "qemu-system-x86_64\0-name\0web\0-uuid\0" VM;

/* A VM with a guest, of a real and an effective user. */
static void write_vm(const struct workload_fixture *f, const char *pid, unsigned real,
		     unsigned effective)
{
	write_called_kvm(f, pid, command, sizeof(command), 1);
	hold(f, pid, "9", "anon_inode:kvm-vm");
	hold(f, pid, "10", "anon_inode:kvm-vcpu:0");
	write_user(f, pid, real, effective);
}

/* Ticks in which each process uses 100 ns. */
static void run(struct workload_fixture *f, const uint32_t *tgid, size_t count,
		uint64_t cgroup, int ticks)
{
	for (int i = 0; i < ticks; i++) {
		for (size_t k = 0; k < count; k++)
			say(ALIVE, tgid[k], 5 * S, cgroup, 100 * (f->t->tick + 1));
		workloads_tick(f);
	}
}

static const struct tw_workload *owner(const struct workload_fixture *f, uint32_t tgid)
{
	return workload_find(f->t, TW_LEVEL_PROCESS, tgid)->owner;
}

/*
 * Descriptors, arguments and time in a guest outlast an exec: so a user may run such a
 * process as root, by a program with setuid that waits for a full pipe.
 */
static void only_a_hypervisors_user_names_a_vm(void **state)
{
	static const uint32_t tgid[] = { 70, 71, 72 };
	struct workload_fixture *f = *state;

	write_vm(f, "70", 1000, 1000);
	write_vm(f, "71", 1000, 0);
	write_vm(f, "72", 0, 1000);
	run(f, tgid, 3, 1, 40);
	assert_int_equal(tw_workloads_count(f->t, TW_LEVEL_VM), 0);
	assert_null(owner(f, 70));
	write_vm(f, "73", 0, 0);
	run(f, (uint32_t[]){ 73 }, 1, 1, 3);
	assert_string_equal(owner(f, 73)->who->id, VM);
}

/* So that thousands of such processes leave looks for others. */
static void looks_without_a_proof_become_rare(void **state)
{
	struct workload_fixture *f = *state;
	const struct tw_process *p;
	uint64_t looked = 0, looks = 0;

	write_called_kvm(f, "70", command, sizeof(command), 0);
	for (int i = 0; i < 1000; i++) {
		run(f, (uint32_t[]){ 70 }, 1, 1, 1);
		p = (const struct tw_process *)workload_find(f->t, TW_LEVEL_PROCESS, 70);
		looks += p->look_at != looked;
		looked = p->look_at;
	}
	assert_in_range(looks, 5, 7);
	assert_int_equal(tw_workloads_count(f->t, TW_LEVEL_VM), 0);
}

static void the_first_with_a_proof_keeps_the_id(void **state)
{
	struct workload_fixture *f = *state;
	struct tw_workloads_stats stats;
	uint64_t used;

	write_vm(f, "70", 0, 0);
	run(f, (uint32_t[]){ 70 }, 1, 1, 3);
	used = workloads_sum(f->t, TW_LEVEL_VM);
	assert_true(used > 0);
	write_vm(f, "71", 0, 0);
	run(f, (uint32_t[]){ 70, 71 }, 2, 1, 20);
	assert_int_equal(workloads_sum(f->t, TW_LEVEL_VM), used + 20 * 100);
	assert_null(owner(f, 71));
	tw_workloads_stats(f->t, &stats);
	assert_true(stats.refused > 0);
	/* Once the first has ended, the other gets it: a VM that starts again. */
	say(ENDED, 70, 5 * S, 1, 100 * f->t->tick);
	run(f, (uint32_t[]){ 71 }, 1, 1, 64);
	assert_non_null(owner(f, 71));
	assert_string_equal(owner(f, 71)->who->id, VM);
}

/* Two scopes of one VM are one holder; a scope does not take another's uuid. */
static void a_scope_keeps_its_vm(void **state)
{
	struct workload_fixture *f = *state;

	write_vm(f, "70", 0, 0);
	write_vm(f, "71", 0, 0);
	say_path(3, "/machine.slice/machine-qemu\\x2d3\\x2dweb.scope/libvirt/emulator");
	say_path(4, "/machine.slice/machine-qemu\\x2d4\\x2dother.scope");
	for (uint64_t i = 1; i <= 3; i++) {
		say(ALIVE, 70, 5 * S, 3, 100 * i);
		say(ALIVE, 71, 5 * S, 4, 100 * i);
		workloads_tick(f);
	}
	assert_string_equal(owner(f, 70)->who->id, VM);
	assert_string_equal(owner(f, 71)->who->id, "other");
}

/* ---- cgroups ---- */

static void own_dir(const struct workload_fixture *f, const char *path, unsigned user,
		    mode_t mode)
{
	char whole[512];

	snprintf(whole, sizeof(whole), "fs/cgroup%s/cgroup.procs", path);
	tree_write(f->dir, whole, "");
	snprintf(whole, sizeof(whole), "%s/fs/cgroup%s", f->dir, path);
	assert_int_equal(chown(whole, user, user), 0);
	assert_int_equal(chmod(whole, mode), 0);
}

/* The fixture's table again, with a tree of cgroups. Skips without root. */
static void begin(struct workload_fixture *f)
{
	if (geteuid() != 0)
		skip();
	own_dir(f, "", 0, 0755);
	tree_write(f->dir, "fs/cgroup/cgroup.controllers", "cpu\n");
	own_dir(f, TENANT, 1000, 0755);
	tw_workloads_close(f->t);
	f->t = workloads_open(f->dir, 10000);
	workloads_tick(f);
}

/* Runs 100 ns in a new cgroup at that path. */
static void use(struct workload_fixture *f, uint64_t cgroup, const char *path)
{
	say_path(cgroup, path);
	say(ALIVE, (uint32_t)cgroup, LATER + 1, cgroup, 100);
	workloads_tick(f);
}

static void a_container_of_a_user_is_not_that_of_a_pod(void **state)
{
	struct workload_fixture *f = *state;
	const struct tw_workload *box;

	begin(f);
	own_dir(f, POD "/" BOX, 0, 0755);
	use(f, 10, POD "/" BOX);
	own_dir(f, TENANT POD "/" BOX, 1000, 0755);
	use(f, 11, TENANT POD "/" BOX);
	assert_int_equal(tw_workloads_count(f->t, TW_LEVEL_CONTAINER), 1);
	assert_int_equal(workloads_sum(f->t, TW_LEVEL_CONTAINER), 100);
	assert_int_equal(workloads_sum(f->t, TW_LEVEL_POD), 100);
	/* A name that a user had first is root's now. */
	own_dir(f, TENANT "/lxc.payload.web", 1000, 0755);
	use(f, 12, TENANT "/lxc.payload.web");
	own_dir(f, "/lxc.payload.web", 0, 0755);
	use(f, 13, "/lxc.payload.web");
	box = owner(f, 13);
	assert_string_equal(box->who->id, "web");
	assert_int_equal(box->used.cpu_ns, 100);
	assert_true(owner(f, 12) != box);
	assert_int_equal(strncmp(owner(f, 12)->who->id, "web~", 4), 0);
}

/* Whether a name at path is a job's. */
static bool is_job(struct workload_fixture *f, uint64_t cgroup, const char *path)
{
	const uint64_t before = workloads_sum(f->t, TW_LEVEL_JOB);

	use(f, cgroup, path);
	return workloads_sum(f->t, TW_LEVEL_JOB) > before;
}

static void a_cgroup_that_users_can_fill_names_no_job(void **state)
{
	static const char scope[] = "/system.slice/slurmstepd.scope";
	struct workload_fixture *f = *state;
	char path[512];

	begin(f);
	own_dir(f, "/system.slice/slurmstepd.scope/job_1/step_0", 0, 0755);
	assert_true(is_job(f, 10, "/system.slice/slurmstepd.scope/job_1/step_0"));
	/* Its name is root's, but what a user makes in it is not. */
	own_dir(f, "/system.slice/slurmstepd.scope/job_2", 1000, 0755);
	assert_true(is_job(f, 11, "/system.slice/slurmstepd.scope/job_2"));
	/* A scope that a user owns, fills with processes, or with directories. */
	own_dir(f, "/a.slice/slurmstepd.scope/job_3", 0, 0755);
	own_dir(f, "/a.slice/slurmstepd.scope", 1000, 0755);
	assert_false(is_job(f, 12, "/a.slice/slurmstepd.scope/job_3"));
	own_dir(f, "/b.slice/slurmstepd.scope/job_4", 0, 0755);
	own_dir(f, "/b.slice/slurmstepd.scope", 0, 0755);
	snprintf(path, sizeof(path), "%s/fs/cgroup/b.slice/slurmstepd.scope/cgroup.procs",
		 f->dir);
	assert_int_equal(chown(path, 1000, 1000), 0);
	assert_false(is_job(f, 13, "/b.slice/slurmstepd.scope/job_4"));
	own_dir(f, "/c.slice/slurmstepd.scope/job_5", 0, 0755);
	own_dir(f, "/c.slice/slurmstepd.scope", 0, 0777);
	assert_false(is_job(f, 14, "/c.slice/slurmstepd.scope/job_5"));
	/* Removed before a look: a user may have made it. */
	snprintf(path, sizeof(path), "%s/x/job_6/step_0", TENANT);
	assert_false(is_job(f, 15, "/user.slice/user-9.slice/slurm.scope/job_6"));
	assert_false(is_job(f, 16, path));
	own_dir(f, "/d.slice", 0, 0755);
	assert_false(is_job(f, 18, "/d.slice/slurmstepd.scope/job_6"));
	/* But the removed name itself was root's. */
	snprintf(path, sizeof(path), "%s/job_7/step_0/user", scope);
	assert_true(is_job(f, 17, path));
}

static void names_of_users_are_limited(void **state)
{
	enum { USERS = 6, TRIES = 300, FIRST = 1000 };
	static char path[TRIES][256];
	struct workload_fixture *f = *state;
	struct tw_workloads_stats stats;
	uint64_t cgroup = 10;

	begin(f);
	for (unsigned user = 0; user < USERS; user++) {
		snprintf(path[0], sizeof(path[0]), "/user.slice/user-%u.slice",
			 FIRST + user);
		own_dir(f, path[0], FIRST + user, 0755);
		for (unsigned i = 0; i < TRIES; i++, cgroup++) {
			snprintf(path[i], sizeof(path[i]),
				 "/user.slice/user-%u.slice/libpod-%032x%032x.scope",
				 FIRST + user, user, i);
			say_path(cgroup, path[i]);
			say(ALIVE, (uint32_t)cgroup, LATER + 1, cgroup, 100);
		}
		workloads_tick(f);
		if (user == 0)
			assert_int_equal(tw_workloads_count(f->t, TW_LEVEL_CONTAINER),
					 TW_NAMES_OF_USER);
	}
	assert_int_equal(tw_workloads_count(f->t, TW_LEVEL_CONTAINER), TW_NAMES_OF_USERS);
	tw_workloads_stats(f->t, &stats);
	assert_int_equal(stats.refused, USERS * TRIES - TW_NAMES_OF_USERS);
	/* Nothing is lost: what has no name is in its cgroup. */
	assert_int_equal(workloads_sum(f->t, TW_LEVEL_CGROUP), USERS * TRIES * 100);
	/* Root's names have no limit. */
	own_dir(f, POD "/" BOX, 0, 0755);
	use(f, cgroup, POD "/" BOX);
	assert_int_equal(workloads_sum(f->t, TW_LEVEL_POD), 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORKLOAD_TEST(only_a_hypervisors_user_names_a_vm),
		WORKLOAD_TEST(looks_without_a_proof_become_rare),
		WORKLOAD_TEST(the_first_with_a_proof_keeps_the_id),
		WORKLOAD_TEST(a_scope_keeps_its_vm),
		WORKLOAD_TEST(a_container_of_a_user_is_not_that_of_a_pod),
		WORKLOAD_TEST(a_cgroup_that_users_can_fill_names_no_job),
		WORKLOAD_TEST(names_of_users_are_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
