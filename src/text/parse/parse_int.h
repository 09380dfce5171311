/* SPDX-License-Identifier: Apache-2.0
 *
 * parse_int.h: inside of the output parser. Bytes go, as whole code points, through one mode at a time: reasoning,
 * content, the body of a call, or a gap that is left out. Modes put deltas on a queue (parse_out.c), which is sent
 * at the end of a push unless something still decides what they are. Formats are rows of parse_tool.def and
 * parse_think.def.
 */
#ifndef VC_TEXT_PARSE_INT_H
#define VC_TEXT_PARSE_INT_H

#include "text/parse/parse_json.h"
#include "text/parse/parse_tag.h"
#include "text/parser.h"

enum {
    VC_PP_LOOK_CALLS = 256,     /* a list without markers: calls are final after so many bytes of it */
    VC_PP_LOOK_VALUE = 256,     /* a string parameter longer than this is sent before its end was seen */
    VC_PP_MAX_NAME = 512,       /* bytes of a function's or parameter's name */
    VC_PP_MAX_CALLS = 1024,     /* calls of one output; what follows them is left out */
    VC_PP_MAX_DEPTH = 256,      /* nesting of literals that are converted to JSON */
};

struct vc_parser;

/* ---- reasoning formats ---- */
enum {
    VC_PT_OPEN = 1 << 0,        /* output begins inside the block */
    VC_PT_PREFACE = 1 << 1,     /* text before the first start marker is left out, if it is at most `look` bytes */
    VC_PT_EAT_START = 1 << 2,   /* further start markers in the block are left out */
    VC_PT_EAT_END = 1 << 3,     /* end markers in content are left out */
    VC_PT_REOPEN = 1 << 4,      /* a start marker in content opens another block */
    VC_PT_IMPLICIT = 1 << 5,    /* a tool call ends the block */
    VC_PT_RSTRIP = 1 << 6,      /* white space at the end of the reasoning is left out */
    VC_PT_CONFIRM = 1 << 7,     /* a block that never ends is content, if it is at most `look` bytes */
    VC_PT_LATE_END = 1 << 8,    /* text before an end marker without a start is reasoning, within `look` bytes */
    VC_PT_AS_CONTENT = 1 << 9,  /* everything stays content, behind the start marker */
    VC_PT_TRIM = 1 << 10,       /* white space at both ends of a block, and before any marker in content, is left out */
    VC_PT_HARMONY = 1 << 12,    /* parse_harmony.c reads the whole output */
    VC_PT_LSTRIP = 1 << 11,     /* white space that begins the content is left out */
};

struct vc_think {
    union {
        struct vc_parser_name id;
        struct { const char *name, *text; };
    };
    const char *start[2], *end[2];
    const char *eat[4];         /* wrappers of content that are left out; white space before them too */
    const char *stop[2];        /* end of content: what follows is left out, but for calls */
    const char *strip;          /* left out at the beginning of the reasoning */
    uint16_t look;
    uint16_t flags;
};

