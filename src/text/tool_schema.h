/* SPDX-License-Identifier: Apache-2.0
 * tool_schema.h: the specification of a constraint for tool_choice "required" or a named tool, to be compiled by
 * vc_grammar_compile as VC_GRAMMAR_JSON_SCHEMA. As in vLLM: required is a list of {"name", "parameters"}, one or more; a
 * named tool is the object of its arguments alone. */
#ifndef VC_TEXT_TOOL_SCHEMA_H
#define VC_TEXT_TOOL_SCHEMA_H

#include <stddef.h>

#include "base/status.h"
#include "base/str.h"

enum { VC_TOOL_ONE_CALL = 1 /* parallel_tool_calls: false */ };

/* tools[0 … n): the request's JSON list of {"type": "function", "function": {"name", "parameters"?}}. name: of the tool
 * that is chosen, NULL for required. Appends JSON to *spec. E_INVALID names what is wrong with the list; the parameters
 * themselves are checked by vc_grammar_compile. References in them ("#/$defs/…") stay within their tool. */
vc_status vc_schema_tool_call(struct vc_buf *spec, const char *tools, size_t n, const char *name, int flags, vc_err *err);

#endif
