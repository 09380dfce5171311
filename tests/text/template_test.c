/* SPDX-License-Identifier: Apache-2.0
 * Budgets, error texts, names that a request may not take, continue_final_message, and use from several threads. */
#include <pthread.h>

#include "test.h"
#include "text/template.h"

static struct vc_template *compile(const char *text) {
    struct vc_template *t = NULL;
    vc_err err = VC_ERR_INIT;
    vc_status s = vc_template_compile(&t, text, strlen(text), &err);
    if (s) printf("%s\n", err.text);
    assert_int_equal(s, VC_OK);
    return t;
}

static void check(const char *text, const char *vars, const char *want) {
    struct vc_template *t = compile(text);
    struct vc_buf out = { 0 };
    vc_err err = VC_ERR_INIT;
    json_t *v = vars ? json_loads(vars, JSON_ALLOW_NUL, NULL) : NULL;
    vc_status s = vc_template_render_vars(t, v, 0, NULL, &out, &err);
    if (s) printf("%s: %s\n", text, err.text);
    assert_int_equal(s, VC_OK);
    assert_string_equal(out.p ? out.p : "", want);
    vc_buf_free(&out);
    json_decref(v);
    vc_template_del(t);
}

static void check_error(const char *text, const char *want) {
    struct vc_template *t = NULL;
    struct vc_buf out = { 0 };
    vc_err err = VC_ERR_INIT;
    vc_status s = vc_template_compile(&t, text, strlen(text), &err);
    if (!s) s = vc_template_render_vars(t, NULL, 0, NULL, &out, &err);
    assert_int_equal(s, VC_E_TEMPLATE);
    if (!strstr(err.text, want)) printf("%s: got '%s', want '%s'\n", text, err.text, want);
    assert_non_null(strstr(err.text, want));
    assert_int_equal(out.n, 0);
    vc_buf_free(&out);
    vc_template_del(t);
}

static void errors(void **state) {
    (void)state;
    check_error("a\n{{ x.y }}", "line 2, column 5: 'x' is undefined");
    check_error("{{ 1 | nosuch }}", "line 1, column 8: no filter named 'nosuch'");
    check_error("{{ 1 is nosuch }}", "no test named 'nosuch'");
    check_error("\n\n  {% nosuch %}", "line 3, column 6: unknown tag 'nosuch'");
    check_error("{% if 1 %}{{ 1 | nosuch }}{% endif %}", "no filter named 'nosuch'");
    check_error("x{{ raise_exception('né: 100%') }}", "né: 100%");
    check_error("{% for a in b %}", "the template ends inside a block");
    check_error("{{ [1, 2 }}", "unexpected '}', expected ']'");
    check_error("{% break %}", "outside a loop");
    check_error("{{ 'a' + 1 }}", "can only concatenate str (not \"int\") to str");
    check_error("{% include 'x' %}", "'include' needs other templates");
    check_error("{{ [].append(1) }}", "unsafe");
    check_error("\xff{{ 1 }}", "not valid UTF-8");
    check_error("{{ '\\ud800' }}", "not a character");
    check_error("{{ 9 ** 99999 }}", "4300 digits");
    check_error("{{ '\\N{BULLET}' }}", "characters by name are not supported");
}

/* Inside an `if`, an unknown filter counts only when it is reached. */
static void lazy_names(void **state) {
    (void)state;
    check("{% if false %}{{ 1 | nosuch }}{% endif %}ok", NULL, "ok");
    check("{{ 'ok' if true else 1 | nosuch }}", NULL, "ok");
    check_error("{% if false %}{% for x in [] %}{{ 1 | nosuch }}{% endfor %}{% endif %}ok", "no filter named 'nosuch'");
}

static void limited(const char *text, struct vc_template_limits lim, const char *want) {
    struct vc_template *t = compile(text);
    struct vc_buf out = { 0 };
    vc_err err = VC_ERR_INIT;
    vc_buf_adds(&out, "kept");
    assert_int_equal(vc_template_render_vars(t, NULL, 0, &lim, &out, &err), VC_E_TEMPLATE);
    if (!strstr(err.text, want)) printf("%s: got '%s', want '%s'\n", text, err.text, want);
    assert_non_null(strstr(err.text, want));
    assert_string_equal(out.p, "kept");
    vc_buf_free(&out);
    vc_template_del(t);
}

static void budgets(void **state) {
    (void)state;
    struct vc_template_limits none = { 0 };
    limited("{% for a in range(1000) %}{% for b in range(1000) %}{{ a * b }}{% endfor %}{% endfor %}",
            (struct vc_template_limits){ .steps = 100000 }, "more than 100000 steps");
    limited("{% for a in range(1000) %}0123456789{% endfor %}", (struct vc_template_limits){ .output_bytes = 5000 },
            "more than 5000 bytes");
    limited("{% set x = 'a' * 100000000 %}", (struct vc_template_limits){ .memory_bytes = 1 << 20 }, "bytes of memory");
    limited("{% set ns = namespace(s='ab') %}{% for i in range(100) %}{% set ns.s = ns.s + ns.s %}{% endfor %}", none,
            "bytes of memory");
    limited("{% macro m(n) %}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}", none, "deep");
    limited("{% set ns = namespace(l=[]) %}{% for i in range(5000) %}{% set ns.l = [ns.l] %}{% endfor %}{{ ns.l }}",
            none, "deep");
    limited(
        "{% set ns = namespace(l=[]) %}{% for i in range(5000) %}{% set ns.l = [ns.l] %}{% endfor %}{{ ns.l | tojson }}",
        none, "deep");
    limited("{{ '%1000000000d' % 1 }}", none, "width");
    limited("{{ 'x'.center(100000000000) }}", none, "bytes of memory");
    char deep[4096] = "{{ ";
    memset(deep + 3, '(', 2000);
    vc_err err = VC_ERR_INIT;
    struct vc_template *t = NULL;
    assert_int_equal(vc_template_compile(&t, deep, strlen(deep), &err), VC_E_TEMPLATE);
    assert_null(t);
}

