/* SPDX-License-Identifier: Apache-2.0
 * options_file.c: the file of --config into struct cli_opts. One mapping in YAML or JSON; its keys are names of options
 * without dashes. libyaml gives events, which are taken one after the other: nothing is built, aliases are refused, so
 * that a file cannot grow in memory. Errors name file, line and key. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <yaml.h>

#include "cli/options.h"
#include "io/json.h"
#include "io/json_out.h"

enum { MAX_DEPTH = 32, MAX_BYTES = 1 << 20 };

struct reader {
    struct cli_opts *o;
    yaml_parser_t parser;
    yaml_event_t event;
    bool has_event;
    char key[80];         /* of the top mapping; "" outside */
    size_t line;          /* of the key, or of the event */
    struct cli_strs seen; /* keys that were there, as written with - */
};

static int fail(struct reader *r, const char *fmt, ...) VC_PRINTF(2, 3);
static int fail(struct reader *r, const char *fmt, ...) {
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return cli_usage(r->o, "%s:%zu: %s%s%s", r->o->config, r->line, r->key, r->key[0] ? ": " : "", text);
}

static void drop(struct reader *r) {
    if (r->has_event) yaml_event_delete(&r->event);
    r->has_event = false;
}

/* The next event into r->event. */
static int next(struct reader *r) {
    drop(r);
    if (!yaml_parser_parse(&r->parser, &r->event)) {
        r->line = r->parser.problem_mark.line + 1;
        return fail(r, "%s%s%s", r->parser.problem ? r->parser.problem : "not YAML", r->parser.context ? ", " : "",
                    r->parser.context ? r->parser.context : "");
    }
    r->has_event = true;
    r->line = r->event.start_mark.line + 1;
    const yaml_char_t *tag = r->event.type == YAML_SCALAR_EVENT           ? r->event.data.scalar.tag
                             : r->event.type == YAML_SEQUENCE_START_EVENT ? r->event.data.sequence_start.tag
                             : r->event.type == YAML_MAPPING_START_EVENT  ? r->event.data.mapping_start.tag
                                                                          : NULL;
    if (r->event.type == YAML_ALIAS_EVENT)
        return fail(r, "aliases (*%s) are not read; write the value again", (const char *)r->event.data.alias.anchor);
    return tag ? fail(r, "tags (%s) are not read", (const char *)tag) : CLI_OK;
}

/* ---- scalars ---- */

static bool among(const char *text, const char *const *words) {
    for (; *words; words++)
        if (!strcmp(text, *words)) return true;
    return false;
}
static const char *const nulls[] = { "", "~", "null", "Null", "NULL", NULL };
static const char *const yes[] = { "true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", NULL };
static const char *const no[] = { "false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", NULL };

enum scalar { TEXT, NOTHING, YES, NO };

/* What YAML 1.1 takes a plain scalar for; a quoted one is text. E_FORMAT-like: NULs are refused by the caller. */
static enum scalar scalar_of(const yaml_event_t *e) {
    const char *text = (const char *)e->data.scalar.value;
    if (e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE) return TEXT;
    return among(text, nulls) ? NOTHING : among(text, yes) ? YES : among(text, no) ? NO : TEXT;
}

static bool is_number(const char *s) {
    json_t *v = NULL;
    bool ok = (*s == '-' || (*s >= '0' && *s <= '9')) && vc_json_parse(&v, s, strlen(s), "number", NULL) == VC_OK &&
              json_is_number(v);
    json_decref(v);
    return ok;
}

static void scalar_to_json(struct vc_json_out *w, const yaml_event_t *e) {
    const char *text = (const char *)e->data.scalar.value;
    enum scalar kind = scalar_of(e);
    if (kind == NOTHING)
        vc_jo_null(w);
    else if (kind != TEXT)
        vc_jo_bool(w, kind == YES);
    else if (e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && is_number(text))
        vc_jo_raw(w, text, strlen(text));
    else
        vc_jo_strn(w, text, e->data.scalar.length);
}

/* ---- nested values as JSON ---- */

