/* SPDX-License-Identifier: Apache-2.0
 * JSON schemas: places of errors, white space, budgets; structural tags; tools. */
#include "schema_run.h"
#include "text/tool_schema.h"

static struct vc_grammar *compiled(enum vc_grammar_kind kind, const char *spec, int whitespace) {
    struct vc_buf b = { 0 };
    struct vc_grammar *g;
    struct vc_grammar_where where;
    vc_err err;
    vc_buf_adds(&b, spec);
    if (schema_compile(&g, kind, &b, whitespace, &where, &err)) {
        printf("%s\n%.300s\n", err.text, spec);
        fail();
    }
    vc_buf_free(&b);
    return g;
}

static bool takes(struct vc_grammar *g, const char *text) { return schema_accepts(g, text, strlen(text), NULL); }

static void errors(void **state) {
    static const struct { const char *spec; vc_status status; const char *keyword, *path;
    } row[] = {
        { "{\"type\":\"strin\"}", VC_E_INVALID, "type", "#" },
        { "{\"properties\":{\"a\":{\"type\":\"array\",\"minItems\":-1}}}", VC_E_INVALID, "minItems", "#/properties/a" },
        { "{\"properties\":{\"a/b~c\":{\"anyOf\":[true,{\"anyOf\":[]}]}}}", VC_E_INVALID, "anyOf",
          "#/properties/a~1b~0c/anyOf/1" },
        { "{\"items\":3}", VC_E_INVALID, "items", "#" },
        { "{\"items\":[{}]}", VC_E_INVALID, "items", "#" },
        { "{\"$defs\":{\"x\":{\"$ref\":\"http://a.b/c\"}}}", VC_E_INVALID, "$ref", "#/$defs/x" },
        { "{\"$ref\":\"#/$defs/none\"}", VC_E_INVALID, "$ref", "#" },
        { "{\"$defs\":{\"a\":{\"anyOf\":[{\"$ref\":\"#/$defs/a\"},true]}},\"$ref\":\"#/$defs/a\"}", VC_E_INVALID,
          "$ref", "#/$defs/a/anyOf/0" },
        { "{\"properties\":{\"p\":{\"pattern\":\"^(a$\"}}}", VC_E_INVALID, "pattern", "#/properties/p" },
        { "{\"patternProperties\":{\"(?=a)\":{}}}", VC_E_UNSUPPORTED, "patternProperties", "#" },
        { "{\"type\":\"array\",\"uniqueItems\":true}", VC_E_UNSUPPORTED, "uniqueItems", "#" },
        { "{\"type\":\"string\",\"nullable\":true}", VC_E_UNSUPPORTED, "nullable", "#" },
        { "{\"dependencies\":{}}", VC_E_UNSUPPORTED, "dependencies", "#" },
        { "{\"items\":[],\"additionalItems\":false}", VC_E_INVALID, "items", "#" },
        { "{\"not\":{\"multipleOf\":3}}", VC_E_UNSUPPORTED, "multipleOf", "#/not" },
        { "{\"type\":\"object\",\"not\":{\"propertyNames\":{\"maxLength\":2}}}", VC_E_UNSUPPORTED, "propertyNames",
          "#/not" },
        { "{\"format\":\"iri\"}", VC_E_UNSUPPORTED, "format", "#" },
        { "{\"multipleOf\":0}", VC_E_INVALID, "multipleOf", "#" },
        { "{\"type\":\"number\",\"multipleOf\":0.000001234567}", VC_E_UNSUPPORTED, "multipleOf", "#" },
        { "{\"minimum\":3,\"exclusiveMaximum\":3}", VC_E_INVALID, "minimum", "#" },
        { "{\"exclusiveMinimum\":true}", VC_E_INVALID, "exclusiveMinimum", "#" },
        { "{\"required\":[\"a\",\"a\"]}", VC_E_INVALID, "required", "#" },
        { "{\"type\":\"object\",\"minProperties\":3,\"properties\":{\"a\":{}}}", VC_E_UNSUPPORTED, "minProperties",
          "#" },
        { "false", VC_E_INVALID, "", "#" },
        { "[]", VC_E_INVALID, "", "#" },
        { "{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#\"}},\"required\":[\"a\"]}", VC_E_INVALID, "", "#" },
        { "{\"$dynamicRef\":\"#x\",\"$defs\":{\"a\":{\"$dynamicAnchor\":\"x\"},\"b\":{\"$dynamicAnchor\":\"x\"}}}",
          VC_E_UNSUPPORTED, "$dynamicRef", "#" },
    };
    (void)state;
    size_t bad = 0;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct vc_buf b = { 0 };
        struct vc_grammar *g;
        struct vc_grammar_where where;
        vc_err err;
        vc_buf_adds(&b, row[i].spec);
        vc_status s = schema_compile(&g, VC_GRAMMAR_JSON_SCHEMA, &b, VC_GRAMMAR_WS_DEFAULT, &where, &err);
        if (s != row[i].status || strcmp(where.keyword, row[i].keyword) != 0 || strcmp(where.path, row[i].path) != 0) {
            printf("%s: %s, keyword \"%s\", path \"%s\": %s\n", row[i].spec, vc_status_name(s), where.keyword,
                   where.path, err.text);
            bad++;
        }
        vc_grammar_unref(g);
        vc_buf_free(&b);
    }
    assert_int_equal(bad, 0);
}

