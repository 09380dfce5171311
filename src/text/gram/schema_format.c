/* SPDX-License-Identifier: Apache-2.0
 * schema_format.c: the table of formats. */
#include "text/gram/schema_format.h"

static const struct { const char *name; uint32_t max; const char *regex; } row[] = {
#define VC_FORMAT(name, max, regex) { name, max, regex },
#include "text/gram/schema_format.def"
#undef VC_FORMAT
};

int vc_schema_format_find(vc_str name) {
    for (size_t i = 0; i < VC_ARRAY_LEN(row); i++)
        if (vc_str_is(name, row[i].name)) return row[i].regex ? (int)i : VC_FORMAT_REFUSED;
    return VC_FORMAT_NONE;
}

vc_str vc_schema_format_regex(int format) { return vc_str_of(row[format].regex); }
uint32_t vc_schema_format_max(int format) { return row[format].max ? row[format].max : UINT32_MAX; }