/* ---- call formats ---- */
enum vc_body { VC_BODY_JSON, VC_BODY_NAMED, VC_BODY_XML, VC_BODY_PY, VC_BODY_GEMMA, VC_BODY_HARMONY, VC_BODY_COUNT };
enum vc_bad { VC_BAD_ALL, VC_BAD_RAW, VC_BAD_BRACE, VC_BAD_DROP };      /* of vc_tool.bad: malformed JSON */
enum vc_cut { VC_CUT_ALL, VC_CUT_KEEP, VC_CUT_DROP, VC_CUT_CLOSE };     /* of vc_tool.cut: the output ends in a call */
enum vc_after { VC_AFTER_DROP, VC_AFTER_KEEP, VC_AFTER_RAW, VC_AFTER_ECHO };   /* of vc_tool.after: text behind calls */
enum {
    VC_TD_ONE = 1 << 0,         /* only the first section holds calls */
    VC_TD_RSTRIP = 1 << 1,      /* white space of the content before a call is left out */
    VC_TD_HOLD = 1 << 2,        /* calls are final only when no second section follows (VC_PP_LOOK_CALLS) */
    VC_TD_BARE = 1 << 3,        /* start markers are ordinary characters: what fails before a name is just text */
    VC_TD_REFEED = 1 << 4,      /* brackets and white space at the end of a start marker belong to the body */
    VC_TD_OBJ = 1 << 5,         /* JSON: the body may be one object */
    VC_TD_ARR = 1 << 6,         /* JSON: the body may be an array of objects */
    VC_TD_NAMEKEY = 1 << 7,     /* JSON: {"name": arguments} */
    VC_TD_SKIP = 1 << 8,        /* JSON: text before the body is left out */
    VC_TD_END_REQ = 1 << 9,     /* the end marker is required */
    VC_TD_KNOWN = 1 << 10,      /* calls of functions that the request lacks are left out */
    VC_TD_NL = 1 << 11,         /* XML: one newline at each end of a value is markup */
    VC_TD_LINES = 1 << 12,      /* Python: calls follow each other without a list's brackets */
    VC_TD_PARTIAL = 1 << 13,    /* an unfinished string stands when the output ends */
    VC_TD_NO_ARGS = 1 << 16,    /* JSON: a call may lack arguments */
    VC_TD_RSTRIP_NL = 1 << 17,  /* newlines of the content before a call are left out */
    VC_TD_FUNCTIONS = 1 << 15,  /* NAMED: the header is an id: functions.NAME:INDEX */
    VC_TD_NAMELESS = 1 << 14,   /* JSON: a call cut before its name is a call without name, where deltas wait */
};

struct vc_tool {
    union {
        struct vc_parser_name id;
        struct { const char *name, *text; };
    };
    const char *start[8];       /* in content */
    const char *end;            /* behind a body; NULL: the body ends itself */
    const char *eat;            /* left out wherever text is content */
    /* keys and markers inside; meaning by body, said at the head of parse_call_<body>.c */
    const char *in[12];
    uint32_t flags;
    uint8_t body, bad, cut, after;
};

extern const struct vc_tool vc_tools[];
extern const size_t vc_tools_n;
extern const struct vc_think vc_thinks[];
extern const size_t vc_thinks_n;

/* ---- the queue of deltas ---- */
struct vc_pev {
    size_t off, len, id_len;    /* in vc_pq.text; an id follows its name */
    uint32_t index;
    uint8_t kind;
    bool complete;
};
struct vc_pq {
    struct vc_pev *ev;          /* owned */
    size_t n, cap, seal;        /* events before seal take no more text */
    struct vc_buf text;
};

/* ---- state of the bodies; cleared when a section begins ---- */
struct vc_call_json {
    struct vc_jscan js;
    uint32_t base;              /* depth at which a call's keys are */
    uint8_t field;              /* enum in parse_call_json.c */
    bool in_obj, have_args, named, str_args, calls;
    uint8_t mode;
    uint32_t brace;
    bool quote, escape;
};
struct vc_call_named { uint8_t st; struct vc_jscan js; bool given; };
struct vc_call_xml { uint8_t st; uint32_t types; bool any, stream, literal, lead; };
struct vc_py_level { uint8_t open; bool comma, dict, colon, any; size_t at, key; };
struct vc_call_py {
    uint8_t st, quote, n_quote;
    uint8_t q_st, q_left;       /* in a string: state, digits of an escape to come */
    bool triple, raw, fstr, any, calls, stream, neg, sign, top_string;
    uint32_t cp, high, depth;
    struct vc_py_level stack[VC_PP_MAX_DEPTH];
};
struct vc_call_gemma {
    uint8_t st, close;          /* close: what ends the arguments, '}' or ')' */
    bool any, stream, named;
    uint32_t types, depth;
    struct { uint8_t open; bool any; } stack[VC_PP_MAX_DEPTH];
};
struct vc_call_harmony { uint8_t st, kind; bool fresh, given; struct vc_jscan js; };

