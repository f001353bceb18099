/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/program/words.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"

#include <stdbool.h>
#include <string.h>

#define BLANKS " \t\r\n"
#define OF_A_SHELL "|&;<>()$`*?"

/* A line that is split. */
struct split {
	const char *at;
	struct tw_buf word;
	bool begun; /* a word has begun: "" is a word, too */
};

/* Take the text between quotes. False: the closing quote is missing. */
static bool take_quoted(struct split *s, char quote)
{
	for (; *s->at != '\0'; s->at++) {
		if (*s->at == quote) {
			s->at++;
			return true;
		}
		if (quote == '"' && *s->at == '\\' && s->at[1] != '\0')
			s->at++;
		tw_buf_add(&s->word, s->at, 1);
	}
	return false;
}

static int end_word(struct split *s, struct tw_strs *out, struct tw_err *err)
{
	if (!s->begun)
		return 0;
	s->begun = false;
	if (tw_buf_failed(&s->word))
		return tw_fail(err, TW_NOMEM, "command");
	if (tw_strs_add(out, s->word.data != NULL ? s->word.data : "", s->word.len, err) <
	    0)
		return -1;
	tw_buf_clear(&s->word);
	return 0;
}

/* Take one character, or a quoted part. */
static int take(struct split *s, struct tw_strs *out, struct tw_err *err)
{
	const char c = *s->at++;

	if (strchr(BLANKS, c) != NULL)
		return end_word(s, out, err);
	s->begun = true;
	if (c == '\'' || c == '"')
		return take_quoted(s, c)
			       ? 0
			       : tw_fail(err, TW_INVALID, "a %c is not closed", c);
	if (strchr(OF_A_SHELL, c) != NULL)
		return tw_fail(err, TW_INVALID,
			       "'%c' needs a shell, and there is none: quote it, or "
			       "write sh -c '...'",
			       c);
	if (c == '\\' && *s->at == '\0')
		return tw_fail(err, TW_INVALID, "a backslash is the last character");
	tw_buf_add(&s->word, c == '\\' ? s->at++ : s->at - 1, 1);
	return 0;
}

int tw_words_split(const char *text, struct tw_strs *out, struct tw_err *err)
{
	struct split s = { .at = text };
	struct tw_strs words = { 0 };
	int rc = -1;

	while (*s.at != '\0')
		if (take(&s, &words, err) < 0)
			goto out;
	if (end_word(&s, &words, err) < 0)
		goto out;
	if (words.count == 0) {
		tw_fail(err, TW_INVALID, "no command");
		goto out;
	}
	for (size_t i = 0; i < words.count; i++)
		if (tw_strs_adds(out, words.at[i], err) < 0)
			goto out;
	rc = 0;
out:
	tw_buf_clear(&s.word);
	tw_strs_clear(&words);
	return rc;
}
