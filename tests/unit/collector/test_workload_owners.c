/* SPDX-License-Identifier: Apache-2.0 */
/* The owners of processes, which get their time, energy and counts. */
#include "collector/workloads/workload_state.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "tests/unit/meters/meter_tree.h"
#include "tests/unit/collector/scripted_tasks.h"
#include "tests/unit/tw_test.h"
#include "tests/unit/collector/workload_fixture.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void a_cgroups_path_gives_the_owner_of_its_processes(void **state)
{
	struct workload_fixture *f = *state;
	const struct tw_workload *w;

	say_path(3,
		 "/kubepods.slice/kubepods-pod8f3b1c52_7e0d_4b59_9a4e_0d1c2b3a4f5e.slice/"
		 "cri-containerd-" HEX ".scope");
	say_path(4,
		 "/kubepods.slice/kubepods-pod8f3b1c52_7e0d_4b59_9a4e_0d1c2b3a4f5e.slice/"
		 "cri-containerd-" HEX ".scope/inner");
	say(ALIVE, 7, LATER + 1, 3, 100);
	say(ALIVE, 8, LATER + 1, 4, 10);
	workloads_tick(f);
	w = tw_workloads_next(f->t, TW_LEVEL_CONTAINER, NULL);
	assert_non_null(w);
	assert_null(w->next);
	assert_string_equal(w->who->id, HEX);
	assert_int_equal(w->used.cpu_ns, 110);
	assert_int_equal(w->members, 2);
	assert_ptr_equal(w->pod, tw_workloads_next(f->t, TW_LEVEL_POD, NULL));
	assert_string_equal(w->pod->who->pod_uid, "8f3b1c52-7e0d-4b59-9a4e-0d1c2b3a4f5e");
	assert_int_equal(w->pod->used.cpu_ns, 110);
	assert_int_equal(w->pod->members, 2);
}

/* Process 77 in /proc/pid, with a guest. */
static void write_kvm(const struct workload_fixture *f, const char *pid,
		      const char *command, size_t len)
{
	write_called_kvm(f, pid, command, len, 1);
}

static void a_process_is_a_vm_by_its_command_line(void **state)
{
	static const char command[] = "kvm\0-name\0web\0-uuid\0"
				      "11111111-2222-3333-4444-555555555555";
	struct workload_fixture *f = *state;
	const struct tw_workload *w;

	write_kvm(f, "77", command, sizeof(command));
	/* The same tgid but another process, of another pid namespace for example. */
	write_kvm(f, "78", command, sizeof(command));
	for (uint64_t i = 1; i <= 3; i++) {
		say(ALIVE, 77, 5 * S, 1, 100 * i);
		say(ALIVE, 78, 6 * S, 1, 100 * i);
		workloads_tick(f);
	}
	assert_int_equal(tw_workloads_count(f->t, TW_LEVEL_VM), 1);
	w = tw_workloads_next(f->t, TW_LEVEL_VM, NULL);
	assert_string_equal(w->who->id, "11111111-2222-3333-4444-555555555555");
	assert_string_equal(w->who->name, "web");
	assert_string_equal(w->who->runtime, "qemu");
	assert_int_equal(w->members, 1);
	assert_int_equal(w->used.cpu_ns, 200);
	assert_ptr_equal(workload_find(f->t, TW_LEVEL_PROCESS, 77)->owner, w);
	assert_null(workload_find(f->t, TW_LEVEL_PROCESS, 78)->owner);
}

#define VM "11111111-2222-3333-4444-555555555555"

/* Any user can call a process so, and hide a guest node from the sum of a fleet. */
static void a_name_alone_is_no_vm_until_the_kernel_proves_it(void **state)
{
	static const char command[] = "qemu-system-x86_64\0-uuid\0" VM;
	struct workload_fixture *f = *state;

	write_called_kvm(f, "77", command, sizeof(command), 0);
	say_path(3, "/docker/" HEX);
	write_called_kvm(f, "78", command, sizeof(command), 0);
	for (uint64_t i = 1; i <= 4; i++) {
		say(ALIVE, 77, 5 * S, 1, 100 * i);
		say(ALIVE, 78, 5 * S, 3, 100 * i);
		workloads_tick(f);
	}
	assert_int_equal(tw_workloads_count(f->t, TW_LEVEL_VM), 0);
	/* Its guest starts: the collector looks again. */
	write_called_kvm(f, "77", command, sizeof(command), 1);
	for (uint64_t i = 5; i <= 24; i++) {
		say(ALIVE, 77, 5 * S, 1, 100 * i);
		say(ALIVE, 78, 5 * S, 3, 100 * i);
		workloads_tick(f);
	}
	assert_int_equal(tw_workloads_count(f->t, TW_LEVEL_VM), 1);
	assert_non_null(workload_find(f->t, TW_LEVEL_PROCESS, 77)->owner);
	assert_null(workload_find(f->t, TW_LEVEL_PROCESS, 78)->vm);
}

