/* SPDX-License-Identifier: Apache-2.0
 *
 * parser.h: reasoning and tool calls in a model's output, read as it arrives. Names are those of vLLM's
 * --tool-call-parser and --reasoning-parser. Every cutting of one text into pushes gives the same deltas but for where
 * they are cut. Nothing is evaluated, and no text is an error: a malformed call becomes content or, where its name was
 * already sent, a call that ends incomplete.
 */
#ifndef VC_TEXT_PARSER_H
#define VC_TEXT_PARSER_H

#include <jansson.h>

#include "base/status.h"
#include "base/str.h"

struct vc_parser;   /* one output of one request; owner: one thread at a time */

struct vc_parser_params {
    const char *tool_parser;        /* NULL: tool calls stay text; "auto" is resolved by vc_parser_detect */
    const char *reasoning_parser;   /* NULL: no reasoning */
    const json_t *tools;            /* the request's "tools" (array of {"type","function"}), or NULL; vc_parser_new takes
                                     * a reference */
    bool thinking_open;             /* the prompt ends inside a reasoning block (vc_parser_opens tells) */
    bool thinking_off;              /* the request switched thinking off: the output is content from its start */
    bool no_calls;                  /* tool_choice "none": calls are found and left out */
    bool whole;                     /* deltas wait for vc_parser_finish; an output with a malformed or unfinished call is
                                     * then what vLLM's non-streaming answer is: all content, for most formats */
};

enum vc_parse_kind {
    VC_PARSE_REASONING,     /* text */
    VC_PARSE_CONTENT,       /* text */
    VC_PARSE_CALL_BEGIN,    /* text: the function's name; id: the model's own id of the call, or empty */
    VC_PARSE_CALL_ARGS,     /* text: the next piece of the arguments' JSON */
    VC_PARSE_CALL_END,      /* complete: the arguments are one whole JSON value */
};

struct vc_parse_delta {
    enum vc_parse_kind kind;
    uint32_t index;         /* of the call, from 0, in the order of the output; 0 for text */
    vc_str text;            /* UTF-8, whole code points; valid during the call of the sink */
    vc_str id;
    bool complete;
};

/* Called in the order of the output, during push and finish. Consecutive pieces of one kind come joined. */
struct vc_parse_sink {
    void (*delta)(void *user, const struct vc_parse_delta *d);
    void *user;
};

/* *out is the caller's: vc_parser_del. E_NOT_FOUND for an unknown name, its text lists the known ones; E_INVALID for
 * tools that are no array. The strings of p need not outlive the call. */
vc_status vc_parser_new(struct vc_parser **out, const struct vc_parser_params *p, vc_err *err);
void vc_parser_del(struct vc_parser *p);    /* NULL is allowed */

/* The next n bytes of the output; a cut code point waits, invalid bytes become U+FFFD. E_NOMEM is the only failure, and
 * stays. Time is linear in the bytes pushed; memory is what is held back: a possible marker, a call until its name is
 * known, a parameter whose type is not decided, everything with `whole`. */
vc_status vc_parser_push(struct vc_parser *p, const char *text, size_t n, struct vc_parse_sink *sink, vc_err *err);
/* The output has ended: what was held is decided and sent. No push may follow. */
vc_status vc_parser_finish(struct vc_parser *p, struct vc_parse_sink *sink, vc_err *err);

bool vc_parser_in_reasoning(const struct vc_parser *p);     /* what was pushed ends inside a reasoning block */
uint32_t vc_parser_calls(const struct vc_parser *p);        /* calls begun so far */

/* Which parsers suit a chat template, by the markers in its text; NULL where none does. The names are static. */
struct vc_parser_choice { const char *tool, *reasoning; };
struct vc_parser_choice vc_parser_detect(const char *chat_template, size_t n);
/* Whether a rendered prompt ends inside a reasoning block of this parser; false for an unknown name. */
bool vc_parser_opens(const char *reasoning_parser, const char *prompt, size_t n);
/* Whether it ends behind one, as templates do that switch thinking off by an empty block: thinking_off then. */
bool vc_parser_closes(const char *reasoning_parser, const char *prompt, size_t n);
/* The text that ends a reasoning block ("</think>"), static; NULL for an unknown name and for formats without one. */
const char *vc_parser_closing(const char *reasoning_parser);

/* Known names in alphabetical order, with a sentence for people; NULL past the end. */
struct vc_parser_name { const char *name, *text; };
const struct vc_parser_name *vc_parser_tool_name(size_t i);
const struct vc_parser_name *vc_parser_reasoning_name(size_t i);

#endif
