/* SPDX-License-Identifier: Apache-2.0
 * The tojson filter: json.dumps(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "text/jinja/jinja_run.h"

static void put_text(vc_jx *x, struct vc_jbuf *b, const struct vc_jstr *s, bool ascii) {
    char esc[16];
    size_t from = 0;
    vc_j_putc(x, b, '"');
    for (size_t i = 0; i < s->n;) {
        unsigned char c = (unsigned char)s->p[i];
        uint32_t cp = c;
        size_t w = c < 0x80 ? 1 : vc_utf8_decode(s->p + i, s->n - i, &cp);
        if (w == 0) w = 1;
        static const char from_c[] = "\"\\\n\r\t\b\f", to_c[] = "\"\\nrtbf";
        const char *hit = c && c < 0x80 ? strchr(from_c, (char)c) : NULL;
        if (hit) snprintf(esc, sizeof esc, "\\%c", to_c[hit - from_c]);
        else if (c < 0x20 || (ascii && c >= 0x7F && cp < 0x10000)) snprintf(esc, sizeof esc, "\\u%04x", cp);
        else if (ascii && cp >= 0x10000)
            snprintf(esc, sizeof esc, "\\u%04x\\u%04x", 0xD800 + ((cp - 0x10000) >> 10),
                     0xDC00 + ((cp - 0x10000) & 0x3FF));
        else esc[0] = '\0';
        if (esc[0]) {
            vc_j_put(x, b, s->p + from, i - from);
            vc_j_puts(x, b, esc);
            from = i + w;
        }
        i += w;
    }
    vc_j_put(x, b, s->p + from, s->n - from);
    vc_j_putc(x, b, '"');
}

static void put_number(vc_jx *x, struct vc_jbuf *b, vc_jv v) {
    if (v.t == VC_J_FLOAT && !isfinite(v.u.f))
        vc_j_puts(x, b, isnan(v.u.f) ? "NaN" : v.u.f < 0 ? "-Infinity" : "Infinity");
    else vc_j_put_repr(x, b, v);
}

static void newline(vc_jx *x, struct vc_jbuf *b, const struct vc_jjson *o, uint32_t level) {
    if (!o->indent) return;
    vc_j_putc(x, b, '\n');
    vc_j_putn(x, b, o->indent->p, o->indent->n, level);
}

static void put_value(vc_jx *x, struct vc_jbuf *b, vc_jv v, const struct vc_jjson *o, uint32_t level);

static void put_list(vc_jx *x, struct vc_jbuf *b, const struct vc_jlist *l, const struct vc_jjson *o, uint32_t level) {
    if (!l->n) {
        vc_j_puts(x, b, "[]");
        return;
    }
    vc_j_putc(x, b, '[');
    for (size_t i = 0; i < l->n; i++) {
        if (i) vc_j_puts_str(x, b, o->item_sep);
        newline(x, b, o, level + 1);
        put_value(x, b, l->v[i], o, level + 1);
    }
    newline(x, b, o, level);
    vc_j_putc(x, b, ']');
}

static void put_key(vc_jx *x, struct vc_jbuf *b, vc_jv k, bool ascii) {
    if (k.t == VC_J_STR) {
        put_text(x, b, k.u.s, ascii);
        return;
    }
    vc_j_putc(x, b, '"');
    if (k.t == VC_J_NONE) vc_j_puts(x, b, "null");
    else if (k.t == VC_J_BOOL) vc_j_puts(x, b, k.u.b ? "true" : "false");
    else if (vc_j_is_num(k)) put_number(x, b, k);
    else vc_j_raise(x, "keys must be str, int, float, bool or None, not %s", vc_j_type_name(k));
    vc_j_putc(x, b, '"');
}

static void put_dict(vc_jx *x, struct vc_jbuf *b, const struct vc_jdict *d, const struct vc_jjson *o, uint32_t level) {
    if (!d->n) {
        vc_j_puts(x, b, "{}");
        return;
    }
    vc_jv *order = vc_j_array(x, d->n, sizeof *order), *keys = vc_j_array(x, d->n, sizeof *keys);
    for (size_t i = 0; i < d->n; i++) {
        order[i] = vc_j_int((int64_t)i);
        keys[i] = d->e[i].k;
    }
    if (o->sort) vc_j_sort(x, order, keys, d->n, false);
    vc_j_putc(x, b, '{');
    for (size_t i = 0; i < d->n; i++) {
        const struct vc_jent *e = &d->e[order[i].u.i];
        if (i) vc_j_puts_str(x, b, o->item_sep);
        newline(x, b, o, level + 1);
        put_key(x, b, e->k, o->ascii);
        vc_j_puts_str(x, b, o->key_sep);
        put_value(x, b, e->v, o, level + 1);
    }
    newline(x, b, o, level);
    vc_j_putc(x, b, '}');
}

static void put_value(vc_jx *x, struct vc_jbuf *b, vc_jv v, const struct vc_jjson *o, uint32_t level) {
    vc_j_step(x, 1);
    vc_j_enter(x);
    switch (v.t) {
    case VC_J_NONE: vc_j_puts(x, b, "null"); break;
    case VC_J_BOOL: vc_j_puts(x, b, v.u.b ? "true" : "false"); break;
    case VC_J_INT: case VC_J_BIG: case VC_J_FLOAT: put_number(x, b, v); break;
    case VC_J_STR: put_text(x, b, v.u.s, o->ascii); break;
    case VC_J_LIST: case VC_J_TUPLE: put_list(x, b, v.u.l, o, level); break;
    case VC_J_DICT: put_dict(x, b, v.u.d, o, level); break;
    default: vc_j_raise(x, "Object of type %s is not JSON serializable", vc_j_type_name(v));
    }
    vc_j_leave(x);
}

void vc_j_put_json(vc_jx *x, struct vc_jbuf *b, vc_jv v, const struct vc_jjson *o) { put_value(x, b, v, o, 0); }