static void descriptors_of_a_hypervisor_are_a_proof(void **state)
{
	static const char command[] = "kvm\0-m\0001024";
	struct workload_fixture *f = *state;
	char device[512], file[512];
	/* The fixture's directory is /sys, too. */
	const struct {
		const char *pid, *target;
		bool proof;
	} cases[] = {
		{ "70", "anon_inode:kvm-vm", false },
		{ "71", "anon_inode:kvm-vcpu:0", false },
		{ "72", "anon_inode:[eventfd]", false },
		{ "73", file, false },
		{ "74", device, true },
		{ "75", "/dev/null", false },
		{ "76", "/dev/kvm", false },
		{ "77", "anon_inode:kvm-vm", true },
	};

	snprintf(file, sizeof(file), "%s/kvm", f->dir);
	assert_int_equal(tw_file_replace(file, "", 0, &(struct tw_err){ 0 }), 0);
	snprintf(device, sizeof(device), "%s/vboxdrv", f->dir);
	assert_int_equal(symlink("/dev/null", device), 0);
	tree_write(f->dir, "class/misc/vboxdrv/dev", "1:3\n");
	tw_workloads_close(f->t);
	f->t = workloads_open(f->dir, 1000);
	workloads_tick(f);
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		write_called_kvm(f, cases[i].pid, command, sizeof(command), 0);
		hold(f, cases[i].pid, "9", cases[i].target);
	}
	hold(f, "77", "10", "anon_inode:kvm-vcpu:0");
	for (uint64_t k = 1; k <= 3; k++) {
		for (uint32_t tgid = 70; tgid <= 77; tgid++)
			say(ALIVE, tgid, 5 * S, 1, 100 * k);
		workloads_tick(f);
	}
	for (size_t i = 0; i < TW_COUNT(cases); i++)
		if ((workload_find(f->t, TW_LEVEL_PROCESS, 70 + i)->owner != NULL) !=
		    cases[i].proof)
			fail_msg("%s", cases[i].target);
}

/* KubeVirt: the VM has the usage of its process, and so have container and pod. */
static void a_vm_in_a_container_is_both(void **state)
{
	static const char command[] = "qemu-kvm\0-name\0guest=shop_db\0-uuid\0" VM;
	struct tw_charge charge = { 0 };
	struct workload_fixture *f = *state;
	const struct tw_workload *w, *container;
	const struct tw_slice *s;
	size_t count;

	say_path(3, "/kubepods/pod8f3b1c52-7e0d-4b59-9a4e-0d1c2b3a4f5e/" HEX);
	write_kvm(f, "77", command, sizeof(command));
	for (uint64_t i = 1; i <= 3; i++) {
		say(ALIVE, 7, LATER + 1, 3, 10 * i);
		say(ALIVE, 77, 5 * S, 3, 100 * i);
		workloads_tick(f);
	}
	charge.dynamic_uj[TW_ZONE_PACKAGE] = 1000;
	s = tw_workloads_slices(f->t, &count);
	for (size_t i = 0; i < count; i++)
		tw_workloads_charge(f->t, &s[i], &charge, &charge);
	assert_int_equal(tw_workloads_count(f->t, TW_LEVEL_VM), 1);
	w = tw_workloads_next(f->t, TW_LEVEL_VM, NULL);
	container = tw_workloads_next(f->t, TW_LEVEL_CONTAINER, NULL);
	assert_string_equal(w->who->id, VM);
	assert_int_equal(w->members, 1);
	assert_int_equal(w->used.cpu_ns, 200);
	assert_int_equal(w->charged.dynamic_uj[TW_ZONE_PACKAGE], 1000);
	assert_int_equal(container->members, 2);
	assert_int_equal(container->used.cpu_ns, 230);
	assert_int_equal(container->charged.dynamic_uj[TW_ZONE_PACKAGE], 2000);
	assert_ptr_equal(w->owner, container);
	assert_int_equal(container->pod->members, 2);
	assert_int_equal(container->pod->used.cpu_ns, 230);
	assert_int_equal(container->pod->charged.dynamic_uj[TW_ZONE_PACKAGE], 2000);
	/* It ends with its process. */
	say(ENDED, 77, 5 * S, 3, 300);
	workloads_tick(f);
	assert_int_equal(w->members, 0);
	for (int i = 0; i < 4; i++) {
		f->now_ns += KEEP_S * S;
		tw_workloads_scraped(f->t);
		say(ALIVE, 7, LATER + 1, 3, 30);
		workloads_tick(f);
	}
	assert_int_equal(tw_workloads_count(f->t, TW_LEVEL_VM), 0);
	assert_int_equal(tw_workloads_count(f->t, TW_LEVEL_POD), 1);
}

