/* SPDX-License-Identifier: Apache-2.0 */
/* The proofs of a virtual machine, by this kernel's own KVM. */
#include "collector/system/hypervisor.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "tests/unit/scratch.h"
#include "tests/unit/tw_test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static void a_machine_of_kvm_is_a_proof_once_it_has_a_processor(void **state)
{
	const int self = open("/proc/self", O_RDONLY | O_DIRECTORY),
		  misc = tw_hypervisor_devices("/sys"), kvm = open("/dev/kvm", O_RDWR);
	int vm, vcpu;

	(void)state;
	assert_true(self >= 0);
	assert_false(tw_hypervisor_is(self, misc));
	vm = kvm >= 0 ? ioctl(kvm, KVM_CREATE_VM, 0) : -1;
	if (vm < 0) {
		print_message("SKIPPED: no KVM here\n");
		skip();
	}
	assert_false(tw_hypervisor_is(self, misc));
	vcpu = ioctl(vm, KVM_CREATE_VCPU, 0);
	assert_true(vcpu >= 0);
	assert_true(tw_hypervisor_is(self, misc));
	close(vm);
	assert_false(tw_hypervisor_is(self, misc));
	close(vcpu);
	close(kvm);
	close(misc);
	close(self);
}

static void a_user_is_the_real_one(void **state)
{
	const int self = open("/proc/self", O_RDONLY | O_DIRECTORY);
	uint32_t user = UINT32_MAX;

	(void)state;
	assert_true(tw_hypervisor_user(self, &user));
	assert_int_equal(user, getuid());
	close(self);
	assert_false(tw_hypervisor_user(-1, &user));
}

static void users_have_names_or_numbers(void **state)
{
	struct tw_hypervisor_users users;
	struct tw_err err = { 0 };
	struct tw_strs names = { 0 };

	(void)state;
	assert_int_equal(tw_hypervisor_users_read(&names, &users, &err), 0);
	assert_true(tw_hypervisor_users_have(&users, 0));
	assert_false(tw_hypervisor_users_have(&users, 1000));
	assert_int_equal(tw_strs_split(&names, "1000,root", &err), 0);
	assert_int_equal(tw_hypervisor_users_read(&names, &users, &err), 0);
	assert_int_equal(users.count, 2);
	assert_true(tw_hypervisor_users_have(&users, 1000));
	assert_int_equal(tw_strs_split(&names, "no-such-user", &err), 0);
	assert_int_equal(tw_hypervisor_users_read(&names, &users, &err), -1);
	assert_string_equal(err.text, "user 'no-such-user' is not known");
	tw_strs_clear(&names);
	assert_int_equal(
		tw_strs_split(&names, "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16", &err),
		0);
	assert_int_equal(tw_hypervisor_users_read(&names, &users, &err), -1);
	tw_strs_clear(&names);
}

static void trees_are_for_the_group_of_the_hypervisor(void **state)
{
	const struct tw_hypervisor_users root = { .at = { 0 }, .count = 1 },
					 two = { .at = { 0, 54321 }, .count = 2 };
	struct tw_err err = { 0 };
	char *dir = scratch_new(), *link = scratch_path(dir, "link"),
	     *slash = scratch_path(link, "");
	struct stat st;

	(void)state;
	assert_int_equal(chmod(dir, 0755) + symlink(dir, link), 0);
	assert_int_equal(tw_hypervisor_users_share(&two, slash, &err),
			 geteuid() == 0 ? -1 : 0);
	tw_err_clear(&err);
	assert_int_equal(tw_hypervisor_users_share(&root, dir, &err), 0);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	assert_int_equal(tw_hypervisor_users_share(&two, dir, &err), 0);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, geteuid() == 0 ? 02750 : 0755);
	assert_int_equal(st.st_gid, geteuid() == 0 ? 54321 : getegid());
	free(link);
	free(slash);
	scratch_free(dir);
	if (geteuid() == 0)
		assert_int_equal(tw_hypervisor_users_share(&two, "/no/such", &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_machine_of_kvm_is_a_proof_once_it_has_a_processor),
		cmocka_unit_test(a_user_is_the_real_one),
		cmocka_unit_test(users_have_names_or_numbers),
		cmocka_unit_test(trees_are_for_the_group_of_the_hypervisor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
