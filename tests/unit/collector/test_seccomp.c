/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/system/seccomp.h"

#include "collector/system/privilege.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "tests/unit/collector/call_filters.h"
#include "tests/unit/scratch.h"
#include "tests/unit/tw_test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define REFUSE SCMP_ACT_ERRNO(EPERM)
#define KILLED (-1)
#define FAILED 255

/* Calls that a child needs to report its result. */
static const char basic[] = "exit_group exit close munmap brk mmap";

static int errno_of(long rc)
{
	return rc < 0 ? errno : 0;
}

/*
 * End the child without the leak check of a sanitizer, which the filter would end.
 * Inline: before a call that does not return, AddressSanitizer makes calls of its own.
 */
__attribute__((always_inline)) static inline _Noreturn void leave(int status)
{
	syscall(SYS_exit_group, status);
	__builtin_unreachable();
}

/* In a child, ThreadSanitizer has a thread of its own, which the filter would end. */
static void need_one_thread(void)
{
#ifdef __SANITIZE_THREAD__
	printf("SKIPPED: test_seccomp: a child has a thread of ThreadSanitizer\n");
	skip();
#endif
}

/* Add rules, install the filter and call act() in a child: its errno, or KILLED. */
static int run(void rules(struct tw_seccomp *s), int act(void))
{
	pid_t pid;
	int status;

	need_call_filters("test_seccomp");
	need_one_thread();
	pid = fork();
	if (pid == 0) {
		struct tw_err err = { 0 };
		struct tw_seccomp s;

		prctl(PR_SET_DUMPABLE, 0);
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		tw_seccomp_begin(&s, REFUSE);
		tw_seccomp_list(&s, basic, SCMP_ACT_ALLOW);
		rules(&s);
		if (tw_seccomp_install(&s, &err) < 0)
			leave(FAILED);
		leave(act());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status)) {
		assert_int_equal(WTERMSIG(status), SIGSYS);
		return KILLED;
	}
	return WEXITSTATUS(status);
}

static int call_getppid(void)
{
	/* getppid() does not set errno. */
	return errno_of(syscall(SYS_getppid));
}