static void a_container_cannot_take_the_id_of_a_vm(void **state)
{
	static const char command[] = "kvm\0-name\0web\0-uuid\0" VM;
	struct workload_fixture *f = *state;

	write_kvm(f, "77", command, sizeof(command));
	say(ALIVE, 77, 5 * S, 1, 100);
	workloads_tick(f);
	say(ALIVE, 77, 5 * S, 1, 200);
	workloads_tick(f);
	write_kvm(f, "79", command, sizeof(command));
	say_path(3, "/docker/" HEX);
	for (uint64_t i = 1; i <= 3; i++) {
		say(ALIVE, 77, 5 * S, 1, 200);
		say(ALIVE, 79, 5 * S, 3, 1000 * i);
		workloads_tick(f);
	}
	assert_int_equal(workloads_sum(f->t, TW_LEVEL_VM), 100);
	assert_null(workload_find(f->t, TW_LEVEL_PROCESS, 79)->vm);
}

/* As in /proc: an exiting process has an empty command line. */
static void a_process_whose_cgroup_is_unreadable_stays_in_its_cgroup(void **state)
{
	static const char line[] = "0::/docker/" HEX "\n";
	struct workload_fixture *f = *state;

	write_proc(f, "9", "cgroup", line, sizeof(line) - 1);
	say(ALIVE, 9, LATER + 5, 0, 30);
	workloads_tick(f);
	write_proc(f, "9", "cgroup", "", 0);
	for (uint64_t i = 1; i <= 16; i++) {
		say(ALIVE, 9, LATER + 5, 0, 30 + i);
		workloads_tick(f);
	}
	assert_int_equal(workloads_sum(f->t, TW_LEVEL_CONTAINER), 46);
	assert_string_equal(workload_find(f->t, TW_LEVEL_PROCESS, 9)->cgroup->path,
			    "/docker/" HEX);
}

/* A scope's creation is reported before it has a process. */
static void a_vm_of_a_scope_gets_the_uuid_of_its_process_in_any_order(void **state)
{
	static const char scope[] = "/machine.slice/machine-qemu\\x2d3\\x2dweb.scope";
	static const char command[] = "kvm\0-name\0guest=web,debug-threads=on\0-uuid\0"
				      "11111111-2222-3333-4444-555555555555";
	struct workload_fixture *f = *state;
	const struct tw_workload *w;

	write_kvm(f, "77", command, sizeof(command));
	say_path(3, scope);
	say(MOVED, 77, 5 * S, 3, 100);
	tw_workloads_drain(f->t);
	for (uint64_t i = 2; i <= 4; i++) {
		say(ALIVE, 77, 5 * S, 3, 100 * i);
		workloads_tick(f);
	}
	w = workload_find(f->t, TW_LEVEL_PROCESS, 77)->owner;
	assert_non_null(w);
	assert_string_equal(w->who->id, "11111111-2222-3333-4444-555555555555");
	assert_string_equal(w->who->name, "web");
	assert_int_equal(w->members, 1);
	/* Earlier usage stays with the old id, which goes in the end. */
	assert_int_equal(workloads_sum(f->t, TW_LEVEL_VM), 300);
	f->now_ns += KEEP_S * S;
	for (int i = 0; i < 3; i++) {
		tw_workloads_scraped(f->t);
		say(ALIVE, 77, 5 * S, 3, 400);
		workloads_tick(f);
	}
	assert_int_equal(tw_workloads_count(f->t, TW_LEVEL_VM), 1);
}