static void white_space(void **state) {
    (void)state;
    const char *spec =
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}}}";
    char few[200], many[200], most[200];
    snprintf(few, sizeof few, "{%*s\"a\"%*s:%*s[%*s1%*s,%*s2%*s]%*s}", 32, "", 32, "", 32, "", 3, "", 1, "", 2, "", 4,
             "", 9, "");
    snprintf(many, sizeof many, "{%*s\"a\":[]}", 33, "");
    snprintf(most, sizeof most, "{%*s}", 150, "");
    struct vc_grammar *g = compiled(VC_GRAMMAR_JSON_SCHEMA, spec, VC_GRAMMAR_WS_DEFAULT);
    assert_true(takes(g, few));
    assert_false(takes(g, many));
    assert_false(takes(g, " {}"));
    assert_false(takes(g, "{} "));
    assert_true(takes(g, "{\t\r\n }"));
    assert_false(takes(g, "{\v}"));
    vc_grammar_unref(g);
    g = compiled(VC_GRAMMAR_JSON_SCHEMA, spec, VC_GRAMMAR_WS_ANY);
    assert_true(takes(g, many));
    assert_true(takes(g, most));
    vc_grammar_unref(g);
    g = compiled(VC_GRAMMAR_JSON_SCHEMA, spec, VC_GRAMMAR_WS_COMPACT);
    assert_true(takes(g, "{\"a\":[1,2]}"));
    assert_false(takes(g, "{\"a\": [1,2]}"));
    vc_grammar_unref(g);
    g = compiled(VC_GRAMMAR_JSON_SCHEMA, spec, 1);
    assert_true(takes(g, "{ \"a\" : [ 1 , 2 ] }"));
    assert_false(takes(g, "{ \"a\" :  [1]}"));
    vc_grammar_unref(g);
}

static void any_object(void **state) {
    (void)state;
    struct vc_buf deep = { 0 };
    struct vc_grammar *g = compiled(VC_GRAMMAR_JSON_OBJECT, "", VC_GRAMMAR_WS_DEFAULT);
    assert_true(takes(g, "{}"));
    assert_true(takes(g, "{\"a\": [1, {\"\\u00e9\\n\": null}], \"b\": -1.5e+3}"));
    assert_false(takes(g, "[]"));
    assert_false(takes(g, "{\"a\":01}"));
    for (int i = 0; i < 2000; i++) vc_buf_adds(&deep, "{\"a\":[");
    for (int i = 0; i < 2000; i++) vc_buf_adds(&deep, "]}");
    assert_true(schema_accepts(g, deep.p, deep.n, NULL));
    assert_false(schema_accepts(g, deep.p, deep.n - 1, NULL));
    vc_buf_free(&deep);
    vc_grammar_unref(g);
}

