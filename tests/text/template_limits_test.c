/* SPDX-License-Identifier: Apache-2.0
 * Templates that want too much: each is a clean error that names its limit. All renders have a deadline; VC_SHOW=1 prints how
 * long each case took. */
#include "test.h"
#include "base/clock.h"
#include "base/str.h"
#include "text/jinja/jinja_method.h"
#include "text/template.h"

enum { MS = 80 };

/* Doubles a value of the namespace n times. */
#define DOUBLE(n, start, step) "{% set ns = namespace(v=" start ") %}{% for i in range(" #n ") %}{% set ns.v = " step " %}{% endfor %}"

static const struct { const char *text, *want; } cases[] = {
    { "{% for i in range(999999999) %}{% endfor %}", "range too big" },
    { "{% for i in range(0, 999999999999, 1) %}{% endfor %}", "range too big" },
    { "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}", "" },
    { "{% macro f(n) %}{% for i in range(9) %}{{ f(n - 1) if n }}{% endfor %}{% endmacro %}{{ f(90) }}", "" },
    { "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "deep" },
    { "{% macro f(x) %}{{ x(x) }}{% endmacro %}{{ f(f) }}", "deep" },
    { "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", "deep" },
    { "{% block b %}{{ self.b() }}{% endblock %}", "deep" },
    { "{% macro m() %}{{ caller() }}{% endmacro %}{% macro k() %}{% call m() %}{{ k() }}{% endcall %}{% endmacro %}{{ k() }}", "deep" },
    { DOUBLE(100, "'x'", "ns.v ~ ns.v") "{{ ns.v }}", "bytes of memory" },
    { DOUBLE(100, "'x'", "ns.v + ns.v"), "bytes of memory" },
    { DOUBLE(100, "[1]", "ns.v + ns.v"), "bytes of memory" },
    { DOUBLE(100, "(1,)", "ns.v * 2"), "bytes of memory" },
    { DOUBLE(40, "'x'", "ns.v.replace('x', 'xx')"), "" },
    { DOUBLE(60, "'x'", "ns.v.join([ns.v, ns.v])"), "bytes of memory" },
    { DOUBLE(40, "'a'", "'%s%s' % (ns.v, ns.v)"), "bytes of memory" },
    { DOUBLE(40, "'a'", "'{0}{0}'.format(ns.v)"), "bytes of memory" },
    { "{% set ns = namespace(v=0) %}{% for i in range(100000) %}{% for j in [1, 2, 3] %}{% for k in 'abc' %}{% for l in (1, 2, 3) %}"
      "{% set ns.v = ns.v + 1 %}{% endfor %}{% endfor %}{% endfor %}{% endfor %}", "" },
    { DOUBLE(2000, "[]", "[ns.v]") "{{ ns.v }}", "deep" },
    { DOUBLE(2000, "[]", "[ns.v]") "{{ ns.v | tojson }}", "deep" },
    { DOUBLE(2000, "[]", "[ns.v]") "{{ ns.v | pprint }}", "deep" },
    { DOUBLE(2000, "{}", "{'a': ns.v}") "{{ ns.v | tojson(indent=2) }}", "deep" },
    { DOUBLE(2000, "()", "(ns.v,)") "{{ {ns.v: 1} }}", "deep" },
    { DOUBLE(2000, "[]", "[ns.v]") "{% set a = ns.v %}" DOUBLE(2000, "[]", "[ns.v]") "{{ ns.v == a }}", "deep" },
    { DOUBLE(2000, "[1]", "[ns.v]") "{% set a = ns.v %}" DOUBLE(2000, "[2]", "[ns.v]") "{{ ns.v < a }}", "deep" },
    { DOUBLE(99, "[1]", "[ns.v, ns.v]") "{% set a = ns.v %}" DOUBLE(99, "[1]", "[ns.v, ns.v]") "{{ ns.v == a }}", "longer than" },
    { DOUBLE(99, "(1,)", "(ns.v, ns.v)") "{{ {ns.v: 1} }}", "longer than" },
    { DOUBLE(99, "[1]", "[ns.v, ns.v]") "{{ ns.v }}", "" },
    { DOUBLE(99, "[1]", "[ns.v, ns.v]") "{{ ns.v | tojson }}", "" },
    { DOUBLE(99, "[1]", "[ns.v, ns.v]") "{{ ns.v | pprint }}", "" },
    { DOUBLE(99, "[1]", "[ns.v, ns.v]") "{% set a = ns.v %}" DOUBLE(99, "[1]", "[ns.v, ns.v]") "{{ [a, ns.v] | sort }}", "longer than" },
    { "{% for i in range(100000) %}{{ 'x' * 100000 }}{% endfor %}", "" },
    { "{{ 'x' * 100000000 }}", "" },
    { "{{ 'x' * 10000000000000 }}", "bytes of memory" },
    { "{{ [0] * 10000000000000 }}", "bytes of memory" },
    { "{{ '%999999999d' % 1 }}", "width" },
    { "{{ '%.999999999f' % 1 }}", "" },
    { "{{ '%*d' % (999999999, 1) }}", "" },
    { "{{ '{:999999999}'.format(1) }}", "width" },
    { "{{ '{:.999999999f}'.format(1.5) }}", "" },
    { "{{ '{:{}}'.format(1, 999999999999999999999999) }}", "" },
    { "{{ 'x'.center(9999999999) }}", "bytes of memory" },
    { "{{ 'x'.ljust(9999999999) }}", "bytes of memory" },
    { "{{ 'x'.zfill(9999999999) }}", "bytes of memory" },
    { "{{ '\t'.expandtabs(9999999999) }}", "bytes of memory" },
    { "{{ 'x' | center(9999999999) }}", "bytes of memory" },
    { "{{ 'a\nb' | indent(9999999999) }}", "bytes of memory" },
    { "{{ [1] | tojson(indent=9999999999) }}", "bytes of memory" },
    { "{{ [1] | batch(9999999999, 1) | list }}", "" },
    { "{{ [1] | slice(9999999999) | list }}", "" },
    { "{{ lipsum(9999999999) }}", "" },
    { "{{ 9 ** 99999999 }}", "4300 digits" },
    { "{{ 9 ** 99 ** 99 }}", "4300 digits" },
    { "{{ 1 | round(-99999999) }}", "4300 digits" },
    { DOUBLE(99, "10", "ns.v * ns.v"), "4300 digits" },
    { "{% for i in range(100000) %}{% set x = (10 ** 4000) // (3 ** 4000) %}{% endfor %}", "longer than" },
    { "{% set a = 'a' * 1000000 %}{% for i in range(100000) %}{% set x = a.find('a' * 500000 ~ 'b') %}{% endfor %}", "" },
    { "{% set a = 'a' * 9000000 %}{% for i in range(100000) %}{% set x = a.find('b' ~ 'a' * 30) %}{% endfor %}", "" },
    { "{% set a = 'a' * 9000000 %}{% for i in range(100000) %}{% set x = a.rfind('a' * 40 ~ 'b') %}{% endfor %}", "" },
    { "{% set a = 'a' * 9000000 %}{% for i in range(100000) %}{% set x = a.count('aa') %}{% endfor %}", "longer than" },
    { "{% set a = 'a' * 9000000 %}{% for i in range(100000) %}{% set x = a.strip('b') %}{% set y = a == a ~ '' %}{% endfor %}", "" },
    { "{% set a = 'a' * 9000000 %}{% set b = 'b' * 9000000 ~ 'a' %}{{ a.strip(b) | length }}", "" },
    { "{% set a = 'a' * 9000000 %}{% for i in range(100000) %}{% set x = a < a %}{% endfor %}", "longer than" },
    { "{% set a = 'a' * 9000000 %}{% for i in range(100000) %}{% set x = a in a %}{% endfor %}", "longer than" },
    { "{% set a = 'a' * 9000000 %}{% for i in range(100000) %}{% set x = {a: 1} %}{% endfor %}", "longer than" },
    { "{% set a = '\u00e9' * 4000000 %}{% for i in range(100000) %}{% set x = a[3999999] %}{% endfor %}", "longer than" },
    { "{% set a = '\u00e9' * 4000000 %}{% for i in range(100000) %}{% set x = a[3999990:3999999] %}{% endfor %}", "longer than" },
    { "{% set a = 'a' * 4000000 %}{% for i in range(100000) %}{% set x = a.isalpha() %}{% endfor %}", "longer than" },
    { "{% set a = 'a' * 4000000 %}{% for i in range(100000) %}{% set x = a.startswith((a, a, a)) %}{% endfor %}", "" },
    { "{% set a = 'a' * 4000000 %}{% for i in range(100000) %}{% set x = a is lower %}{% set y = a | wordcount %}{% endfor %}", "longer than" },
    { "{% set a = ('x',) * 100000 %}{% for i in range(100000) %}{% set x = 'y' in a %}{% endfor %}", "longer than" },
    { "{{ ('http://' ~ 'a.' * 1000000 ~ 'com') | urlize | length }}{{ ('(' * 900000 ~ 'http://a.com' ~ ')' * 900000) | urlize | length }}"
      "{% for i in range(100000) %}{% set x = ('(' * 10000 ~ ')' * 10000) | urlize %}{% endfor %}", "" },
    { "{{ ('&' * 9000000) | striptags | length }}{{ ('<' * 9000000) | striptags | length }}{{ ('<!--' * 900000) | striptags | length }}"
      "{% for i in range(100000) %}{% set x = ('<' * 100000) | striptags %}{% endfor %}", "" },
    { "{% set a = 'word ' * 200000 %}{% for i in range(10000) %}{% set x = a | wordwrap(20) %}{% endfor %}", "" },
    { "{% set a = 'word ' * 200000 %}{% for i in range(10000) %}{% set x = a | title %}{% endfor %}", "" },
    { "{% set a = 'w ' * 100000 %}{{ a | pprint | length }}{{ ('w' * 1000000) | pprint | length }}{{ ('w\n' * 100000) | pprint | length }}"
      "{% for i in range(10000) %}{% set x = a | pprint %}{% endfor %}", "" },
    { "{% set a = 'abc' * 1000000 %}{% for i in range(10000) %}{% set x = a.translate({97: 98}) %}{% endfor %}", "" },
    { "{% set ns = namespace(d={}) %}{% for i in range(100000) %}{% set ns.d = dict(ns.d, **{i | string: i}) %}{% endfor %}", "" },
    { "{% set l = range(100000) | list %}{% for i in range(1000) %}{% set x = l | sort(reverse=true) | unique | map('string') | join %}{% endfor %}", "" },
};

static bool is_limit(const char *text) {
    static const char *const words[] = { "bytes of memory", "writes more than", "longer than", "steps", "deep", "not supported",
                                         "4300 digits", "too big", "width" };
    for (size_t i = 0; i < VC_ARRAY_LEN(words); i++)
        if (strstr(text, words[i])) return true;
    return false;
}

static void renders(void **state) {
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < VC_ARRAY_LEN(cases); i++) {
        struct vc_template *t = NULL;
        struct vc_buf out = { 0 };
        vc_err err = VC_ERR_INIT;
        bool by_time = !*cases[i].want || strstr(cases[i].want, "longer");
        struct vc_template_limits limits = { .ms = by_time ? MS : 20000, .memory_bytes = by_time ? 64 << 20 : 8 << 20 };
        if (strstr(cases[i].want, "longer")) limits.steps = UINT64_MAX;       /* a fast machine is through with the steps before the time */
        if (vc_template_compile(&t, cases[i].text, strlen(cases[i].text), &err)) fail_msg("%s: %s", cases[i].text, err.text);
        double before = vc_now();
        vc_status s = vc_template_render_vars(t, NULL, 0, &limits, &out, &err);
        if (getenv("VC_SHOW")) printf("%6.0f ms  %-60.60s  %s\n", 1000 * (vc_now() - before), cases[i].text, err.text);
        if (s != VC_E_TEMPLATE || !strstr(err.text, cases[i].want) || !is_limit(err.text))
            print_error("%s: %s\n", cases[i].text, s ? err.text : "no error"), wrong++;
        assert_int_equal(out.n, 0);
        vc_buf_free(&out);
        vc_template_del(t);
    }
    assert_int_equal(wrong, 0);
}