/* From the mapping or sequence that begins in r->event to its end. */
static int to_json(struct reader *r, struct vc_buf *b) {
    struct vc_json_out w;
    struct {
        bool map, key;
    } at[MAX_DEPTH] = { { false, false } };
    size_t depth = 0;
    vc_jo_init(&w, b, VC_JSON_COMPACT);
    for (;;) {
        yaml_event_type_t type = r->event.type;
        bool begins = type == YAML_MAPPING_START_EVENT || type == YAML_SEQUENCE_START_EVENT,
             map = type == YAML_MAPPING_START_EVENT;
        if (depth && at[depth - 1].map && at[depth - 1].key && type != YAML_MAPPING_END_EVENT) {
            if (type != YAML_SCALAR_EVENT) return fail(r, "a key that is no text");
            vc_jo_keyn(&w, (const char *)r->event.data.scalar.value, r->event.data.scalar.length);
            at[depth - 1].key = false;
        } else {
            if (depth) at[depth - 1].key = true;
            if (begins && depth == MAX_DEPTH) return fail(r, "nested deeper than %d", MAX_DEPTH);
            if (begins) {
                at[depth].map = at[depth].key = map;
                depth++;
            }
            if (map)
                vc_jo_begin_obj(&w);
            else if (begins)
                vc_jo_begin_arr(&w);
            else if (type == YAML_MAPPING_END_EVENT)
                vc_jo_end_obj(&w);
            else if (type == YAML_SEQUENCE_END_EVENT)
                vc_jo_end_arr(&w);
            else
                scalar_to_json(&w, &r->event);
            if (type == YAML_MAPPING_END_EVENT || type == YAML_SEQUENCE_END_EVENT) depth--;
            if (depth)
                at[depth - 1].key = true;
            else
                return b->failed ? cli_fail("out of memory") : CLI_OK;
        }
        int rc = next(r);
        if (rc != CLI_OK) return rc;
    }
}

/* ---- one key ---- */

/* The value in r->event as one text in the arena; *kind tells what it was. Sequences become a list of texts. */
struct value {
    enum { SCALAR, LIST, MAP } kind;
    enum scalar scalar;
    const char *text;
    struct cli_strs list;
};

static int keep(struct reader *r, const char *text, size_t n, const char **out) {
    if (memchr(text, '\0', n)) return fail(r, "a NUL in a text");
    *out = vc_arena_strndup(&r->o->arena, text, n);
    return *out ? CLI_OK : cli_fail("out of memory");
}

static int read_list(struct reader *r, struct value *v) {
    for (;;) {
        int rc = next(r);
        const char *text = NULL;
        if (rc != CLI_OK || r->event.type == YAML_SEQUENCE_END_EVENT) return rc;
        if (r->event.type != YAML_SCALAR_EVENT || scalar_of(&r->event) != TEXT)
            return fail(r, "a list of texts or numbers is expected");
        rc = keep(r, (const char *)r->event.data.scalar.value, r->event.data.scalar.length, &text);
        if (rc != CLI_OK) return rc;
        if (!cli_read_list(&r->o->arena, &v->list, text)) return cli_fail("out of memory");
    }
}

static int read_value(struct reader *r, bool as_json, struct value *v) {
    *v = (struct value){ .kind = SCALAR };
    if (r->event.type == YAML_SCALAR_EVENT) {
        v->scalar = scalar_of(&r->event);
        return keep(r, (const char *)r->event.data.scalar.value, r->event.data.scalar.length, &v->text);
    }
    if (r->event.type == YAML_SEQUENCE_START_EVENT && !as_json) {
        v->kind = LIST;
        return read_list(r, v);
    }
    struct vc_buf b = { 0 };
    v->kind = MAP;
    int rc = to_json(r, &b);
    if (rc == CLI_OK) rc = keep(r, b.p, b.n, &v->text);
    vc_buf_free(&b);
    return rc;
}