static int open_unix_socket(void)
{
	return errno_of(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int open_inet_socket(void)
{
	return errno_of(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int open_packet_socket(void)
{
	return errno_of(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
}

static int open_for_reading(void)
{
	return errno_of(openat(AT_FDCWD, "/dev/null", O_RDONLY | O_CLOEXEC));
}

static int open_for_writing(void)
{
	return errno_of(openat(AT_FDCWD, "/dev/null", O_WRONLY | O_CLOEXEC));
}

static int open_for_both(void)
{
	return errno_of(openat(AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC));
}

/* Call socket() with a family, as a number of 64 bits. */
static uint64_t family;

static int open_family(void)
{
	return errno_of(syscall(SYS_socket, family, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static void no_rules(struct tw_seccomp *s)
{
	(void)s;
}

static void allow_then_kill_getppid(struct tw_seccomp *s)
{
	tw_seccomp_list(s, "getppid", SCMP_ACT_ALLOW);
	tw_seccomp_list(s, "getppid", tw_seccomp_kill());
}

static void kill_then_allow_getppid(struct tw_seccomp *s)
{
	tw_seccomp_list(s, "getppid", tw_seccomp_kill());
	tw_seccomp_list(s, "getppid", SCMP_ACT_ALLOW);
}

static const uint64_t families[] = { AF_UNIX, AF_INET6 };

static void kill_then_allow_families(struct tw_seccomp *s)
{
	tw_seccomp_values(s, SCMP_SYS(socket), 0, families, TW_COUNT(families),
			  tw_seccomp_kill());
	tw_seccomp_list(s, "socket", SCMP_ACT_ALLOW);
}

static void allow_then_kill_families(struct tw_seccomp *s)
{
	tw_seccomp_list(s, "socket", SCMP_ACT_ALLOW);
	tw_seccomp_values(s, SCMP_SYS(socket), 0, families, TW_COUNT(families),
			  tw_seccomp_kill());
}

static void kill_all_but_unspec(struct tw_seccomp *s)
{
	static const uint64_t unspec = AF_UNSPEC;

	tw_seccomp_values(s, SCMP_SYS(socket), 0, &unspec, 1, tw_seccomp_kill());
}

static void kill_every_family(struct tw_seccomp *s)
{
	tw_seccomp_values(s, SCMP_SYS(socket), 0, NULL, 0, tw_seccomp_kill());
}

static void refuse_other_families(struct tw_seccomp *s)
{
	tw_seccomp_values(s, SCMP_SYS(socket), 0, families, TW_COUNT(families), REFUSE);
}

static void kill_other_families(struct tw_seccomp *s)
{
	tw_seccomp_values(s, SCMP_SYS(socket), 0, families, TW_COUNT(families),
			  tw_seccomp_kill());
}

static void kill_writers(struct tw_seccomp *s)
{
	tw_seccomp_mask(s, SCMP_SYS(openat), 2, O_WRONLY | O_RDWR, 0, SCMP_ACT_ALLOW,
			tw_seccomp_kill());
}

static void refuse_only_both(struct tw_seccomp *s)
{
	/* No open() has both bits, so everything is allowed. */
	tw_seccomp_mask(s, SCMP_SYS(openat), 2, O_WRONLY | O_RDWR, O_WRONLY | O_RDWR,
			REFUSE, SCMP_ACT_ALLOW);
}

/* Names of calls that this architecture may lack. */
static void name_foreign_calls(struct tw_seccomp *s)
{
	tw_seccomp_list(s, "socketcall _newselect open arch_prctl getppid",
			SCMP_ACT_ALLOW);
}

static void misspell_two_calls(struct tw_seccomp *s)
{
	tw_seccomp_list(s, "getppid getpipd getpidp", SCMP_ACT_ALLOW);
}

static void misspell_by_a_letter(struct tw_seccomp *s)
{
	tw_seccomp_list(s, "x", SCMP_ACT_ALLOW);
}

/* A system call has six arguments. */
static void name_a_seventh_argument(struct tw_seccomp *s)
{
	tw_seccomp_values(s, SCMP_SYS(socket), 6, families, 1, REFUSE);
	tw_seccomp_list(s, "getpipd", SCMP_ACT_ALLOW);
}

/* Of REFUSE, which calls without a rule have anyway, libseccomp gets no rule. */
static void name_call(struct tw_seccomp *s, int call)
{
	tw_seccomp_values(s, call, 0, NULL, 0, REFUSE);
}

static void name_all_calls_that_there_is_room_for(struct tw_seccomp *s)
{
	for (int i = 0; s->count < TW_SECCOMP_CALLS_MAX; i++)
		name_call(s, i);
	tw_seccomp_list(s, basic, SCMP_ACT_ALLOW);
}

static void name_too_many_calls(struct tw_seccomp *s)
{
	for (int i = 0; i <= TW_SECCOMP_CALLS_MAX; i++)
		name_call(s, i);
}

static void the_first_failure_is_reported(void **state)
{
#define CANNOT "cannot filter system calls: "
	static const struct {
		void (*rules)(struct tw_seccomp *s);
		uint32_t otherwise;
		const char *why;
	} cases[] = {
		{ misspell_two_calls, REFUSE, CANNOT "libseccomp knows no 'getpipd'" },
		{ misspell_by_a_letter, REFUSE, CANNOT "libseccomp knows no 'x'" },
		{ name_a_seventh_argument, REFUSE, CANNOT "Invalid argument" },
		{ name_too_many_calls, REFUSE, CANNOT "Argument list too long" },
		/* Without memory, or of no action, there is no filter to add rules to. */
		{ misspell_two_calls, 1, CANNOT "Cannot allocate memory" },
		{ name_too_many_calls, 1, CANNOT "Cannot allocate memory" },
		{ refuse_other_families, 1, CANNOT "Cannot allocate memory" },
	};

	(void)state;
	need_call_filters("test_seccomp");
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_err err = { 0 };
		struct tw_seccomp s;

		tw_seccomp_begin(&s, cases[i].otherwise);
		cases[i].rules(&s);
		assert_int_equal(tw_seccomp_install(&s, &err), -1);
		assert_string_equal(err.text, cases[i].why);
	}
}

static void a_filter_names_many_calls(void **state)
{
	(void)state;
	assert_int_equal(run(name_all_calls_that_there_is_room_for, call_getppid), EPERM);
}

static void a_call_without_a_rule_is_refused(void **state)
{
	(void)state;
	assert_int_equal(run(no_rules, call_getppid), EPERM);
}

static void the_first_rule_for_a_call_decides(void **state)
{
	(void)state;
	assert_int_equal(run(allow_then_kill_getppid, call_getppid), 0);
	assert_int_equal(run(kill_then_allow_getppid, call_getppid), KILLED);
	assert_int_equal(run(allow_then_kill_families, open_inet_socket), 0);
	assert_int_equal(run(kill_then_allow_families, open_unix_socket), 0);
	assert_int_equal(run(kill_then_allow_families, open_inet_socket), KILLED);
}

static void a_kernel_that_cannot_kill_a_process_kills_the_thread(void **state)
{
	const unsigned level = seccomp_api_get();

	(void)state;
	assert_int_equal(seccomp_api_set(2), 0);
	assert_int_equal(tw_seccomp_kill(), SCMP_ACT_KILL_THREAD);
	assert_int_equal(seccomp_api_set(3), 0);
	assert_int_equal(tw_seccomp_kill(), SCMP_ACT_KILL_PROCESS);
	assert_int_equal(seccomp_api_set(level), 0);
}

/* Without no_new_privs a filter wants CAP_SYS_ADMIN. */
static void no_new_privs_is_set_by_the_caller(void **state)
{
	pid_t pid;
	int status;

	(void)state;
	need_call_filters("test_seccomp");
	pid = fork();
	if (pid == 0) {
		struct tw_err err = { 0 };
		struct tw_seccomp s;
		int rc;

		tw_seccomp_begin(&s, REFUSE);
		tw_seccomp_list(&s, basic, SCMP_ACT_ALLOW);
		tw_seccomp_list(&s, "prctl", SCMP_ACT_ALLOW);
		rc = tw_seccomp_install(&s, &err);
		leave(rc == 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* A thread that was there before the filter. */
static atomic_int errno_of_thread = -1;
static atomic_bool started, filtered;

static void *wait_for_filter(void *arg)
{
	started = true;
	while (!filtered)
		;
	errno_of_thread = call_getppid();
	return arg;
}

static void start_a_thread(struct tw_seccomp *s)
{
	pthread_t thread;

	(void)s;
	if (pthread_create(&thread, NULL, wait_for_filter, NULL) != 0)
		leave(FAILED);
	while (!started)
		;
}

static int call_getppid_in_thread(void)
{
	filtered = true;
	while (errno_of_thread < 0)
		;
	return errno_of_thread;
}

static void all_threads_are_filtered(void **state)
{
	(void)state;
	assert_int_equal(run(start_a_thread, call_getppid_in_thread), EPERM);
}

#if defined(__x86_64__)
/* getppid() by the number and the gate of 32-bit programs. */
static int call_getppid_of_i386(void)
{
	long rc = 64;

	__asm__ volatile("int $0x80" : "+a"(rc) : : "memory", "r8", "r9", "r10", "r11");
	return rc < 0 ? (int)-rc : 0;
}

static bool runs_i386_calls(void)
{
	const pid_t pid = fork();
	int status;

	if (pid == 0)
		leave(call_getppid_of_i386());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
#endif

static void calls_of_another_architecture_are_refused(void **state)
{
	(void)state;
#if defined(__x86_64__)
	if (runs_i386_calls()) {
		assert_int_equal(run(no_rules, call_getppid_of_i386), EPERM);
		return;
	}
#endif
	printf("SKIPPED: test_seccomp: no calls of another architecture\n");
	skip();
}

static void calls_of_other_architectures_are_ignored(void **state)
{
	(void)state;
	assert_int_equal(run(name_foreign_calls, call_getppid), 0);
}

static void an_argument_must_be_one_of_the_values(void **state)
{
	(void)state;
	assert_int_equal(run(refuse_other_families, open_unix_socket), 0);
	assert_int_equal(run(refuse_other_families, open_inet_socket), EPERM);
	assert_int_equal(run(refuse_other_families, open_packet_socket), EPERM);
	assert_int_equal(run(kill_other_families, open_unix_socket), 0);
	assert_int_equal(run(kill_other_families, open_inet_socket), KILLED);
	assert_int_equal(run(kill_other_families, open_packet_socket), KILLED);
}

/* No number slips through: neither below the values, between, above, nor of 64 bits. */
static void every_other_number_has_the_other_action(void **state)
{
	static const uint64_t number[] = {
		0, 1, 2, 9, 10, 11, 41, UINT64_C(1) << 32 | 1
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(number); i++) {
		family = number[i];
		if (family != AF_UNIX && family != AF_INET6)
			assert_int_equal(run(kill_other_families, open_family), KILLED);
		if (family != AF_UNSPEC)
			assert_int_equal(run(kill_all_but_unspec, open_family), KILLED);
		assert_int_equal(run(kill_every_family, open_family), KILLED);
	}
	family = AF_UNIX;
	assert_int_equal(run(kill_other_families, open_family), 0);
	family = AF_UNSPEC;
	assert_int_equal(run(kill_all_but_unspec, open_family), EAFNOSUPPORT);
}

static void masked_bits_must_have_the_value(void **state)
{
	(void)state;
	assert_int_equal(run(kill_writers, open_for_reading), 0);
	assert_int_equal(run(kill_writers, open_for_writing), KILLED);
	assert_int_equal(run(kill_writers, open_for_both), KILLED);
	assert_int_equal(run(refuse_only_both, open_for_writing), 0);
	assert_int_equal(run(refuse_only_both, open_for_both), 0);
}

/* The collector's own filter: 0, or the errno of act(). */
static int run_as_collector(bool may_write, int act(void))
{
	const struct tw_privilege p = { .keep = UINT64_MAX,
					.filter = true,
					.may_write = may_write };
	const pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct tw_err err = { 0 };

		if (tw_privilege_drop(&p, &err) < 0)
			leave(FAILED);
		leave(act());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int start_a_program(void)
{
	static char name[] = "true";
	char *const args[] = { name, NULL };

	return errno_of(execve("/bin/true", args, args));
}

static void a_collector_reads_and_writes_its_own_paths_only(void **state)
{
	(void)state;
	need_call_filters("test_seccomp");
	assert_int_equal(run_as_collector(false, open_for_reading), 0);
	assert_int_equal(run_as_collector(false, open_for_writing), EPERM);
	assert_int_equal(run_as_collector(true, open_for_writing), 0);
	assert_int_equal(run_as_collector(true, start_a_program), EPERM);
}

/* Whoever may write beside it could put a link there. */
static void a_directory_is_given_and_no_place_that_a_link_leads_to(void **state)
{
	static const char *const ends[] = { "", "/", ".", ".//./" };
	const bool root = geteuid() == 0;
	char *dir = scratch_path(*state, "own"), *link = scratch_path(*state, "link"),
	     *elsewhere = scratch_path(*state, "elsewhere"),
	     *slash = scratch_path(dir, "");
	const struct passwd *nobody = getpwnam("nobody");
	struct tw_err err = { 0 };
	struct stat st;

	assert_int_equal(tw_give_directory(NULL, "nobody", &err), 0);
	assert_int_equal(tw_give_directory(dir, NULL, &err), 0);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_uid, geteuid());
	assert_int_equal(tw_give_directory(dir, "no-such-user", &err), root ? -1 : 0);
	assert_int_equal(mkdir(elsewhere, 0700) + symlink(elsewhere, link), 0);
	tw_err_clear(&err);
	assert_int_equal(tw_give_directory(link, "nobody", &err), root ? -1 : 0);
	for (size_t i = 0; i < TW_COUNT(ends); i++) {
		char *to = scratch_path(link, ends[i]);

		tw_err_clear(&err);
		assert_int_equal(tw_give_directory(to, "nobody", &err), root ? -1 : 0);
		free(to);
	}
	assert_int_equal(stat(elsewhere, &st), 0);
	assert_int_equal(st.st_uid, geteuid());
	tw_err_clear(&err);
	assert_int_equal(tw_give_directory(slash, "nobody", &err), 0);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_uid, root ? nobody->pw_uid : geteuid());
	assert_int_equal(st.st_gid, root ? nobody->pw_gid : getegid());
	free(dir);
	free(link);
	free(elsewhere);
	free(slash);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_failure_is_reported),
		cmocka_unit_test(a_filter_names_many_calls),
		cmocka_unit_test(a_call_without_a_rule_is_refused),
		cmocka_unit_test(the_first_rule_for_a_call_decides),
		cmocka_unit_test(a_kernel_that_cannot_kill_a_process_kills_the_thread),
		cmocka_unit_test(no_new_privs_is_set_by_the_caller),
		cmocka_unit_test(all_threads_are_filtered),
		cmocka_unit_test(calls_of_another_architecture_are_refused),
		cmocka_unit_test(calls_of_other_architectures_are_ignored),
		cmocka_unit_test(an_argument_must_be_one_of_the_values),
		cmocka_unit_test(every_other_number_has_the_other_action),
		cmocka_unit_test(masked_bits_must_have_the_value),
		cmocka_unit_test(a_collector_reads_and_writes_its_own_paths_only),
		cmocka_unit_test_setup_teardown(
			a_directory_is_given_and_no_place_that_a_link_leads_to,
			scratch_set_up, scratch_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