/* Proxmox names a scope by number; libvirt's lacks what a host name cannot have. */
static void a_vm_of_any_hypervisors_scope_gets_uuid_and_name(void **state)
{
	static const char proxmox[] =
		"/usr/bin/kvm\0-id\000100\0-name\0web,debug-threads=on\0"
		"-smbios\0type=1,uuid=" VM;
	static const char libvirt[] = "qemu-system-x86_64\0-name\0guest=my_db\0-uuid\0"
				      "22222222-2222-3333-4444-555555555555";
	static const char nameless[] = "/usr/bin/kvm\0-id\000200\0-name\0web";
	struct workload_fixture *f = *state;
	const struct tw_workload *w;

	write_called_kvm(f, "77", proxmox, sizeof(proxmox), 0);
	write_called_kvm(f, "78", libvirt, sizeof(libvirt), 0);
	write_called_kvm(f, "79", nameless, sizeof(nameless), 0);
	say_path(3, "/qemu.slice/100.scope");
	say_path(4, "/machine.slice/machine-qemu\\x2d3\\x2dmydb.scope");
	say_path(5, "/qemu.slice/200.scope");
	for (uint64_t i = 1; i <= 3; i++) {
		say(ALIVE, 77, 5 * S, 3, 100 * i);
		say(ALIVE, 78, 5 * S, 4, 100 * i);
		say(ALIVE, 79, 5 * S, 5, 100 * i);
		workloads_tick(f);
	}
	w = workload_find(f->t, TW_LEVEL_PROCESS, 77)->owner;
	assert_string_equal(w->who->id, VM);
	assert_string_equal(w->who->name, "web");
	w = workload_find(f->t, TW_LEVEL_PROCESS, 78)->owner;
	assert_string_equal(w->who->id, "22222222-2222-3333-4444-555555555555");
	assert_string_equal(w->who->name, "my_db");
	/* A name is not an id: two VMs may have the same. */
	w = workload_find(f->t, TW_LEVEL_PROCESS, 79)->owner;
	assert_string_equal(w->who->id, "200");
}

static void energy_of_a_slice_is_added_at_each_level(void **state)
{
	struct tw_charge charge = { 0 };
	struct workload_fixture *f = *state;
	const struct tw_workload *w;
	const struct tw_slice *s;
	size_t count;

	say_path(3, "/docker/" HEX);
	say(ALIVE, 7, LATER + 1, 3, 100);
	workloads_tick(f);
	s = tw_workloads_slices(f->t, &count);
	assert_int_equal(count, 1);
	charge.dynamic_uj[TW_ZONE_PACKAGE] = 11;
	charge.idle_uj[TW_ZONE_DRAM] = 5;
	tw_workloads_charge(f->t, s, &charge, &charge);
	tw_workloads_charge(f->t, s, &charge, &charge);
	w = workload_find(f->t, TW_LEVEL_PROCESS, 7);
	assert_int_equal(w->charged.dynamic_uj[TW_ZONE_PACKAGE], 22);
	assert_int_equal(w->cgroup->charged.idle_uj[TW_ZONE_DRAM], 10);
	assert_int_equal(w->owner->charged.dynamic_uj[TW_ZONE_PACKAGE], 22);
	assert_int_equal(tw_workloads_ticked(f->t, w)->idle_uj[TW_ZONE_DRAM], 10);
	workloads_tick(f);
	assert_int_equal(tw_workloads_ticked(f->t, w)->idle_uj[TW_ZONE_DRAM], 0);
	assert_int_equal(w->charged.idle_uj[TW_ZONE_DRAM], 10);
}

static const struct tw_workload *owner(const struct workload_fixture *f,
				       enum tw_level level, const char *step)
{
	const struct tw_workload *w = NULL;