/* 1,2,3 of a list. */
static int joined(struct reader *r, const struct cli_strs *l, const char **out) {
    struct vc_buf b = { 0 };
    for (size_t i = 0; i < l->n; i++) vc_buf_printf(&b, "%s%s", i ? "," : "", l->v[i]);
    int rc = b.failed ? cli_fail("out of memory") : keep(r, b.p ? b.p : "", b.n, out);
    vc_buf_free(&b);
    return rc;
}

static int set_option(struct reader *r, size_t i, bool off, const char *spelled) {
    const struct cli_opt *t = &cli_opts_table[i];
    struct cli_opts *o = r->o;
    struct value v;
    int rc = read_value(r, t->kind == CLI_JSON, &v);
    if (rc != CLI_OK || o->given[i] || (v.kind == SCALAR && v.scalar == NOTHING)) return rc;
    if (cli_is_switch(t)) {
        if (v.kind != SCALAR || v.scalar == TEXT)
            return fail(r, "%s, expected true or false",
                        v.kind == SCALAR ? v.text
                        : v.kind == LIST ? "a list"
                                         : "a mapping");
        return cli_option_switch(o, i, (v.scalar == YES) != off);
    }
    bool joins = t->kind == CLI_IDS || t->kind == CLI_COUNTS || t->kind == CLI_BIASES;
    if (v.kind == SCALAR && v.scalar != TEXT)
        return fail(r, "%s is true or false to YAML, expected %s; quote it if it is meant", v.text,
                    cli_option_wanted(t));
    if (v.kind == MAP && t->kind != CLI_JSON) return fail(r, "a mapping, expected %s", cli_option_wanted(t));
    if (v.kind == LIST && !cli_is_list(t) && !joins) return fail(r, "a list, expected %s", cli_option_wanted(t));
    if (v.kind == LIST && joins) rc = joined(r, &v.list, &v.text);
    if (v.kind != LIST || joins) return rc == CLI_OK ? cli_option_set(o, i, v.text, spelled) : rc;
    for (size_t k = 0; rc == CLI_OK && k < v.list.n; k++) rc = cli_option_set(o, i, v.list.v[k], spelled);
    return rc;
}

static int set_flag(struct reader *r, const struct cli_vllm_flag *f, bool off, const char *spelled) {
    struct value v;
    int rc = read_value(r, true, &v);
    if (rc != CLI_OK || (v.kind == SCALAR && v.scalar == NOTHING)) return rc;
    if (f->takes != CLI_TAKES_NOTHING && f->takes != CLI_TAKES_SWITCH) return cli_vllm_take(r->o, f, v.text, spelled);
    if (v.kind != SCALAR || v.scalar == TEXT) return fail(r, "expected true or false");
    if (f->takes == CLI_TAKES_NOTHING && v.scalar == NO) return CLI_OK;
    return cli_vllm_take(r->o, f, (v.scalar == YES) != off ? "on" : "off", spelled);
}

/* "model": what the command takes as its argument, unless the command line has one; serve takes a list of --model, too.
 */
static int set_model(struct reader *r, size_t i, const char *spelled) {
    struct cli_opts *o = r->o;
    struct value v;
    int rc = read_value(r, false, &v);
    if (rc != CLI_OK || o->num_args || (i != CLI_NUM_OPTS && o->given[i]) || (v.kind == SCALAR && v.scalar == NOTHING))
        return rc;
    if ((v.kind == SCALAR && v.scalar != TEXT) || v.kind == MAP || (v.kind == LIST && i == CLI_NUM_OPTS))
        return fail(r, "expected the path of a model");
    for (size_t k = 0; rc == CLI_OK && v.kind == LIST && k < v.list.n; k++)
        rc = cli_option_set(o, i, v.list.v[k], spelled);
    if (v.kind == LIST) return rc;
    if (i != CLI_NUM_OPTS && strchr(v.text, '=')) return cli_option_set(o, i, v.text, spelled);
    o->arg[o->num_args++] = v.text;
    o->arg_from_file = true;
    return CLI_OK;
}

