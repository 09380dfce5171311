/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tok/tok_int.h"

static const struct { uint32_t first, last, script; } rows[] = {
#define SCRIPT(a, b, s) { a, b, s },
#include "text/tok/tok_script.def"
#undef SCRIPT
};

uint32_t vc_tok_script(uint32_t cp) {
    size_t a = 0, b = VC_ARRAY_LEN(rows);
    while (a < b) {
        size_t m = (a + b) / 2;
        if (cp > rows[m].last) a = m + 1;
        else b = m;
    }
    return a < VC_ARRAY_LEN(rows) && cp >= rows[a].first ? rows[a].script : 0;
}