enum vc_pmode { VC_PM_THINK, VC_PM_TEXT, VC_PM_BODY, VC_PM_END, VC_PM_SKIP };

struct vc_parser {
    const struct vc_tool *tool;         /* NULL: none */
    const struct vc_think *think;       /* NULL: none */
    json_t *tools;                      /* owned reference, or NULL */
    bool whole, no_calls, failed, finished;
    bool no_reasoning;                  /* harmony without its reasoning parser: reasoning is left out */
    bool reason_any;                    /* harmony: some reasoning was queued */
    uint8_t mode;                       /* enum vc_pmode */
    struct vc_tags reason_tags, text_tags, look_tags, end_tags;
    struct vc_tags body_tags[6];        /* of the body's states, built when a section begins */
    const struct vc_body_ops *body;
    size_t start;                       /* index of the start marker in tool->start */
    struct vc_tagger tg;
    char utf8[4];                       /* a cut code point */
    uint8_t utf8_n;
    /* reasoning */
    bool started;                       /* reasoning text or a start marker was seen */
    uint8_t look;                       /* 0, or what the text in look_buf would be: enum in parse_think.c */
    struct vc_buf look_buf;
    size_t look_at;                     /* where the reasoning begins in it */
    struct vc_buf reason_ws;            /* white space that may be the end of the reasoning */
    bool reason_lead;                   /* white space that begins the block is left out */
    size_t strip_at;                    /* bytes of think->strip seen; SIZE_MAX when decided */
    /* content */
    struct vc_buf ws;                   /* white space held */
    bool content_any;                   /* content that is not white space was queued */
    bool drop;                          /* text is left out: behind calls */
    bool after_lead;                    /* white space that begins the text behind calls is left out */
    struct vc_buf echo;
    /* calls */
    uint32_t n_calls, n_again;          /* again: texts read a second time */
    bool call_open, call_shown, sent;   /* a call is begun; and on the queue; some call of this section is */
    size_t mark_call, mark_section;     /* events before them */
    struct vc_buf raw;                  /* text of the section, while it may become content */
    size_t raw_second;                  /* where a second section begins in it */
    bool raw_on, hold, second, sure;    /* sure: calls of a VC_TD_HOLD format are final */
    bool closed;                        /* no further section is read */
    bool seen;                          /* a section began */
    bool skip_cut;                      /* the rest of a code point whose beginning a failed call took is left out */
    bool bad_list;                      /* a second list showed that the first is content */
    bool any_saved;                     /* content_any and ws when the held section began */
    struct vc_buf ws_saved;
    struct vc_buf name, id, key, val, args;
    size_t val_sent;
    const json_t *props;                /* of the open call's function, borrowed; NULL: unknown */
    bool fn_known;
    bool bad_all;
    struct vc_buf all;                  /* whole: the text behind the reasoning */
    bool all_on, all_over;              /* over: the content ended by its own marker */
    union {
        struct vc_call_json json;
        struct vc_call_named named;
        struct vc_call_xml xml;
        struct vc_call_py py;
        struct vc_call_gemma gemma;
        struct vc_call_harmony harmony;
    } u;
    struct vc_pq q;
};