static int take_key(struct reader *r) {
    struct cli_opts *o = r->o;
    if (r->event.type != YAML_SCALAR_EVENT) return fail(r, "a key that is no text");
    const char *name = (const char *)r->event.data.scalar.value;
    size_t n = r->event.data.scalar.length, line = r->line;
    r->key[0] = '\0';
    if (n == 0 || n >= sizeof r->key) return fail(r, "no option has a name of %zu characters", n);
    vc_printable(r->key, sizeof r->key, name, n);
    for (char *p = r->key; *p; p++) *p = *p == '_' ? '-' : *p;
    for (size_t i = 0; i < r->seen.n; i++)
        if (!strcmp(r->seen.v[i], r->key)) return fail(r, "is there twice");
    const char *copy = vc_arena_strdup(&o->arena, r->key);
    if (!copy || !cli_read_list(&o->arena, &r->seen, copy)) return cli_fail("out of memory");
    int rc = next(r);
    if (rc != CLI_OK) return rc;
    bool off, flag_off;
    size_t i = cli_find_option(o, copy, strlen(copy), &off);
    const struct cli_vllm_flag *f = i == CLI_NUM_OPTS ? cli_vllm_find(o, copy, strlen(copy), &flag_off) : NULL;
    char spelled[512];
    snprintf(spelled, sizeof spelled, "%.400s:%zu: %s", o->config, line, copy);
    if (i == CLI_OPT_HELP || i == CLI_OPT_VERSION || i == CLI_OPT_CONFIG || i == CLI_OPT_PRINT_CONFIG)
        return fail(r, "belongs on the command line");
    if (!strcmp(copy, "model")) return set_model(r, i, spelled);
    if (i != CLI_NUM_OPTS) return set_option(r, i, off, spelled);
    if (f && !strchr(copy, '.') && copy[0] != '-') return set_flag(r, f, flag_off, spelled);
    const char *near = cli_option_near(o, copy);
    r->line = line;
    if (near) return fail(r, "is no option of vllmc %s; did you mean %s?", cli_command(o->command)->name, near);
    return fail(r, "is no option of vllmc %s", cli_command(o->command)->name);
}

static int take_all(struct reader *r) {
    int rc = next(r); /* the stream */
    if (rc == CLI_OK) rc = next(r);
    if (rc != CLI_OK || r->event.type == YAML_STREAM_END_EVENT) return rc; /* nothing in it */
    if ((rc = next(r)) != CLI_OK) return rc;
    if (r->event.type == YAML_SCALAR_EVENT && scalar_of(&r->event) == NOTHING) return CLI_OK;
    if (r->event.type != YAML_MAPPING_START_EVENT) return fail(r, "expected a mapping of options to values");
    while ((rc = next(r)) == CLI_OK && r->event.type != YAML_MAPPING_END_EVENT)
        if ((rc = take_key(r)) != CLI_OK) return rc;
    r->key[0] = '\0';
    if (rc == CLI_OK) rc = next(r);
    if (rc == CLI_OK) rc = next(r);
    return rc == CLI_OK && r->event.type != YAML_STREAM_END_EVENT ? fail(r, "a second document") : rc;
}

int cli_read_config(struct cli_opts *o) {
    if (!o->config) return CLI_OK;
    struct reader r = { .o = o };
    struct vc_buf text = { 0 };
    vc_err err = VC_ERR_INIT;
    int rc = cli_read_file(o->config, &text, &err) == VC_OK ? CLI_OK : cli_usage(o, "--config %s", err.text);
    if (rc == CLI_OK && text.n > MAX_BYTES) rc = cli_usage(o, "--config %s: larger than 1 MiB", o->config);
    if (rc == CLI_OK && !yaml_parser_initialize(&r.parser))
        rc = cli_fail("out of memory");
    else if (rc == CLI_OK) {
        yaml_parser_set_input_string(&r.parser, (const unsigned char *)(text.p ? text.p : ""), text.n);
        rc = take_all(&r);
        drop(&r);
        yaml_parser_delete(&r.parser);
    }
    vc_buf_free(&text);
    return rc;
}
