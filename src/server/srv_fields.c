/* SPDX-License-Identifier: Apache-2.0
 * srv_fields.c: values of a body by the table of fields. Types and faults as pydantic's lax mode has them, since
 * clients know vLLM's: whole numbers may be written 5.0 or "5", switches 1 or "true". All faults of a body are answered
 * at once. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/srv_gen.h"

enum { NULLS = SRV_NULLS, NEEDED = SRV_NEEDED, LATER = SRV_LATER, ABOVE = SRV_ABOVE };
enum {
    SIDE = SRV_WORDS_SIDE, TRUNCATION = SRV_WORDS_TRUNCATION, EFFORT = SRV_WORDS_EFFORT, TIER = SRV_WORDS_TIER,
    PAYLOAD = SRV_WORDS_PAYLOAD, ENCODING = SRV_WORDS_ENCODING, EMBED_DTYPE = SRV_WORDS_EMBED_DTYPE,
    ENDIAN = SRV_WORDS_ENDIAN, PADS = SRV_WORDS_PADS
};
const struct srv_field srv_field_rows[SRV_NUM_FIELDS] = {
#define SRV_FIELD(id, name, bodies, kind, flags, min, max, text) \
    { name, bodies, SRV_##kind, (unsigned)(flags), min, max, text },
#include "server/fields.def"
#undef SRV_FIELD
};
const char *const *const srv_field_words[SRV_NUM_WORDS] = {
    [SRV_WORDS_SIDE] = (const char *const[]){ "left", "right", NULL },
    [SRV_WORDS_TRUNCATION] = (const char *const[]){ "auto", "disabled", NULL },
    [SRV_WORDS_EFFORT] = (const char *const[]){ "none", "minimal", "low", "medium", "high", "xhigh", "max", NULL },
    [SRV_WORDS_TIER] = (const char *const[]){ "auto", "default", "flex", "scale", "priority", NULL },
    [SRV_WORDS_ENCODING] = (const char *const[]){ "float", "base64", "bytes", "bytes_only", NULL },
    [SRV_WORDS_EMBED_DTYPE] = (const char *const[]){ "float32", "float16", "bfloat16", "fp8_e4m3", "fp8_e5m2", NULL },
    [SRV_WORDS_ENDIAN] = (const char *const[]){ "native", "big", "little", NULL },
    [SRV_WORDS_PADS] = (const char *const[]){ "max_length", "do_not_pad", NULL },
    [SRV_WORDS_PAYLOAD] = (const char *const[]){ "tensors", "none", NULL },
};
enum { MAX_FAULTS = 16, SHOWN = 80, MAX_LIST = 1 << 20 };

struct faults { struct vc_buf text; unsigned n; char first[128]; };

const char *srv_field_name(enum srv_field_id id) { return srv_field_rows[id].name; }

const char *srv_py_type(const json_t *v, char *dst, size_t cap) {
    char text[SHOWN];
    switch (v ? json_typeof(v) : JSON_NULL) {
        case JSON_OBJECT: snprintf(dst, cap, "<dict of %zu items>", json_object_size(v)); break;
        case JSON_ARRAY: snprintf(dst, cap, "<list of %zu items>", json_array_size(v)); break;
        case JSON_STRING:
            vc_printable(text, sizeof text, json_string_value(v), json_string_length(v));
            snprintf(dst, cap, "%s", text);
            break;
        case JSON_INTEGER: snprintf(dst, cap, "%lld", (long long)json_integer_value(v)); break;
        case JSON_REAL: snprintf(dst, cap, "%.17g", json_real_value(v)); break;
        case JSON_TRUE: snprintf(dst, cap, "True"); break;
        case JSON_FALSE: snprintf(dst, cap, "False"); break;
        case JSON_NULL: snprintf(dst, cap, "None"); break;
    }
    return dst;
}

/* One line of vLLM's list: {'type': …, 'loc': 'body.…', 'msg': …, 'input': …}. */
static void fault(struct faults *f, const char *loc, const char *type, const json_t *input, const char *msg) {
    char shown[SHOWN + 32];
    if (f->n++ >= MAX_FAULTS) return;
    if (f->n == 1) snprintf(f->first, sizeof f->first, "%s", loc);
    const char *quote = strchr(msg, '\'') ? "\"" : "'";
    srv_py_type(input, shown, sizeof shown);
    vc_buf_printf(&f->text, "\n  {'type': '%s', 'loc': '%s', 'msg': %s%s%s, 'input': '%s'}", type, loc, quote, msg,
                  quote, shown);
}

/* ---- scalars ---- */