/* A name that is not listed can't stand for a listed one in another spelling. */
static void names(void **state) {
    (void)state;
    struct vc_grammar *g =
        compiled(VC_GRAMMAR_JSON_SCHEMA,
                 "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"b\\n\":{\"type\":\"null\"}}}",
                 VC_GRAMMAR_WS_DEFAULT);
    assert_true(takes(g, "{\"a\":1,\"aa\":\"x\",\"\":2}"));
    assert_false(takes(g, "{\"a\":1,\"\\u0061\":\"x\"}"));
    assert_false(takes(g, "{\"\\u0061\":\"x\"}"));
    assert_false(takes(g, "{\"b\\u000a\":1}"));
    assert_false(takes(g, "{\"a\":1,\"a\":1}"));
    vc_grammar_unref(g);
}

/* Large limits are counted; what needs too much is a clean error. */
static void hostile(void **state) {
    static const char *const fine[] = {
        "{\"type\":\"string\",\"maxLength\":1000000}",
        "{\"type\":\"array\",\"maxItems\":1000000,\"items\":{\"type\":\"integer\"}}",
        "{\"type\":\"string\",\"pattern\":\"^(a+)+$\"}",
        "{\"type\":\"string\",\"pattern\":\"^[a-z]{1,100000}$\"}",
        "{\"type\":\"integer\",\"minimum\":-1e300,\"maximum\":1e300}",
        "{\"type\":\"number\",\"exclusiveMinimum\":1e-300}",
        "{\"type\":\"array\",\"prefixItems\":[{},{},{}],\"minItems\":500000,\"maxItems\":1000000}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
        vc_grammar_unref(compiled(VC_GRAMMAR_JSON_SCHEMA, fine[i], VC_GRAMMAR_WS_DEFAULT));
    struct vc_buf b = { 0 };
    struct vc_grammar *g;
    struct vc_grammar_where where;
    vc_err err;
    for (int i = 0; i < 100000; i++) vc_buf_adds(&b, "{\"not\":");
    assert_int_not_equal(schema_compile(&g, VC_GRAMMAR_JSON_SCHEMA, &b, VC_GRAMMAR_WS_DEFAULT, &where, &err), VC_OK);
    vc_buf_free(&b);
    vc_buf_adds(&b, "{\"allOf\":[");    /* 2^40 combinations */
    for (int i = 0; i < 40; i++)
        vc_buf_printf(&b, "%s{\"anyOf\":[{\"required\":[\"a%d\"]},{\"required\":[\"b%d\"]}]}", i ? "," : "", i, i);
    vc_buf_adds(&b, "]}");
    assert_int_equal(schema_compile(&g, VC_GRAMMAR_JSON_SCHEMA, &b, VC_GRAMMAR_WS_DEFAULT, &where, &err), VC_E_INVALID);
    vc_buf_free(&b);
    vc_buf_adds(&b, "{\"enum\":[");
    for (int i = 0; i < 5000; i++) vc_buf_printf(&b, "%s\"value number %d\"", i ? "," : "", i * 7919 % 5000);
    vc_buf_adds(&b, "]}");
    assert_int_equal(schema_compile(&g, VC_GRAMMAR_JSON_SCHEMA, &b, VC_GRAMMAR_WS_DEFAULT, &where, &err), VC_OK);
    assert_true(takes(g, "\"value number 4999\""));
    assert_false(takes(g, "\"value number 5000\""));
    vc_grammar_unref(g);
    vc_buf_free(&b);
    vc_buf_adds(&b, "{\"type\":\"object\",\"properties\":{");
    for (int i = 0; i < 1000; i++) vc_buf_printf(&b, "%s\"p%d\":{\"type\":\"integer\"}", i ? "," : "", i);
    vc_buf_adds(&b, "},\"additionalProperties\":false}");
    assert_int_equal(schema_compile(&g, VC_GRAMMAR_JSON_SCHEMA, &b, VC_GRAMMAR_WS_DEFAULT, &where, &err), VC_OK);
    assert_true(takes(g, "{\"p3\":1,\"p998\":2}"));
    assert_false(takes(g, "{\"p4\":1,\"p3\":2}"));
    vc_grammar_unref(g);
    vc_buf_free(&b);
}

struct tag_case { const char *spec; const char *accept[6], *reject[8]; };

#define WEATHER                                                                                                        \
    "{\"type\":\"tag\",\"begin\":\"<f=w>\",\"content\":{\"type\":\"json_schema\",\"json_schema\":{\"type\":"           \
    "\"integer\"}},\"end\":\"</f>\"}"
#define TIME                                                                                                           \
    "{\"type\":\"tag\",\"begin\":\"<f=t>\",\"content\":{\"type\":\"regex\",\"pattern\":\"[a-c]+\"},\"end\":[\"</"      \
    "f>\",\"$\"]}"
static const struct tag_case tags[] = {
    { "{\"type\":\"structural_tag\",\"structures\":[{\"begin\":\"<f=w>\",\"schema\":{\"type\":\"integer\"},\"end\":\"</"
      "f>\"},"
      "{\"begin\":\"<f=t>\",\"schema\":{\"type\":\"boolean\"},\"end\":\"</f>\"}],\"triggers\":[\"<f=\"]}",
      { "", "free text < <f", "a<f=w>12</f>b", "<f=w>1</f><f=t>true</f> é", "<<f=w>1</f>" },
      { "<f=", "<f=x>1</f>", "a<f=w>x</f>", "<f=w>1", "<f=w>true</f>", "<f=w>1</f>b<f=q" } },
    { "{\"format\":{\"type\":\"triggered_tags\",\"triggers\":[\"<f=\"],\"tags\":[" WEATHER "," TIME
      "],\"at_least_one\":true,\"stop_after_first\":true}}",
      { "<f=w>1</f>", "<f=t>abc</f>", "<f=t>a$" },
      { "", "x<f=w>1</f>", "<f=w>1</f>x", "<f=t>d</f>" } },
    { "{\"format\":{\"type\":\"triggered_tags\",\"triggers\":[\"<f=\"],\"tags\":[" WEATHER "," TIME
      "],\"at_least_one\":true}}",
      { "<f=w>1</f>", "<f=w>1</f>x", "<f=w>1</f>x<f=t>a$b" },
      { "", "x<f=w>1</f>", "<f=w>1</f><f=" } },
    { "{\"format\":{\"type\":\"triggered_tags\",\"triggers\":[\"<f=\"],\"tags\":[" WEATHER
      "],\"stop_after_first\":true,\"excludes\":[\"STOP\"]}}",
      { "", "abc", "x<f=w>1</f>", "STO<f=w>1</f>" },
      { "STOP", "STOP<f=w>1</f>", "x<f=w>1</f>x" } },
    { "{\"format\":{\"type\":\"tags_with_separator\",\"tags\":[" WEATHER "," TIME "],\"separator\":\", \"}}",
      { "", "<f=w>1</f>", "<f=w>1</f>, <f=t>a$" },
      { "x", "<f=w>1</f><f=w>1</f>", "<f=w>1</f>, " } },
    { "{\"format\":{\"type\":\"tags_with_separator\",\"tags\":[" WEATHER "],\"separator\":\"\",\"at_least_one\":true}}",
      { "<f=w>1</f>", "<f=w>1</f><f=w>2</f>" },
      { "", "<f=w>1" } },
    { "{\"format\":{\"type\":\"sequence\",\"elements\":[{\"type\":\"tag\",\"begin\":\"<think>\",\"content\":{\"type\":"
      "\"any_text\"},\"end\":\"</think>\"},"
      "{\"type\":\"triggered_tags\",\"triggers\":[\"<f=\"],\"tags\":[" WEATHER "]}]}}",
      { "<think></think>", "<think>a<f=</thi</think>b", "<think>\n</think><f=w>1</f>" },
      { "", "<think>a", "<think>a</think></think><f=", "a<think></think>" } },
    { "{\"format\":{\"type\":\"or\",\"elements\":[{\"type\":\"const_string\",\"value\":\"yes\"},{\"type\":\"grammar\","
      "\"grammar\":\"root ::= \\\"n\\\" \\\"o\\\"+\"}]}}",
      { "yes", "no", "nooo" },
      { "", "n", "yesno" } },
    { "{\"format\":{\"type\":\"sequence\",\"elements\":[{\"type\":\"optional\",\"content\":{\"type\":\"const_string\","
      "\"value\":\"a\"}},"
      "{\"type\":\"plus\",\"content\":{\"type\":\"const_string\",\"value\":\"b\"}},{\"type\":\"star\",\"content\":{"
      "\"type\":\"const_string\",\"value\":\"c\"}},"
      "{\"type\":\"repeat\",\"min\":1,\"max\":2,\"content\":{\"type\":\"const_string\",\"value\":\"d\"}}]}}",
      { "bd", "abbccdd", "bdd" },
      { "ad", "bddd", "b", "aabd" } },
    { "{\"format\":{\"type\":\"any_text\",\"max_chars\":3,\"excludes\":[\"ab\"]}}",
      { "", "éé日", "ba" },
      { "ab", "aaaa", "xab" } },
    { "{\"format\":{\"type\":\"dispatch\",\"rules\":[[\"#\",{\"type\":\"json_schema\",\"json_schema\":{\"type\":"
      "\"integer\"}}],[\"@\",{\"type\":\"const_string\",\"value\":\"x\"}]]}}",
      { "", "a#1b@x", "@x@x" },
      { "#", "#a", "@y" } },
    { "{\"format\":{\"type\":\"dispatch\",\"loop\":false,\"rules\":[[\"#\",{\"type\":\"const_string\",\"value\":\"x\"}]"
      "]}}",
      { "", "a#x" },
      { "#x#x", "#xa" } },
};

static void structural_tags(void **state) {
    (void)state;
    size_t bad = 0;
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        struct vc_grammar *g = compiled(VC_GRAMMAR_STRUCTURAL_TAG, tags[i].spec, VC_GRAMMAR_WS_DEFAULT);
        for (size_t k = 0; k < 14; k++) {
            const char *text = k < 6 ? tags[i].accept[k] : tags[i].reject[k - 6];
            if (!text) continue;
            if (takes(g, text) == (k < 6)) continue;
            printf("tag case %zu: should %s \"%s\"\n", i, k < 6 ? "accept" : "reject", text);
            bad++;
        }
        vc_grammar_unref(g);
    }
    assert_int_equal(bad, 0);
}