	while ((w = tw_workloads_next(f->t, level, w)) != NULL)
		if (strcmp(level == TW_LEVEL_JOB ? w->who->job : w->who->step, step) == 0)
			return w;
	fail_msg("no %s %s", tw_level_names[level], step);
	return NULL;
}

/* A container in a step counts for both. */
static void a_job_has_the_use_and_energy_of_its_steps(void **state)
{
	struct tw_charge charge = { 0 };
	struct workload_fixture *f = *state;
	const struct tw_workload *rest = tw_workloads_other(f->t, TW_LEVEL_JOB);
	const struct tw_workload *job, *step;
	const struct tw_slice *s;
	size_t count;

	say_path(3, "/slurm/uid_1000/job_12/step_0/task_0");
	say_path(4, "/slurm/uid_1000/job_12/step_1/libpod-" HEX);
	say_path(5, "/system.slice/ssh.service");
	say(ALIVE, 7, LATER + 1, 3, 100);
	say(ALIVE, 8, LATER + 1, 4, 10);
	say(ALIVE, 9, LATER + 1, 5, 1);
	workloads_tick(f);
	s = tw_workloads_slices(f->t, &count);
	assert_int_equal(count, 3);
	for (size_t i = 0; i < count; i++) {
		charge.dynamic_uj[TW_ZONE_PACKAGE] = s[i].used.cpu_ns;
		tw_workloads_charge(f->t, &s[i], &charge, &charge);
	}
	assert_int_equal(tw_workloads_count(f->t, TW_LEVEL_JOB), 1);
	assert_int_equal(tw_workloads_count(f->t, TW_LEVEL_STEP), 2);
	job = owner(f, TW_LEVEL_JOB, "12");
	step = owner(f, TW_LEVEL_STEP, "12.1");
	assert_int_equal(job->used.cpu_ns, 110);
	assert_int_equal(job->charged.dynamic_uj[TW_ZONE_PACKAGE], 110);
	assert_int_equal(step->charged.dynamic_uj[TW_ZONE_PACKAGE], 10);
	assert_ptr_equal(step->job, job);
	assert_int_equal(tw_own_cpu_ns(rest), 1);
	assert_int_equal(tw_own_uj(rest, TW_ZONE_PACKAGE, false), 1);
	assert_int_equal(workload_find(f->t, TW_LEVEL_PROCESS, 8)->owner->used.cpu_ns,
			 10);
	workloads_tick(f);
	assert_int_equal(job->members, 3 - 1);
	assert_int_equal(step->members, 1);
}

static void an_ended_job_stays_until_its_last_values_were_read(void **state)
{
	struct workload_fixture *f = *state;
	const struct tw_workload *job;

	/* The job is created and removed between two ticks. */
	say_path(3, "/slurm/uid_1000/job_12/step_batch/task_0");
	say(ENDED, 7, LATER + 1, 3, 100);
	workloads_tick(f);
	job = owner(f, TW_LEVEL_JOB, "12");
	assert_int_equal(job->used.cpu_ns, 100);
	workloads_tick(f);
	assert_true(job->ended);
	f->now_ns += KEEP_S * S;
	workloads_tick(f);
	assert_int_equal(tw_workloads_count(f->t, TW_LEVEL_JOB), 1);
	tw_workloads_scraped(f->t);
	f->now_ns += KEEP_S * S;
	for (int i = 0; i < 8; i++) {
		workloads_tick(f);
		tw_workloads_scraped(f->t);
	}
	assert_int_equal(tw_workloads_count(f->t, TW_LEVEL_STEP), 0);
	assert_int_equal(tw_workloads_count(f->t, TW_LEVEL_JOB), 0);
}

/* v2's paths have no user. */
static void a_process_gives_its_job_the_user(void **state)
{
	static const char path[] = "/system.slice/slurmstepd.scope/job_5/step_0/user/"
				   "task_0";
	static const char stat[] =
		"77 (sh) S 1 1 1 0 -1 0 1 2 3 4 1 1 7 8 20 0 1 0 500 1";
	struct workload_fixture *f = *state;
	char dir[512], user[16];

	write_proc(f, "77", "stat", stat, sizeof(stat) - 1);
	snprintf(dir, sizeof(dir), "%s/77", f->dir);
	if (geteuid() == 0)
		assert_int_equal(chown(dir, 1234, 1234), 0);
	snprintf(user, sizeof(user), "%u", geteuid() == 0 ? 1234 : geteuid());
	say_path(3, path);
	for (uint64_t i = 1; i <= 3; i++) {
		say(ALIVE, 77, 5 * S, 3, 100 * i);
		workloads_tick(f);
	}
	assert_string_equal(owner(f, TW_LEVEL_JOB, "5")->who->user, user);
	assert_string_equal(owner(f, TW_LEVEL_STEP, "5.0")->who->user, user);
}

