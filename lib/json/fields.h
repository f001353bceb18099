/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_FIELDS_H
#define TW_FIELDS_H

/*
 * JSON objects as structs, from one table: a row gives key, type, place in the struct,
 * limits, and when the member is left out. The table reads and writes the object, frees
 * the struct, and lets tests compare keys and types with the schemas of an API.
 *
 *	#define AT(member) TW_FIELD_AT(struct tw_zone, member)
 *	static const struct tw_field fields[] = {
 *		{ "name", TW_FIELD_NAME, AT(name) },
 *		{ "watts", TW_FIELD_DOUBLE, AT(power_w), .optional = true, .high = 1e6 },
 *	};
 *	static const struct tw_fields zone_fields = TW_FIELDS(fields, struct tw_zone);
 *
 * Errors name the place as those of lib/json/json.h do: "answer.zones[2].name: expected a
 * string, got a number". Unknown keys are ignored. Documents that must not be in memory
 * at once go through lib/json/jsax.h.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct tw_buf;
struct tw_err;

enum tw_field_type {
	TW_FIELD_TEXT,   /* char[] */
	TW_FIELD_NAME,   /* char[], a name that tw_name_check() accepts */
	TW_FIELD_REASON, /* char[TW_ERR_TEXT]; a longer text is cut as that of an error */
	TW_FIELD_STRING, /* char *, owned */
	TW_FIELD_BORROWED, /* const char *, of the json_t that is read */
	TW_FIELD_STRS,     /* struct tw_strs */
	TW_FIELD_BOOL,
	TW_FIELD_INT,    /* of 4 or 8 bytes */
	TW_FIELD_UINT,   /* of 4 or 8 bytes; at most INT64_MAX */
	TW_FIELD_ENUM,   /* an index in names */
	TW_FIELD_DOUBLE, /* finite; written as null if it is not */
	TW_FIELD_DATE,   /* int64_t, milliseconds since 1970; 0: none */
	TW_FIELD_FORMAT, /* no member: min to max are accepted, max is written */
	TW_FIELD_RECORD, /* a struct with a table of its own */
	TW_FIELD_OWN,    /* read and written by the functions of `own` */
};

enum tw_field_shape {
	TW_FIELD_ONE,
	TW_FIELD_ARRAY,  /* a list with as many entries as the array */
	TW_FIELD_FILLED, /* an array whose first entries, counted by a size_t, are used */
	TW_FIELD_LIST,   /* an owned pointer to the entries, counted by a size_t */
};

/*
 * A type that only few records have: read and written as a value, or by `parse` and
 * `text` as a string. parse() need not name the place. Unused members are NULL.
 */
struct tw_field_own {
	int (*read)(const json_t *v, const char *where, void *member, struct tw_err *err);
	void (*write)(const void *member, struct tw_buf *out);
	int (*parse)(const char *text, void *member, struct tw_err *err);
	const char *(*text)(const void *member);
};

struct tw_field {
	const char *key;
	enum tw_field_type type;
	size_t offset; /* TW_FIELD_AT() and the like give these */
	size_t size;   /* of the member or entry */
	enum tw_field_shape shape;
	size_t room;              /* entries of an array in place */
	size_t count_at;          /* offset of the count */
	size_t least, most;       /* entries; most 0: no limit but the room */
	long long min, max;       /* of integers; both 0: all that the member can hold */
	double low, high;         /* of numbers; both 0: any */
	int decimals;             /* written, always; 0: the shortest text */
	const char *const *names; /* of TW_FIELD_ENUM, ends with NULL */
	bool (*check)(const char *text);
	const char *noun; /* of what check() accepts: "path" */
	const struct tw_fields *record;
	const struct tw_field_own *own;
	bool optional;   /* absent or null: the member keeps its value */
	bool omit_empty; /* not written if it would be 0, "", null, false, [] or {} */
	bool unread;     /* only written */
	/* Write only if this is true of the struct; NULL: always. */
	bool (*when)(const void *record);
};

/* A member of one value. */
#define TW_FIELD_AT(type, member) \
	.offset = offsetof(type, member), .size = sizeof(((type *)NULL)->member)
#define TW_FIELD_ENTRIES(type, member) \
	.offset = offsetof(type, member), .size = sizeof(((type *)NULL)->member[0])
#define TW_FIELD_ROOM(type, member) \
	.room = sizeof(((type *)NULL)->member) / sizeof(((type *)NULL)->member[0])
/* An array, an array that is filled in part, a list. */
#define TW_FIELD_ARRAY_AT(type, member)                          \
	TW_FIELD_ENTRIES(type, member), .shape = TW_FIELD_ARRAY, \
					TW_FIELD_ROOM(type, member)
#define TW_FIELD_FILLED_AT(type, member, count)                      \
	TW_FIELD_ENTRIES(type, member), .shape = TW_FIELD_FILLED,    \
					TW_FIELD_ROOM(type, member), \
					.count_at = offsetof(type, count)
#define TW_FIELD_LIST_AT(type, member, count)                   \
	TW_FIELD_ENTRIES(type, member), .shape = TW_FIELD_LIST, \
					.count_at = offsetof(type, count)

struct tw_fields {
	const struct tw_field *field;
	size_t count;
	size_t size; /* of the struct */
};

#define TW_FIELDS(fields, type)                                              \
	{                                                                    \
		(fields), sizeof(fields) / sizeof((fields)[0]), sizeof(type) \
	}

/*
 * Read an object into *out, which has the defaults. `where` is the object's place, for
 * errors. After a failure the members of *out own nothing.
 */
int tw_fields_read(const struct tw_fields *r, const json_t *obj, const char *where,
		   void *out, struct tw_err *err);

/* As tw_fields_read(), from text. The record has no TW_FIELD_BORROWED. */
int tw_fields_parse(const struct tw_fields *r, const char *data, size_t len,
		    const char *where, void *out, struct tw_err *err);

/* Append the struct as an object, its keys in the order of the table. */
void tw_fields_write(const struct tw_fields *r, const void *in, struct tw_buf *out);

/* The same as a value, for documents that are more than the record. NULL: no memory. */
json_t *tw_fields_to_json(const struct tw_fields *r, const void *in);

/* Free the members that the struct owns, and clear those. */
void tw_fields_release(const struct tw_fields *r, void *in);

#endif /* TW_FIELDS_H */