/* parse_out.c */
void vc_pp_reason(struct vc_parser *p, const char *s, size_t n);
void vc_pp_reason_end(struct vc_parser *p);         /* the output is over: a cut prefix was none */
void vc_pp_content(struct vc_parser *p, const char *s, size_t n);
void vc_pp_content_gap(struct vc_parser *p);        /* a marker stands here: white space before it goes */
void vc_pp_content_end(struct vc_parser *p);
void vc_pp_truncate(struct vc_parser *p, size_t n_events);
void vc_pp_queue(struct vc_parser *p, enum vc_parse_kind kind, const char *s, size_t n);
void vc_pp_drain(struct vc_parser *p, size_t n_events, struct vc_parse_sink *sink);
/* False: the call is not wanted, and what follows of it is left out. */
bool vc_pp_begin(struct vc_parser *p, const char *name, size_t n, const char *id, size_t id_n);
void vc_pp_args(struct vc_parser *p, const char *s, size_t n);
void vc_pp_end(struct vc_parser *p, bool complete);
void vc_pp_args_text(struct vc_parser *p, const char *s, size_t n);     /* as the inside of a JSON string */
/* Begins a string value of p->key, unless one is begun (*stream). *any: there was a key before. */
void vc_pp_args_string(struct vc_parser *p, bool *any, bool *stream);
void vc_pp_args_key(struct vc_parser *p, bool first, const char *s, size_t n);  /* {"key":  or , "key":  */
/* Takes one byte: *text is text without markers (may be given without the byte being taken), *hit as in vc_tag_next. */
bool vc_pp_tag_byte(struct vc_parser *p, const struct vc_tags *t, const char *c, vc_str *text, int *hit);
vc_str vc_pp_trim(const char *s, size_t n);

/* parser.c */
void vc_pp_feed(struct vc_parser *p, const char *s, size_t n);

/* parse_think.c: text in the reasoning and content modes */
void vc_think_init(struct vc_parser *p);
size_t vc_think_feed(struct vc_parser *p, const char *s, size_t n);     /* both modes; the number of bytes taken */
void vc_think_finish(struct vc_parser *p);

void vc_think_plain(struct vc_parser *p, const char *s, size_t n);  /* content, or left out behind calls */

/* parse_section.c: what surrounds bodies */
void vc_section_begin(struct vc_parser *p, size_t start);   /* start: index in tool->start */
size_t vc_section_feed(struct vc_parser *p, const char *s, size_t n);
void vc_section_finish(struct vc_parser *p);    /* the output ends in the body or before its end marker */
void vc_section_cut(struct vc_parser *p);       /* for bodies: what tool->cut says of an unfinished call */
void vc_section_revert(struct vc_parser *p);    /* held calls are content after all */

/* A body takes one byte at a time; cut is called when the output ends inside. */
enum vc_pb {
    VC_PB_MORE,     /* taken */
    VC_PB_DONE,     /* taken, and the body is over; an end marker may follow */
    VC_PB_BEFORE,   /* the body was over before this byte, which is not taken */
    VC_PB_CLOSE,    /* taken, and the whole section is over */
    VC_PB_FAIL,     /* malformed at this byte, which is not taken */
};
struct vc_body_ops {
    enum vc_pb (*byte)(struct vc_parser *p, char c);
    void (*cut)(struct vc_parser *p);
    void (*begin)(struct vc_parser *p);
};
bool vc_harmony_in_reasoning(const struct vc_parser *p);
extern const struct vc_body_ops vc_body_json, vc_body_named, vc_body_xml, vc_body_py, vc_body_gemma, vc_body_harmony;

/* parse_schema.c: types of parameters. A set of types is a mask of 1 << VC_TY_…. */
enum { VC_TY_NULL, VC_TY_INT, VC_TY_NUM, VC_TY_BOOL, VC_TY_OBJ, VC_TY_ARR, VC_TY_STR, VC_TY_UNKNOWN };
const json_t *vc_schema_props(const json_t *tools, const char *name, size_t n, bool *known);
uint32_t vc_schema_types(const json_t *props, const char *key, size_t n);   /* {string} for a key it lacks */
/* Appends the JSON of a parameter's text. literal: text of no string type is JSON if it can be. */
void vc_schema_value(struct vc_buf *out, const char *s, size_t n, uint32_t types);
bool vc_json_is_value(const char *s, size_t n, int *kind);      /* one whole JSON value; kind: VC_TY_… */

#endif
