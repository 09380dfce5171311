/* SPDX-License-Identifier: Apache-2.0
 * Random schemas: every text that a random walk through the grammar ends with fulfils the schema by the slow validator
 * (schema_check.c, keyword by keyword on the parsed value), and no value that it calls invalid is accepted.
 * VLLMC_SCHEMA_COUNT=N takes more schemas; VLLMC_SCHEMA_DUMP=FILE writes the accepted texts for
 * tests/text/make/schema_judge.py, which asks jsonschema. */
#include "schema_run.h"

#include "base/rng.h"
#include "text/gram/schema_build.h"

enum { SCHEMAS = 1200, WALKS = 10, VALUES = 10, DEPTH = 3, LONGEST = 600 };

static uint64_t seed;
static uint32_t below(uint32_t n) { return vc_rng_below(&seed, n); }
static bool often(uint32_t percent) { return below(100) < percent; }
static const char *const names[] = { "a", "b", "c", "key", "é", "x y", "q\"r", "x1" };

static json_t *schema(int depth);

static json_t *number_schema(void) {
    json_t *s = json_object();
    int lo = (int)below(200) - 100;
    json_object_set_new(s, "type", json_string(often(60) ? "integer" : "number"));
    if (often(50)) json_object_set_new(s, often(70) ? "minimum" : "exclusiveMinimum", json_integer(lo));
    if (often(50))
        json_object_set_new(s, often(70) ? "maximum" : "exclusiveMaximum", json_integer(lo + 1 + (int)below(300)));
    if (often(20)) json_object_set_new(s, "multipleOf", json_integer(1 + (int)below(9)));
    if (often(10)) json_object_set_new(s, "not", json_pack("{s:i}", "const", lo + 1));
    return s;
}

static json_t *string_schema(void) {
    static const char *const patterns[] = { "^[a-d]+$", "a", "^x?y{1,3}$", "^\\d", "b$", "^.{2}$", "[^a]" };
    json_t *s = json_pack("{s:s}", "type", "string");
    int lo = (int)below(4);
    if (often(40)) json_object_set_new(s, "minLength", json_integer(lo));
    if (often(40)) json_object_set_new(s, "maxLength", json_integer(lo + (int)below(4)));
    if (often(30)) json_object_set_new(s, "pattern", json_string(patterns[below(7)]));
    if (often(8)) json_object_set_new(s, "format", json_string(often(50) ? "date" : "ipv4"));
    if (often(10)) json_object_set_new(s, "not", json_pack("{s:[s,s]}", "enum", "", "ab"));
    return s;
}

static json_t *values(void) {
    static const char *const pool[] = { "1",         "2.5", "\"a\"", "\"ab\"", "null", "true",          "[1,2]",
                                        "{\"q\":1}", "[]",  "{}",    "\"\"",   "-7",   "\"long text\"", "false" };
    json_t *list = json_array();
    for (uint32_t n = 1 + below(4); n > 0; n--)
        json_array_append_new(list, json_loads(pool[below(14)], JSON_DECODE_ANY, NULL));
    return json_pack("{s:o}", "enum", list);
}

static json_t *array_schema(int depth) {
    json_t *s = json_pack("{s:s, s:o}", "type", "array", "items", schema(depth - 1));
    int lo = (int)below(3);
    if (often(40)) json_object_set_new(s, "minItems", json_integer(lo));
    if (often(40)) json_object_set_new(s, "maxItems", json_integer(lo + (int)below(4)));
    if (often(20)) json_object_set_new(s, "prefixItems", json_pack("[o]", schema(depth - 1)));
    if (often(15)) json_object_set_new(s, "contains", schema(0));
    return s;
}

static json_t *object_schema(int depth) {
    json_t *s = json_object(), *p = json_object(), *r = json_array();
    uint32_t first = below(8), n = below(5);
    json_object_set_new(s, "type", json_string("object"));
    for (uint32_t i = 0; i < n; i++) {
        const char *name = names[(first + i * 3) % 8];
        json_object_set_new(p, name, schema(depth - 1));
        if (often(40)) json_array_append_new(r, json_string(name));
    }
    json_object_set_new(s, "properties", p);
    json_object_set_new(s, "required", r);
    if (often(50)) json_object_set_new(s, "additionalProperties", often(60) ? json_false() : schema(0));
    if (often(15)) json_object_set_new(s, "patternProperties", json_pack("{s:o}", "^x", schema(0)));
    if (often(10)) json_object_set_new(s, "propertyNames", json_pack("{s:i}", "maxLength", 2));
    if (often(15)) json_object_set_new(s, "maxProperties", json_integer(1 + (int)below(4)));
    if (often(15)) json_object_set_new(s, "minProperties", json_integer(1));
    if (often(10)) json_object_set_new(s, "dependentRequired", json_pack("{s:[s]}", "a", "b"));
    if (often(10)) json_object_set_new(s, "not", json_pack("{s:[s]}", "required", "c"));
    return s;
}