static void reserved(void **state) {
    (void)state;
    static const char *const names[] = { "messages",  "tools",           "documents", "add_generation_prompt",
                                         "bos_token", "raise_exception", "namespace", "strftime_now" };
    struct vc_template *t = compile("{{ bos_token }}{{ messages[0].content }}{{ mine }}");
    json_t *messages = json_loads("[{\"role\": \"user\", \"content\": \"hi\"}]", 0, NULL);
    struct vc_buf out = { 0 };
    vc_err err = VC_ERR_INIT;
    for (size_t i = 0; i < VC_ARRAY_LEN(names); i++) {
        json_t *kw = json_pack("{s:s}", names[i], "stolen");
        struct vc_template_args a = { .messages = messages, .documents = messages, .kwargs = kw, .bos_token = "<s>" };
        assert_int_equal(vc_template_render(t, &a, &out, &err), VC_E_INVALID);
        assert_non_null(strstr(err.text, names[i]));
        json_decref(kw);
    }
    json_t *kw = json_pack("{s:s}", "mine", "!");
    struct vc_template_args a = { .messages = messages, .kwargs = kw, .bos_token = "<s>" };
    assert_int_equal(vc_template_render(t, &a, &out, &err), VC_OK);
    assert_string_equal(out.p, "<s>hi!");
    json_decref(kw);
    vc_template_del(t);
    out.n = 0;      /* what the renderer was not given may come from the variables */
    t = compile("{{ documents }}{{ eos_token }}{{ bos_token }}");
    kw = json_pack("{s:s, s:s}", "documents", "docs", "eos_token", "</s>");
    a.kwargs = kw;
    assert_int_equal(vc_template_render(t, &a, &out, &err), VC_OK);
    assert_string_equal(out.p, "docs</s><s>");
    vc_buf_free(&out);
    json_decref(kw);
    json_decref(messages);
    vc_template_del(t);
}

/* Behaviour of transformers' render_jinja_template with continue_final_message. */
static void continues(void **state) {
    (void)state;
    static const struct { const char *tmpl, *messages, *want;
    } cases[] = {
        { "{% for m in messages %}<{{ m.content }}>{% endfor %}", "[{\"content\": \"q\"}, {\"content\": \"so \"}]",
          "<q><so " },
        { "{% for m in messages %}<{{ m.content | trim }}>{% endfor %}",
          "[{\"content\": \"q\"}, {\"content\": \"so \"}]", "<q><so" },
        { "{% for m in messages %}<{{ m.content[0].text }}>{% endfor %}", "[{\"content\": [{\"text\": \"part\"}]}]",
          "<part" },
        { "nothing of it", "[{\"content\": \"so\"}]", NULL },
        { "{{ messages[-1].x }}", "[{\"x\": \"so\"}]", NULL },
    };
    for (size_t i = 0; i < VC_ARRAY_LEN(cases); i++) {
        struct vc_template *t = compile(cases[i].tmpl);
        json_t *messages = json_loads(cases[i].messages, 0, NULL);
        struct vc_template_args a = { .messages = messages, .continue_final_message = true };
        struct vc_buf out = { 0 };
        vc_err err = VC_ERR_INIT;
        vc_status s = vc_template_render(t, &a, &out, &err);
        assert_int_equal(s, cases[i].want ? VC_OK : VC_E_TEMPLATE);
        if (cases[i].want) assert_string_equal(out.p, cases[i].want);
        vc_buf_free(&out);
        json_decref(messages);
        vc_template_del(t);
    }
}

static void *render_often(void *arg) {
    const struct vc_template *t = arg;
    size_t bad = 0;
    for (int i = 0; i < 50; i++) {
        struct vc_buf out = { 0 };
        vc_err err = VC_ERR_INIT;
        if (vc_template_render_vars(t, NULL, 0, NULL, &out, &err) || strcmp(out.p, "0:a 1:A 2:a 3:A ")) bad++;
        vc_buf_free(&out);
    }
    return (void *)bad;
}

static void threads(void **state) {
    (void)state;
    struct vc_template *t = compile(
        "{% macro m(x) %}{{ x }}:{{ caller() }} {% endmacro %}{% for i in range(4) %}{% call m(i) %}{{ loop.cycle('a', 'a' | upper) }}{% endcall %}{% endfor %}");
    pthread_t th[4];
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&th[i], NULL, render_often, t), 0);
    for (int i = 0; i < 4; i++) {
        void *bad;
        pthread_join(th[i], &bad);
        assert_null(bad);
    }
    vc_template_del(t);
}

/* Results of Jinja2 3.1.6 and Python 3.11, beyond the snippets of the reference data. */
static void language(void **state) {
    (void)state;
    static const struct { const char *t, *want; } cases[] = {
#include "text/template_cases.def"
    };
    for (size_t i = 0; i < VC_ARRAY_LEN(cases); i++)
        check(
            cases[i].t,
            "{\"a\": [1, 2, 3, 4, 5], \"s\": \"Hello World\", \"d\": {\"b\": 2, \"a\": 1, \"C\": 3}, \"u\": \"naïve 😀\"}",
            cases[i].want);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors), cmocka_unit_test(lazy_names), cmocka_unit_test(budgets), cmocka_unit_test(reserved),
        cmocka_unit_test(continues), cmocka_unit_test(threads), cmocka_unit_test(language),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
