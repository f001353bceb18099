/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/system/seccomp.h"

#include "lib/core/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The API level of libseccomp at which the kernel has SCMP_ACT_KILL_PROCESS. */
#define API_KILL_PROCESS 3

uint32_t tw_seccomp_kill(void)
{
	return seccomp_api_get() >= API_KILL_PROCESS ? SCMP_ACT_KILL_PROCESS
						     : SCMP_ACT_KILL_THREAD;
}

/* Keep the first failure. rc: 0, or a negative errno. */
static void note(struct tw_seccomp *s, int rc)
{
	if (s->errnum == 0)
		s->errnum = -rc;
}

void tw_seccomp_begin(struct tw_seccomp *s, uint32_t otherwise)
{
	*s = (struct tw_seccomp){ .context = seccomp_init(otherwise),
				  .otherwise = otherwise };
	if (s->context == NULL) {
		s->errnum = ENOMEM;
		return;
	}
	note(s, seccomp_attr_set(s->context, SCMP_FLTATR_ACT_BADARCH, otherwise));
	note(s, seccomp_attr_set(s->context, SCMP_FLTATR_CTL_NNP, 0));
	note(s, seccomp_attr_set(s->context, SCMP_FLTATR_CTL_TSYNC, 1));
}

/* False if an earlier rule names the call, or after a failure. */
static bool claim(struct tw_seccomp *s, int call)
{
	if (s->errnum != 0)
		return false;
	for (size_t i = 0; i < s->count; i++)
		if (s->named[i] == call)
			return false;
	if (s->count == TW_SECCOMP_CALLS_MAX) {
		s->errnum = E2BIG;
		return false;
	}
	s->named[s->count++] = call;
	return true;
}

/*
 * libseccomp rejects rules with the action that a call without a rule has. Where sockets
 * are calls of socketcall() too (powerpc, s390), a filter cannot read their arguments:
 * the first rule stands for all, and libseccomp rejects the others (EEXIST).
 */
static void add(struct tw_seccomp *s, uint32_t action, int call, unsigned count,
		struct scmp_arg_cmp compare)
{
	int rc;

	if (action == s->otherwise)
		return;
	rc = seccomp_rule_add_array(s->context, action, call, count, &compare);
	if (rc != -EEXIST)
		note(s, rc);
}

void tw_seccomp_list(struct tw_seccomp *s, const char *calls, uint32_t action)
{
	for (size_t len; *calls != '\0'; calls += len + (calls[len] == ' ')) {
		char name[TW_SECCOMP_NAME];
		int call;

		len = strcspn(calls, " ");
		snprintf(name, sizeof(name), "%.*s", (int)len, calls);
		call = seccomp_syscall_resolve_name(name);
		if (call == __NR_SCMP_ERROR && s->errnum == 0) {
			s->errnum = EINVAL;
			memcpy(s->unknown, name, sizeof(name));
		} else if (claim(s, call)) {
			add(s, action, call, 0, (struct scmp_arg_cmp){ 0 });
		}
	}
}

static bool is_among(uint64_t value, const uint64_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (values[i] == value)
			return true;
	return false;
}

static struct scmp_arg_cmp compare(unsigned argument, enum scmp_compare op,
				   uint64_t value)
{
	return (struct scmp_arg_cmp){ .arg = argument, .op = op, .datum_a = value };
}

/*
 * A rule compares an argument once, so "none of the values" is a rule for each number
 * up to the largest, and one for all above.
 */
void tw_seccomp_values(struct tw_seccomp *s, int call, unsigned argument,
		       const uint64_t *values, size_t count, uint32_t otherwise)
{
	uint64_t largest = 0;

	if (!claim(s, call))
		return;
	for (size_t i = 0; i < count; i++) {
		add(s, SCMP_ACT_ALLOW, call, 1,
		    compare(argument, SCMP_CMP_EQ, values[i]));
		if (values[i] > largest)
			largest = values[i];
	}
	if (otherwise == s->otherwise)
		return;
	for (uint64_t v = 0; v <= largest; v++)
		if (!is_among(v, values, count))
			add(s, otherwise, call, 1, compare(argument, SCMP_CMP_EQ, v));
	add(s, otherwise, call, 1, compare(argument, SCMP_CMP_GT, largest));
}

/* seccomp has no comparison "masked, not equal": add a rule for each bit that differs. */
void tw_seccomp_mask(struct tw_seccomp *s, int call, unsigned argument, uint64_t mask,
		     uint64_t value, uint32_t matched, uint32_t otherwise)
{
	if (!claim(s, call))
		return;
	add(s, matched, call, 1, SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, mask, value));
	for (int i = 0; i < 64; i++) {
		const uint64_t bit = mask & UINT64_C(1) << i;

		if (bit != 0)
			add(s, otherwise, call, 1,
			    SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, bit, bit & ~value));
	}
}

int tw_seccomp_install(struct tw_seccomp *s, struct tw_err *err)
{
	if (s->errnum == 0)
		note(s, seccomp_load(s->context));
	seccomp_release(s->context);
	if (s->unknown[0] != '\0')
		return tw_fail(err, TW_UNSUPPORTED,
			       "cannot filter system calls: libseccomp knows no '%s'",
			       s->unknown);
	if (s->errnum != 0)
		return tw_fail_errno(err, s->errnum, "cannot filter system calls");
	return 0;
}
