/* SPDX-License-Identifier: Apache-2.0
 * chat_request.h and what template.h says of a template, against vLLM's own code and Jinja2
 * (tests/goldens/make/chat.py). */
#include "test.h"
#include "base/str.h"
#include "text/chat_request.h"

static int differ;      /* rows of the file being read */

static void each_row(const char *file, void (*fn)(const json_t *row)) {
    const char *path = vc_golden(file);
    assert_non_null(path);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t rows = 0;
    differ = 0;
    for (int c; (c = getc(f)) != EOF; rows++) {
        ungetc(c, f);
        json_error_t e;
        json_t *row = json_loadf(f, JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, &e);
        assert_non_null(row);
        fn(row);
        json_decref(row);
        while ((c = getc(f)) == '\n') {}
        ungetc(c, f);
    }
    fclose(f);
    printf("%s: %zu rows as in the reference\n", file, rows);
    assert_int_equal(differ, 0);
    assert_true(rows > 10);
}

/* Also the order of members must be the same: templates print them. */
static void same(const json_t *row, const json_t *got, vc_status s, const vc_err *err) {
    const json_t *want = json_object_get(row, "output");
    char *in = json_dumps(row, JSON_COMPACT), *g = got ? json_dumps(got, JSON_COMPACT | JSON_ENCODE_ANY) : NULL,
         *w = want ? json_dumps(want, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    if ((s != VC_OK) != (want == NULL) || (want && strcmp(w, g ? g : "null") != 0))
        print_error("%s\n  want %s\n  got  %s\n", in, w ? w : "an error", s ? err->text : g), differ++;
    if (s) assert_int_equal(s, VC_E_INVALID);
    free(in);
    free(g);
    free(w);
}

static void one_conversation(const json_t *row) {
    struct vc_chat_style style = { .format = strcmp(json_string_value(json_object_get(row, "format")), "openai")
                                                 ? VC_CONTENT_STRING
                                                 : VC_CONTENT_PARTS,
                                   .developer = json_is_true(json_object_get(row, "developer")),
                                   .model_name = "M" };
    json_t *out = NULL;
    vc_err err = VC_ERR_INIT;
    vc_status s = vc_chat_messages(&out, json_object_get(row, "messages"), &style, NULL, &err);
    same(row, out, s, &err);
    json_decref(out);
}

static void one_tools(const json_t *row) {
    json_t *out = NULL;
    vc_err err = VC_ERR_INIT;
    vc_status s = vc_chat_tools(&out, json_object_get(row, "tools"), NULL, &err);
    same(row, out, s, &err);
    json_decref(out);
}

static void one_kwargs(const json_t *row) {
    json_t *out = NULL;
    vc_err err = VC_ERR_INIT;
    vc_status s = vc_chat_kwargs(&out, json_object_get(row, "defaults"), json_object_get(row, "request"),
                                 json_string_value(json_object_get(row, "reasoning_effort")), NULL, &err);
    same(row, out, s, &err);
    json_decref(out);
}

static void check_variables(const struct vc_template *t, const json_t *want, const char *what) {
    size_t n = 0;
    for (; vc_template_variable(t, n); n++) {
        const char *w = json_string_value(json_array_get(want, n)), *g = vc_template_variable(t, n);
        if (!w || strcmp(w, g) != 0) fail_msg("%s: variable %zu is %s, not %s", what, n, g, w ? w : "none");
        assert_true(vc_template_uses(t, g));
    }
    if (n != json_array_size(want)) fail_msg("%s: %zu variables, not %zu", what, n, json_array_size(want));
    assert_false(vc_template_uses(t, "no such variable"));
}

static struct vc_template *compiled(const char *text, size_t n, const char *what) {
    struct vc_template *t = NULL;
    vc_err err = VC_ERR_INIT;
    if (vc_template_compile(&t, text, n, &err)) fail_msg("%s: %s", what, err.text);
    return t;
}

static void one_snippet(const json_t *row) {
    const char *text = json_string_value(json_object_get(row, "template"));
    struct vc_template *t = compiled(text, strlen(text), text);
    check_variables(t, json_object_get(row, "variables"), text);
    vc_template_del(t);
}

static void conversations(void **state) { (void)state; each_row("chat/messages.jsonl", one_conversation); }
static void tools(void **state) { (void)state; each_row("chat/tools.jsonl", one_tools); }
static void kwargs(void **state) { (void)state; each_row("chat/kwargs.jsonl", one_kwargs); }
static void variables(void **state) { (void)state; each_row("chat/variables.jsonl", one_snippet); }

/* The real templates: content format, variables, developer role. */
static void real_templates(void **state) {
    (void)state;
    json_error_t e;
    json_t *all = json_load_file(vc_golden("chat/templates.json"), 0, &e);
    assert_non_null(all);
    size_t n = 0, parts = 0, left = 0;
    const char *name;
    json_t *row;
    json_object_foreach(all, name, row) {
        char file[256];
        static char text[1 << 20];
        snprintf(file, sizeof file, "chat-templates/templates/%s", name);
        const char *path = vc_golden(file);
        left += !path;
        if (!path) continue;
        FILE *f = fopen(path, "rb");
        size_t len = fread(text, 1, sizeof text, f);
        fclose(f);
        struct vc_template *t = compiled(text, len, name);
        check_variables(t, json_object_get(row, "variables"), name);
        assert_int_equal(vc_template_knows_developer(t), json_is_true(json_object_get(row, "developer")));
        enum vc_content_format got = vc_template_content_format(t),
                               want = strcmp(json_string_value(json_object_get(row, "format")), "openai")
                                          ? VC_CONTENT_STRING
                                          : VC_CONTENT_PARTS;
        if (got != want) fail_msg("%s: the content format is %s", name, got == VC_CONTENT_PARTS ? "parts" : "string");
        parts += got == VC_CONTENT_PARTS;
        n++;
        vc_template_del(t);
    }
    json_decref(all);
    if (left) vc_left_out("real chat templates");
    printf("%zu templates: variables and content format as in vLLM (%zu take parts)\n", n, parts);
}

/* The path names the field, and stands before the words. */
static void faults(void **state) {
    (void)state;
    static const struct { const char *messages, *path, *words;
    } cases[] = {
        { "[]", "", "Cannot apply chat template to an empty conversation. Provide at least one message." },
        { "{}", "messages", "must be a list, not object" },
        { "[{'role':'user','content':'a'}, 3]", "messages[1]", "must be an object, not integer" },
        { "[{'role':'user','content':3}]", "messages[0].content", "must be a string or a list of parts, not integer" },
        { "[{'role':'user','content':['a',{'type':'bogus'}]}]", "messages[0].content[1].type",
          "Unsupported chat content part type: 'bogus'. Supported types: text, refusal, thinking, tool_reference" },
        { "[{'role':'user','content':[{'text':'a'}]}]", "messages[0].content[0].type",
          "Missing 'type' field in a content part" },
        { "[{'role':'user','content':[{'type':'image_url','image_url':{'url':'x'}}]}]", "messages[0].content[0].type",
          "M is not a multimodal model" },
        { "[{'role':'user','content':[{'image_url':'x'}]}]", "messages[0].content[0]", "M is not a multimodal model" },
        { "[{'role':'assistant','tool_calls':[{'type':'function','id':'c','function':{'name':'f','arguments':{}}}]}]",
          "messages[0].tool_calls[0].function.arguments", "must be a string, not object" },
        { "[{'role':'assistant','tool_calls':[{'type':'function','id':'c','function':{'name':'f',"
          "'arguments':'{\\\"n\\\": 123456789012345678901234}'}}]}]",
          "messages[0].tool_calls[0].function.arguments", "holds a number beyond 64 bits" },
        { "[{'content':'x'}]", "messages[0].role", "must be a string, not nothing" },
        { "[{'role':'developer','content':'x','tools':[{'type':'function','function':{}}]}]",
          "messages[0].tools[0].function.name", "must be a string, not nothing" },
        { "[{'role':'developer','content':'x','tools':'y'}]", "messages[0].tools", "must be a list, not string" },
        { "[{'role':'assistant','content':'x','reasoning':3}]", "messages[0].reasoning",
          "must be a string, not integer" },
    };
    for (size_t i = 0; i < VC_ARRAY_LEN(cases); i++) {
        char text[512], want[256];
        snprintf(text, sizeof text, "%s", cases[i].messages);
        for (char *p = text; *p; p++)
            if (*p == '\'') *p = '"';
        json_error_t e;
        json_t *in = json_loads(text, 0, &e), *out = NULL;
        assert_non_null(in);
        struct vc_chat_style style = { VC_CONTENT_STRING, true, "M" };
        struct vc_chat_fault fault;
        vc_err err = VC_ERR_INIT;
        assert_int_equal(vc_chat_messages(&out, in, &style, &fault, &err), VC_E_INVALID);
        assert_null(out);
        snprintf(want, sizeof want, "%s%s%s", cases[i].path, *cases[i].path ? ": " : "", cases[i].words);
        assert_string_equal(fault.path, cases[i].path);
        assert_string_equal(err.text, want);
        json_decref(in);
    }
}

/* Where a template prints only one of the two forms, that form is taken whatever its loops look like. */
static void probes(void **state) {
    (void)state;
    static const struct { const char *text; enum vc_content_format want;
    } cases[] = {
        { "{% for m in messages %}{{ m.content }}{% endfor %}", VC_CONTENT_STRING },
        { "{% for m in messages %}{% for p in m.content %}{{ p.text }}{% endfor %}{% endfor %}", VC_CONTENT_PARTS },
        { "{% for m in messages %}{{ m.content[0].text }}{% endfor %}", VC_CONTENT_PARTS },
        { "{% for m in messages %}{{ m.content | map(attribute='text') | join }}{% endfor %}", VC_CONTENT_PARTS },
        { "{% for m in messages %}{{ m.content + '' }}{% if false %}{% for c in m.content %}{% endfor %}{% endif %}{% "
          "endfor %}",
          VC_CONTENT_STRING },
        { "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}{{ "
          "p.text }}"
          "{% endfor %}{% endif %}{% endfor %}",
          VC_CONTENT_PARTS },
        { "{{ raise_exception('no') }}", VC_CONTENT_STRING },
        { "", VC_CONTENT_STRING },
    };
    for (size_t i = 0; i < VC_ARRAY_LEN(cases); i++) {
        struct vc_template *t = compiled(cases[i].text, strlen(cases[i].text), cases[i].text);
        if (vc_template_content_format(t) != cases[i].want) fail_msg("%s", cases[i].text);
        vc_template_del(t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(conversations), cmocka_unit_test(tools),
                                        cmocka_unit_test(kwargs),        cmocka_unit_test(variables),
                                        cmocka_unit_test(faults),        cmocka_unit_test(probes),
                                        cmocka_unit_test(real_templates) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