static bool as_int(const json_t *v, int64_t *out, const char **type, const char **msg) {
    *type = "int_type";
    *msg = "Input should be a valid integer";
    if (json_is_integer(v)) {
        *out = json_integer_value(v);
        return true;
    }
    if (json_is_boolean(v)) {
        *out = json_is_true(v);
        return true;
    }
    if (json_is_real(v)) {
        double d = json_real_value(v);
        *type = "int_from_float";
        *msg = "Input should be a valid integer, got a number with a fractional part";
        if (d != floor(d) || fabs(d) > 9.2e18) return false;
        *out = (int64_t)d;
        return true;
    }
    if (!json_is_string(v)) return false;
    *type = "int_parsing";
    *msg = "Input should be a valid integer, unable to parse string as an integer";
    const char *s = json_string_value(v);
    char *end;
    errno = 0;
    long long x = strtoll(s, &end, 10);
    if (!*s || *end || errno || strlen(s) != json_string_length(v)) return false;
    *out = x;
    return true;
}

static bool as_num(const json_t *v, double *out, const char **type, const char **msg) {
    *type = "float_type";
    *msg = "Input should be a valid number";
    if (json_is_number(v) || json_is_boolean(v)) {
        *out = json_is_boolean(v) ? json_is_true(v) : json_number_value(v);
        return true;
    }
    if (!json_is_string(v)) return false;
    *type = "float_parsing";
    *msg = "Input should be a valid number, unable to parse string as a number";
    const char *s = json_string_value(v);
    char *end;
    *out = strtod(s, &end);
    return *s && !*end && isfinite(*out) && strlen(s) == json_string_length(v);
}

bool srv_word_bool(const char *s, bool *out) {
    static const char *const words[2][7] = { { "false", "0", "off", "f", "no", "n", NULL },
                                             { "true", "1", "on", "t", "yes", "y", NULL } };
    for (int on = 0; on < 2; on++)
        for (int i = 0; words[on][i]; i++)
            if (!strcasecmp(words[on][i], s)) {
                *out = on;
                return true;
            }
    return false;
}

static bool as_bool(const json_t *v, bool *out, const char **type, const char **msg) {
    *type = "bool_type";
    *msg = "Input should be a valid boolean";
    if (json_is_boolean(v)) {
        *out = json_is_true(v);
        return true;
    }
    if (json_is_array(v) || json_is_object(v) || json_is_null(v)) return false;
    *type = "bool_parsing";
    *msg = "Input should be a valid boolean, unable to interpret input";
    if (json_is_number(v)) {
        double d = json_number_value(v);
        *out = d > 0;
        return !(d < 0) && (d <= 0 || (d >= 1 && d <= 1));
    }
    return srv_word_bool(json_string_value(v), out);
}

/* Text that goes to C strings must not hold a NUL. */
static bool as_str(const json_t *v, const char **out, const char **type, const char **msg) {
    *type = "string_type";
    *msg = "Input should be a valid string";
    if (!json_is_string(v)) return false;
    *out = json_string_value(v);
    *type = "value_error";
    *msg = "Input should not contain a NUL character";
    return strlen(*out) == json_string_length(v);
}

/* ---- ranges and words ---- */

static void check_range(const struct srv_field *r, const json_t *v, int64_t x, const char *loc, struct faults *f) {
    char text[96];
    if ((r->flags & LATER) || (x >= r->min && x <= r->max)) return;
    bool low = x < r->min;
    snprintf(text, sizeof text, "Input should be %s than or equal to %lld", low ? "greater" : "less",
             (long long)(low ? r->min : r->max));
    fault(f, loc, low ? "greater_than_equal" : "less_than_equal", v, text);
}

static void check_word(const struct srv_field *r, const json_t *v, const char *loc, struct faults *f) {
    const char *const *w = srv_field_words[r->min], *s = json_string_value(v);
    char text[160] = "Input should be ";
    for (size_t i = 0; w[i]; i++) {
        if (!strcmp(w[i], s)) return;
        size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, "%s'%s'", !i ? "" : w[i + 1] ? ", " : " or ", w[i]);
    }
    fault(f, loc, "literal_error", v, text);
}

/* ---- lists and the rest ---- */

static void check_ints(const struct srv_field *r, const json_t *v, const char *loc, struct faults *f) {
    char at[128];
    const char *type, *msg;
    int64_t x = 0;
    for (size_t i = 0; i < json_array_size(v); i++) {
        const json_t *e = json_array_get(v, i);
        snprintf(at, sizeof at, "%s.%zu", loc, i);
        if (!json_is_integer(e)) {
            if (!as_int(e, &x, &type, &msg)) fault(f, at, type, e, msg);
            else fault(f, at, "int_type", e, "Input should be a valid integer");
        } else {
            check_range(r, e, json_integer_value(e), at, f);
        }
        if (f->n >= MAX_FAULTS) return;
    }
}

static void check_strs(json_t *v, const char *loc, struct faults *f) {
    char at[128];
    const char *type, *msg, *s;
    if (json_is_string(v)) {
        if (!as_str(v, &s, &type, &msg)) fault(f, loc, type, v, msg);
        return;
    }
    if (!json_is_array(v)) {
        fault(f, loc, "list_type", v, "Input should be a valid list");
        return;
    }
    for (size_t i = 0; i < json_array_size(v) && f->n < MAX_FAULTS; i++) {
        snprintf(at, sizeof at, "%s.%zu", loc, i);
        if (!as_str(json_array_get(v, i), &s, &type, &msg)) fault(f, at, type, json_array_get(v, i), msg);
    }
}

