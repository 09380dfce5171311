/* SPDX-License-Identifier: Apache-2.0 */
#include "text/parse/parse_int.h"

#define TOOL(...) { __VA_ARGS__ },
const struct vc_tool vc_tools[] = {
#include "text/parse/parse_tool.def"
};
#undef TOOL
const size_t vc_tools_n = VC_ARRAY_LEN(vc_tools);

#define THINK(...) { __VA_ARGS__ },
const struct vc_think vc_thinks[] = {
#include "text/parse/parse_think.def"
};
#undef THINK
const size_t vc_thinks_n = VC_ARRAY_LEN(vc_thinks);

const struct vc_parser_name *vc_parser_tool_name(size_t i) { return i < vc_tools_n ? &vc_tools[i].id : NULL; }
const struct vc_parser_name *vc_parser_reasoning_name(size_t i) { return i < vc_thinks_n ? &vc_thinks[i].id : NULL; }