/*
 * Counts go to the living process of a tgid, or the one that exited since the last tick.
 */
static void counts_go_to_the_process_of_their_tgid(void **state)
{
	const uint64_t more[TW_COUNTER_COUNT] = { [TW_COUNTER_CYCLES] = 1000 };
	const uint64_t none[TW_COUNTER_COUNT] = { 0 };
	struct workload_fixture *f = *state;
	const struct tw_slice *s;
	size_t count;

	say(ALIVE, 7, LATER + 1, 1, 100);
	say(ENDED, 9, LATER + 1, 1, 100);
	workloads_tick(f);
	say(ENDED, 8, LATER + 2, 1, 50);
	tw_workloads_drain(f->t);
	assert_int_equal(tw_workloads_counted(f->t, 7, more, false), TW_PROCESS_LIVING);
	assert_int_equal(tw_workloads_counted(f->t, 7, none, false), TW_PROCESS_LIVING);
	assert_int_equal(tw_workloads_counted(f->t, 8, more, false), TW_PROCESS_ENDED);
	assert_int_equal(tw_workloads_counted(f->t, 9, more, true), TW_PROCESS_UNKNOWN);
	assert_int_equal(tw_workloads_counted(f->t, 10, more, false), TW_PROCESS_UNKNOWN);
	assert_int_equal(tw_workloads_counted(f->t, 10, more, true), TW_PROCESS_UNKNOWN);
	assert_int_equal(tw_workloads_counted(f->t, 10, none, true), TW_PROCESS_UNKNOWN);
	say(ALIVE, 7, LATER + 1, 1, 100);
	workloads_tick(f);
	s = tw_workloads_slices(f->t, &count);
	assert_int_equal(count, 3);
	/* Counts of unknown and removed processes are charged, too. */
	assert_int_equal(s[2].process->tgid, 0);
	assert_int_equal(s[2].cgroup->cgroup_id, 0);
	assert_int_equal(s[2].used.counter[TW_COUNTER_CYCLES], 2000);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(s[i].used.counter[TW_COUNTER_CYCLES], 1000);
	assert_int_equal(
		workload_find(f->t, TW_LEVEL_CGROUP, 1)->used.counter[TW_COUNTER_CYCLES],
		2000);
	assert_int_equal(
		workload_find(f->t, TW_LEVEL_PROCESS, 9)->used.counter[TW_COUNTER_CYCLES],
		0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORKLOAD_TEST(a_cgroups_path_gives_the_owner_of_its_processes),
		WORKLOAD_TEST(a_process_is_a_vm_by_its_command_line),
		WORKLOAD_TEST(a_name_alone_is_no_vm_until_the_kernel_proves_it),
		WORKLOAD_TEST(descriptors_of_a_hypervisor_are_a_proof),
		WORKLOAD_TEST(a_vm_in_a_container_is_both),
		WORKLOAD_TEST(a_container_cannot_take_the_id_of_a_vm),
		WORKLOAD_TEST(a_process_whose_cgroup_is_unreadable_stays_in_its_cgroup),
		WORKLOAD_TEST(a_vm_of_a_scope_gets_the_uuid_of_its_process_in_any_order),
		WORKLOAD_TEST(a_vm_of_any_hypervisors_scope_gets_uuid_and_name),
		WORKLOAD_TEST(energy_of_a_slice_is_added_at_each_level),
		WORKLOAD_TEST(a_job_has_the_use_and_energy_of_its_steps),
		WORKLOAD_TEST(an_ended_job_stays_until_its_last_values_were_read),
		WORKLOAD_TEST(a_process_gives_its_job_the_user),
		WORKLOAD_TEST(counts_go_to_the_process_of_their_tgid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