static json_t *mixed(int depth) {
    switch (below(5)) {
    case 0: return json_pack("{s:[o,o]}", "anyOf", schema(depth - 1), schema(depth - 1));
    case 1: return json_pack("{s:[o,o]}", "allOf", schema(depth - 1), often(50) ? schema(depth - 1) : json_object());
    case 2: return json_pack("{s:[o,o]}", "oneOf", schema(depth - 1), schema(depth - 1));
    case 3: return json_pack("{s:o, s:o, s:o}", "if", schema(0), "then", schema(depth - 1), "else", schema(depth - 1));
    default: return json_pack("{s:o}", "not", schema(0));
    }
}

static json_t *schema(int depth) {
    switch (below(depth > 0 ? 9 : 5)) {
    case 0: return json_pack("{s:s}", "type", often(50) ? "null" : "boolean");
    case 1: return number_schema();
    case 2: return string_schema();
    case 3: return values();
    case 4: return often(50) ? number_schema() : json_object();
    case 5: return array_schema(depth);
    case 6: return mixed(depth);
    default: return object_schema(depth);
    }
}

/* A text that the grammar accepts, or nothing when the walk gets too long. */
static bool walk(struct vc_matcher *m, struct vc_buf *out) {
    static const char *const pieces[] = {
        "\"", "}", "]", ",", ":", "{", "[", "0", "1", "2", "5", "9",  "-", ".", "e",  "t", "r", "u",
        "f",  "a", "l", "s", "n", "b", "x", "y", "q", "k", "é", "日", "😀", " ", "\\", "/", "3", "4",
        "6",  "7", "8", "E", "d", "c", "o", "i", "g", "p", "h", "w",  "+", "m", "j",  "z", "v",
    };
    enum { PIECES = sizeof pieces / sizeof *pieces };
    bool escape = false;    /* the last byte was a backslash that begins an escape */
    while (out->n < LONGEST) {
        if (vc_matcher_accepting(m) && (vc_matcher_done(m) || often(40))) return true;
        bool digit = out->n && out->p[out->n - 1] >= '0' && out->p[out->n - 1] <= '9';
        uint32_t from = (out->n > 60 || digit) && often(80) ? 0 : below(PIECES);
        bool moved = false;
        for (uint32_t i = 0; i < PIECES && !moved; i++) {
            const char *p = pieces[(from + i) % PIECES];
            if (*p == 'u' && escape) continue;    /* no half surrogates, which the parser here refuses */
            moved = vc_matcher_accept_bytes(m, p, strlen(p));
            if (moved) {
                vc_buf_adds(out, p);
                escape = *p == '\\' && !escape;
            }
        }
        if (!moved) return vc_matcher_accepting(m);
    }
    return false;
}

/* A number that the parser here would round or refuse. */
static bool long_number(const struct vc_buf *text) {
    size_t run = 0;
    for (size_t i = 0; i < text->n; i++) {
        run = text->p[i] >= '0' && text->p[i] <= '9' ? run + 1 : 0;
        if (run > 15 || (run > 2 && i > run && strchr("eE+-", text->p[i - run]))) return true;
    }
    return false;
}

static json_t *random_value(int depth) {
    switch (below(depth > 0 ? 9 : 6)) {
    case 0: return json_null();
    case 1: return json_boolean(often(50));
    case 2: return json_integer((int)below(300) - 150);
    case 3: return json_real(((int)below(400) - 200) / 4.0);
    case 4: return json_string(names[below(8)]);
    case 5: return json_string(often(50) ? "ab" : "2024-02-29");
    case 6: {
        json_t *a = json_array();
        for (uint32_t n = below(4); n > 0; n--) json_array_append_new(a, random_value(depth - 1));
        return a;
    }
    default: {
        json_t *o = json_object();
        for (uint32_t n = below(5); n > 0; n--) json_object_set_new(o, names[below(8)], random_value(depth - 1));
        return o;
    }
    }
}

