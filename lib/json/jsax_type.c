/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/jsax.h"

const char *tw_jsax_type_name(enum tw_jsax_type type)
{
	switch (type) {
	case TW_JSAX_OBJECT:
		return "an object";
	case TW_JSAX_ARRAY:
		return "an array";
	case TW_JSAX_TEXT:
		return "a string";
	case TW_JSAX_NUMBER:
		return "a number";
	case TW_JSAX_TRUE:
	case TW_JSAX_FALSE:
		return "a boolean";
	case TW_JSAX_NULL:
		return "null";
	default:
		return "the end";
	}
}