static bool asks_for_nothing(const json_t *v) {
    switch (json_typeof(v)) {
        case JSON_STRING: return json_string_length(v) == 0;
        case JSON_ARRAY: return json_array_size(v) == 0;
        case JSON_OBJECT: return json_object_size(v) == 0;
        case JSON_INTEGER: return json_integer_value(v) == 0;
        case JSON_REAL: return !(json_real_value(v) < 0) && !(json_real_value(v) > 0);
        default: return !json_is_true(v);
    }
}

static void read_one(const struct srv_field *r, json_t *v, struct srv_value *out, struct faults *f) {
    char loc[96];
    const char *type = "", *msg = "";
    bool ok = true;
    snprintf(loc, sizeof loc, "body.%s", r->name);
    switch (r->kind) {
        case SRV_NUM: ok = as_num(v, &out->f, &type, &msg); break;
        case SRV_INT:
            ok = as_int(v, &out->i, &type, &msg);
            if (ok) check_range(r, v, out->i, loc, f);
            break;
        case SRV_BOOL: ok = as_bool(v, &out->b, &type, &msg); break;
        case SRV_STR: ok = as_str(v, &out->s, &type, &msg); break;
        case SRV_WORD:
            ok = as_str(v, &out->s, &type, &msg);
            if (ok) check_word(r, v, loc, f);
            break;
        case SRV_INTS:
            ok = json_is_array(v);
            type = "list_type";
            msg = "Input should be a valid list";
            if (ok) check_ints(r, v, loc, f);
            break;
        case SRV_STRS: check_strs(v, loc, f); break;
        case SRV_LIST:
            ok = json_is_array(v);
            type = "list_type";
            msg = "Input should be a valid list";
            break;
        case SRV_OBJ:
            ok = json_is_object(v);
            type = "dict_type";
            msg = "Input should be a valid dictionary";
            break;
        case SRV_ANY: case SRV_REFUSE: break;
    }
    out->json = v;
    out->given = ok;
    if (!ok) fault(f, loc, type, v, msg);
}

static size_t find_row(const char *name, unsigned where) {
    for (size_t i = 0; i < SRV_NUM_FIELDS; i++)
        if ((srv_field_rows[i].bodies & where) && !strcmp(srv_field_rows[i].name, name)) return i;
    return SRV_NUM_FIELDS;
}

static void log_unknown(unsigned where, const json_t *root) {
    const char *name;
    json_t *v;
    char shown[64];
    if (vc_log_level() < VC_LOG_DEBUG) return;
    json_object_foreach((json_t *)(uintptr_t)root, name, v) {
        if (find_row(name, where) == SRV_NUM_FIELDS)
            vc_log_line(VC_LOG_DEBUG, "request: the field '%s' is not known and not used",
                        vc_printable(shown, sizeof shown, name, strlen(name)));
    }
}

static bool answer_faults(struct srv_call *c, struct faults *f) {
    struct vc_buf text = { 0 };
    if (f->n == 0) return true;
    vc_buf_printf(&text, "%u validation error%s:", f->n, f->n == 1 ? "" : "s");
    vc_buf_add(&text, f->text.p ? f->text.p : "", f->text.n);
    struct vc_buf body = { 0 };
    srv_error_body(c, &body, 400, "Bad Request", f->first, text.p ? text.p : "out of memory");
    srv_reply_json(c, 400, &body);
    vc_buf_free(&text);
    return false;
}

bool srv_fields_read(struct srv_call *c, enum srv_body_kind where, const json_t *root, struct srv_fields *out) {
    struct faults f = { 0 };
    char loc[96];
    log_unknown(where, root);
    for (size_t i = 0; i < SRV_NUM_FIELDS; i++) {
        const struct srv_field *r = &srv_field_rows[i];
        if (!(r->bodies & where)) continue;
        json_t *v = json_object_get(root, r->name);
        if (!v || (json_is_null(v) && (r->flags & NULLS))) {
            snprintf(loc, sizeof loc, "body.%s", r->name);
            if (!v && (r->flags & NEEDED)) fault(&f, loc, "missing", root, "Field required");
        } else {
            read_one(r, v, &out->v[i], &f);
        }
    }
    bool ok = answer_faults(c, &f);
    vc_buf_free(&f.text);
    for (size_t i = 0; ok && i < SRV_NUM_FIELDS; i++) {
        const struct srv_field *r = &srv_field_rows[i];
        if (r->kind != SRV_REFUSE || !out->v[i].given || asks_for_nothing(out->v[i].json)) continue;
        ok = srv_refuse_field(c, r->name, "%s is not supported by this server: %s.", r->name, r->text);
    }
    return ok;
}

bool srv_fields_check(struct srv_call *c, enum srv_body_kind where, const json_t *root) {
    struct srv_fields *f = calloc(1, sizeof *f);
    bool ok = f && srv_fields_read(c, where, root, f);
    if (!f) srv_error(c, 503, NULL, NULL, "out of memory");
    free(f);
    return ok;
}