static void tag_errors(void **state) {
    static const struct { const char *spec; vc_status status; const char *keyword, *path;
    } row[] = {
        { "{}", VC_E_INVALID, "format", "#" },
        { "{\"structures\":[{\"begin\":\"<a\",\"schema\":{\"type\":\"x\"},\"end\":\"\"}],\"triggers\":[\"<\"]}",
          VC_E_INVALID, "type", "#/structures/0/schema" },
        { "{\"structures\":[{\"begin\":\"b\",\"schema\":{},\"end\":\"\"}],\"triggers\":[\"<\"]}", VC_E_INVALID, "begin",
          "#/structures/0" },
        { "{\"format\":{\"type\":\"sequence\",\"elements\":[{\"type\":\"token\",\"token\":3}]}}", VC_E_UNSUPPORTED,
          "type", "#/format/elements/0" },
        { "{\"format\":{\"type\":\"any_text\",\"max_tokens\":3}}", VC_E_UNSUPPORTED, "max_tokens", "#/format" },
        { "{\"format\":{\"type\":\"json_schema\",\"style\":\"qwen_xml\",\"json_schema\":{}}}", VC_E_UNSUPPORTED,
          "style", "#/format" },
        { "{\"format\":{\"type\":\"regex\",\"pattern\":\"[\"}}", VC_E_INVALID, "pattern", "#/format" },
        { "{\"format\":{\"type\":\"nonsense\"}}", VC_E_UNSUPPORTED, "type", "#/format" },
    };
    (void)state;
    size_t bad = 0;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct vc_buf b = { 0 };
        struct vc_grammar *g;
        struct vc_grammar_where where;
        vc_err err;
        vc_buf_adds(&b, row[i].spec);
        vc_status s = schema_compile(&g, VC_GRAMMAR_STRUCTURAL_TAG, &b, VC_GRAMMAR_WS_DEFAULT, &where, &err);
        if (s != row[i].status || strcmp(where.keyword, row[i].keyword) != 0 || strcmp(where.path, row[i].path) != 0) {
            printf("%s: %s, keyword \"%s\", path \"%s\": %s\n", row[i].spec, vc_status_name(s), where.keyword,
                   where.path, err.text);
            bad++;
        }
        vc_grammar_unref(g);
        vc_buf_free(&b);
    }
    assert_int_equal(bad, 0);
}