struct judge { struct vc_schema_doc doc; struct vc_schema_cx cx; struct vc_goal *goal; };

static bool judged(struct judge *j, const json_t *v) {
    bool valid = false;
    assert_int_equal(vc_schema_valid(&j->cx, j->goal, v, &valid), VC_OK);
    return valid;
}

struct tally { size_t schemas, refused, empty, walks, accepted, invalid, cut; };

static void one_schema(uint32_t number, struct tally *t, FILE *dump) {
    seed = number;
    json_t *s = schema(DEPTH);
    struct vc_buf spec = schema_text(s);
    struct vc_grammar *g;
    struct vc_grammar_where where;
    vc_err err;
    vc_status st = schema_compile(&g, VC_GRAMMAR_JSON_SCHEMA, &spec, VC_GRAMMAR_WS_DEFAULT, &where, &err);
    t->schemas++;
    t->refused += st == VC_E_UNSUPPORTED;
    t->empty += st == VC_E_INVALID;
    if (st != VC_OK && st != VC_E_UNSUPPORTED && !strstr(err.text, "no value") && !strstr(err.text, "no text") &&
        !strstr(err.text, "nothing"))
        printf("schema %u: %s: %s\n", number, err.text, spec.p);
    if (st == VC_OK) {
        struct judge j = { 0 };
        assert_int_equal(vc_schema_doc_take(&j.doc, s, NULL, NULL), VC_OK);
        j.cx.doc = &j.doc;
        j.goal = vc_schema_goal(&j.cx, (uint32_t[]){ VC_LIT(1) }, 1);
        for (int i = 0; i < WALKS; i++) {
            struct vc_matcher *m = NULL;
            struct vc_buf text = { 0 };
            assert_int_equal(vc_matcher_new(&m, g, NULL, &err), VC_OK);
            bool ended = walk(m, &text) && !long_number(&text);
            json_t *v = ended ? json_loadb(text.p ? text.p : "", text.n, JSON_DECODE_ANY, NULL) : NULL;
            t->walks++;
            t->cut += !ended;
            if (ended && (!v || !judged(&j, v))) {
                printf("schema %u: %s\n accepts %s\n", number, spec.p, text.p);
                t->invalid++;
            }
            if (dump && ended) {
                json_t *row = json_pack("{s:O, s:s%}", "spec", s, "text", text.p ? text.p : "", text.n);
                json_dumpf(row, dump, JSON_COMPACT);
                fputc('\n', dump);
                json_decref(row);
            }
            json_decref(v);
            vc_buf_free(&text);
            vc_matcher_del(m);
        }
        for (int i = 0; i < VALUES; i++) {
            json_t *v = random_value(2);
            struct vc_buf text = schema_text(v);
            bool taken = schema_accepts(g, text.p, text.n, NULL);
            t->accepted += taken;
            if (taken && !judged(&j, v)) {
                printf("schema %u: %s\n accepts the value %s\n", number, spec.p, text.p);
                t->invalid++;
            }
            vc_buf_free(&text);
            json_decref(v);
        }
        vc_schema_matchers_free(&j.cx);
        free(j.cx.goal);
        vc_arena_free(&j.cx.arena);
        vc_schema_doc_free(&j.doc);
    }
    vc_grammar_unref(g);
    vc_buf_free(&spec);
    json_decref(s);
}

static void random_schemas(void **state) {
    (void)state;
    struct tally t = { 0 };
    const char *path = getenv("VLLMC_SCHEMA_DUMP");
    FILE *dump = path ? fopen(path, "wb") : NULL;
    const char *count = getenv("VLLMC_SCHEMA_COUNT");
    uint32_t last = count ? (uint32_t)strtoul(count, NULL, 10) : SCHEMAS;
    for (uint32_t i = 1; i <= last; i++) one_schema(i, &t, dump);
    if (dump) fclose(dump);
    printf(
        "%zu schemas, %zu refused, %zu without a value; %zu walks, %zu cut; %zu random values accepted; %zu invalid\n",
        t.schemas, t.refused, t.empty, t.walks, t.cut, t.accepted, t.invalid);
    assert_int_equal(t.invalid, 0);
    assert_true((last < SCHEMAS || t.walks > 10000) && t.cut < t.walks / 4 && t.refused < t.schemas / 4);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(random_schemas) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