/* Templates that nest or repeat much: compiled or refused, and looked through, without trouble. */
static void compiles(void **state) {
    (void)state;
    static const char *const parts[][3] = {
        { "{{ ", "(", "" }, { "{{ ", "[", "" }, { "{{ ", "{1:", "" }, { "{{ ", "not ", "x }}" }, { "{{ ", "-", "1 }}" },
        { "{{ x", "|upper", " }}" }, { "{{ x", ".a", " }}" }, { "{{ x", "[0]", " }}" }, { "{{ x", "()", " }}" },
        { "{{ 1", "+1", " }}" }, { "{{ 1", "~1", " }}" }, { "{{ 1", " and 1", " }}" }, { "{{ 1", " < 1", " }}" },
        { "{{ 1", " if 1 else 1", " }}" }, { "{{ 1", " is odd is odd", " }}" }, { "", "{% if x %}", "" },
        { "{% if x %}", "{% elif x %}", "{% endif %}" }, { "", "{% for a in b %}", "" }, { "", "{% set x %}", "" },
        { "", "{% macro m() %}", "" }, { "", "{% with a=1 %}", "" }, { "", "{% call x() %}", "" }, { "", "{% filter upper %}", "" },
        { "", "{{ x }}", "" }, { "", "{% set x = 1 %}", "" }, { "", "{# #}", "" }, { "", "{", "" }, { "", "{%", "" }, { "", "{#", "" },
        { "", "{{", "" }, { "{{ \"", "\\", "\" }}" }, { "{{ ", "9", " }}" }, { "{{ x(", "a=1,", ") }}" }, { "{{ ", "\"a\" ", " }}" },
        { "{% set ", "a,", " = x %}" }, { "", "{% raw %}", "" }, { "", "\n  {%- if a -%}\n", "" }, { "{{ ", "a.b if ", "" },
        { "{% for x in messages %}", "{% for y in x.content %}{% endfor %}", "{% endfor %}" }, { "", "{% block b %}", "" },
        { "{{ x", " is divisibleby", " }}" }, { "{{ '", "{}", "'.format() }}" }, { "{% macro m(", "a=1,", ") %}{% endmacro %}" },
    };
    for (size_t i = 0; i < VC_ARRAY_LEN(parts); i++) {
        struct vc_buf b = { 0 };
        vc_buf_adds(&b, parts[i][0]);
        for (int k = 0; k < 30000; k++) vc_buf_adds(&b, parts[i][1]);
        vc_buf_adds(&b, parts[i][2]);
        struct vc_template *t = NULL;
        struct vc_buf out = { 0 };
        vc_err err = VC_ERR_INIT;
        struct vc_template_limits limits = { .ms = MS };
        double before = vc_now();
        vc_status s = vc_template_compile(&t, b.p, b.n, &err);
        double compiled = vc_now();
        if (s == VC_OK) {
            (void)vc_template_content_format(t);
            s = vc_template_render_vars(t, NULL, 0, &limits, &out, &err);
        }
        if (getenv("VC_SHOW"))
            printf("%6.0f %6.0f ms  %s%s…%s  %s\n", 1000 * (compiled - before), 1000 * (vc_now() - compiled), parts[i][0], parts[i][1],
                   parts[i][2], s ? err.text : "ok");
        assert_true(s == VC_OK || s == VC_E_TEMPLATE);
        vc_template_del(t);
        vc_buf_free(&out);
        vc_buf_free(&b);
    }
}

