/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "text/parse/parse_int.h"

struct row { const char *parser, *text, *also, *other; };

#define DETECT_TOOL(parser, text, also, not) { parser, text, also, not },
#define DETECT_THINK(parser, text, also, tool)
static const struct row tools[] = {
#include "text/parse/parse_detect.def"
};
#undef DETECT_TOOL
#undef DETECT_THINK

#define DETECT_TOOL(parser, text, also, not)
#define DETECT_THINK(parser, text, also, tool) { parser, text, also, tool },
static const struct row thinks[] = {
#include "text/parse/parse_detect.def"
};
#undef DETECT_TOOL
#undef DETECT_THINK

/* Template sources write a newline inside strings as \n; the markers here have none. */
static bool has(const char *s, size_t n, const char *text) {
    size_t m = strlen(text);
    for (size_t i = 0; i + m <= n; i++) {
        const char *at = memchr(s + i, text[0], n - m - i + 1);
        if (!at) return false;
        i = (size_t)(at - s);
        if (!memcmp(at, text, m)) return true;
    }
    return false;
}

static bool fits(const char *s, size_t n, const struct row *r) {
    return has(s, n, r->text) && (!r->also[0] || has(s, n, r->also));
}

struct vc_parser_choice vc_parser_detect(const char *t, size_t n) {
    struct vc_parser_choice c = { NULL, NULL };
    for (size_t i = 0; i < VC_ARRAY_LEN(tools); i++) {
        if (!fits(t, n, &tools[i]) || (tools[i].other[0] && has(t, n, tools[i].other))) continue;
        c.tool = tools[i].parser;
        break;
    }
    for (size_t i = 0; i < VC_ARRAY_LEN(thinks) && !c.reasoning; i++) {
        const char *tool = thinks[i].other;
        if (tool[0] && (!c.tool || strcmp(tool, c.tool))) continue;
        if (fits(t, n, &thinks[i])) c.reasoning = thinks[i].parser;
    }
    return c;
}

static const struct vc_think *find(const char *name) {
    for (size_t i = 0; i < vc_thinks_n; i++)
        if (!strcmp(vc_thinks[i].name, name)) return &vc_thinks[i];
    return NULL;
}

static bool ends_with(vc_str s, const char *marker) {
    vc_str m = marker ? vc_pp_trim(marker, strlen(marker)) : (vc_str){ "", 0 };
    return m.n && s.n >= m.n && !memcmp(s.p + s.n - m.n, m.p, m.n);
}

bool vc_parser_opens(const char *reasoning_parser, const char *prompt, size_t n) {
    const struct vc_think *k = find(reasoning_parser);
    if (!k) return false;
    vc_str s = vc_pp_trim(prompt, n);
    vc_str strip = k->strip ? vc_pp_trim(k->strip, strlen(k->strip)) : (vc_str){ "", 0 };
    if (strip.n && s.n > strip.n && !memcmp(s.p + s.n - strip.n, strip.p, strip.n)) s.n -= strip.n;
    return ends_with(s, k->start[0]) || ends_with(s, k->start[1]);
}

bool vc_parser_closes(const char *reasoning_parser, const char *prompt, size_t n) {
    const struct vc_think *k = find(reasoning_parser);
    return k && (ends_with(vc_pp_trim(prompt, n), k->end[0]) || ends_with(vc_pp_trim(prompt, n), k->end[1]));
}

const char *vc_parser_closing(const char *reasoning_parser) {
    const struct vc_think *k = find(reasoning_parser);
    return k ? k->end[0] : NULL;
}