static struct vc_grammar *tool_grammar(const char *tools, const char *name, int flags) {
    struct vc_buf spec = { 0 };
    vc_err err = VC_ERR_INIT;
    if (vc_schema_tool_call(&spec, tools, strlen(tools), name, flags, &err)) {
        printf("%s\n", err.text);
        fail();
    }
    struct vc_grammar *g = compiled(VC_GRAMMAR_JSON_SCHEMA, spec.p, VC_GRAMMAR_WS_DEFAULT);
    vc_buf_free(&spec);
    return g;
}

static void tools(void **state) {
    static const char list[] = "[{\"type\":\"function\",\"function\":{\"name\":\"get_weather\",\"parameters\":{"
                               "\"type\":\"object\",\"properties\":{\"city\":{\"$ref\":\"#/$defs/c\"}},"
                               "\"required\":[\"city\"],\"additionalProperties\":false,\"$defs\":{\"c\":{\"type\":"
                               "\"string\",\"maxLength\":12}}}}},"
                               "{\"type\":\"function\",\"function\":{\"name\":\"now\"}}]";
    struct vc_buf spec = { 0 };
    vc_err err = VC_ERR_INIT;
    (void)state;
    struct vc_grammar *g = tool_grammar(list, NULL, 0);
    assert_true(takes(g, "[{\"name\": \"get_weather\", \"parameters\": {\"city\": \"Paris\"}}]"));
    assert_true(
        takes(g, "[{\"name\":\"now\",\"parameters\":{}},{\"name\":\"get_weather\",\"parameters\":{\"city\":\"\"}}]"));
    assert_false(takes(g, "[]"));
    assert_false(takes(g, "[{\"name\":\"other\",\"parameters\":{}}]"));
    assert_false(takes(g, "[{\"name\":\"get_weather\",\"parameters\":{\"city\":\"longer than twelve\"}}]"));
    assert_false(takes(g, "[{\"name\":\"get_weather\"}]"));
    vc_grammar_unref(g);
    g = tool_grammar(list, NULL, VC_TOOL_ONE_CALL);
    assert_false(takes(g, "[{\"name\":\"now\",\"parameters\":{}},{\"name\":\"now\",\"parameters\":{}}]"));
    vc_grammar_unref(g);
    g = tool_grammar(list, "get_weather", 0);
    assert_true(takes(g, "{\"city\": \"Paris\"}"));
    assert_false(takes(g, "{}"));
    vc_grammar_unref(g);
    assert_int_equal(vc_schema_tool_call(&spec, list, sizeof list - 1, "nope", 0, &err), VC_E_INVALID);
    assert_int_equal(vc_schema_tool_call(&spec, "[]", 2, NULL, 0, &err), VC_E_INVALID);
    assert_int_equal(vc_schema_tool_call(&spec, "[{\"function\":3}]", 16, NULL, 0, &err), VC_E_INVALID);
    vc_buf_free(&spec);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors),     cmocka_unit_test(white_space), cmocka_unit_test(any_object),
        cmocka_unit_test(names),      cmocka_unit_test(hostile),     cmocka_unit_test(structural_tags),
        cmocka_unit_test(tag_errors), cmocka_unit_test(tools),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