/* Messages nested more deeply than a render may go. */
static void deep_messages(void **state) {
    (void)state;
    json_t *v = json_array();
    for (int i = 0; i < 1500; i++) v = json_pack("[o]", v);
    struct vc_template *t = NULL;
    struct vc_buf out = { 0 };
    vc_err err = VC_ERR_INIT;
    assert_int_equal(vc_template_compile(&t, "x", 1, &err), VC_OK);
    struct vc_template_args a = { .messages = v };
    assert_int_equal(vc_template_render(t, &a, &out, &err), VC_E_TEMPLATE);
    assert_non_null(strstr(err.text, "deep"));
    vc_template_del(t);
    json_decref(v);
}

/* The linear search against a plain one, on texts of few letters. */
static void search(void **state) {
    (void)state;
    uint64_t seed = 7;
    char text[200], pat[80];
    for (int round = 0; round < 60000; round++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        size_t n = 60 + (seed >> 33) % 140, m = 1 + (seed >> 41) % 70, period = 1 + (seed >> 50) % 9, hit = SIZE_MAX, last = SIZE_MAX;
        for (size_t i = 0; i < n; i++) text[i] = (char)('a' + ((i % period == 0) ^ ((seed >> (i % 60)) % 17 == 0)));
        for (size_t i = 0; i < m; i++) pat[i] = (char)('a' + (i % period == 0));
        if ((seed >> 60) & 1) memcpy(pat, text + (seed >> 20) % (n - VC_MIN(m, n - 1)), VC_MIN(m, n - 1));
        for (size_t i = 0; i + m <= n; i++) {
            if (memcmp(text + i, pat, m)) continue;
            if (hit == SIZE_MAX) hit = i;
            last = i;
        }
        struct vc_jstr t = { pat, m, m };
        assert_true(vc_j_search(text, n, &t, 0) == hit);
        assert_true(vc_j_search_last(text, n, &t) == last);
    }
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    const struct CMUnitTest tests[] = { cmocka_unit_test(renders), cmocka_unit_test(compiles), cmocka_unit_test(deep_messages),
                                        cmocka_unit_test(search) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
