/* SPDX-License-Identifier: Apache-2.0
 * calls_test.c: forced tool calls out of their text, cut at every place. */
#include "server/srv_calls.h"
#include "test.h"

struct got { char names[256], args[1024]; uint32_t calls; };

static void feed(const char *text, bool named, size_t piece, struct got *g, struct srv_calls *s) {
    size_t n = strlen(text);
    *g = (struct got){ 0 };
    srv_calls_init(s, named);
    for (size_t at = 0; at < n; at += piece) {
        srv_calls_push(s, text + at, at + piece < n ? piece : n - at, "one");
        for (uint32_t i = 0; i < s->n; i++) {
            const vc_tool_delta *d = &s->delta[i];
            if (d->name) {
                snprintf(g->names + strlen(g->names), sizeof g->names - strlen(g->names), "%s;", d->name);
                snprintf(g->args + strlen(g->args), sizeof g->args - strlen(g->args), "|");
                assert_int_equal(d->index, g->calls++);
            }
            snprintf(g->args + strlen(g->args), sizeof g->args - strlen(g->args), "%.*s", (int)d->arguments_len, d->arguments);
        }
    }
}

static void check(const char *text, bool named, const char *names, const char *args, uint32_t complete) {
    struct srv_calls s;
    struct got g;
    for (size_t piece = 1; piece < 9; piece++) {
        feed(text, named, piece, &g, &s);
        assert_string_equal(g.names, names);
        assert_string_equal(g.args, args);
        assert_int_equal(s.complete, complete);
        srv_calls_free(&s);
    }
}

static void required(void **state) {
    (void)state;
    check("[{\"name\": \"f\", \"parameters\": {\"a\": \"}]\\\"{\", \"b\": [1, {\"c\": 2}]}}]", false, "f;", "|{\"a\": \"}]\\\"{\", \"b\": [1, {\"c\": 2}]}", 1);
    check("[ {\"name\":\"f\",\"parameters\":{}} ,\n{\"name\" : \"gg\" , \"parameters\" : {\"x\":1} } ]", false, "f;gg;", "|{}|{\"x\":1}", 2);
    check("[{\"name\": \"f\", \"parameters\": {\"a\": \"cut", false, "f;", "|{\"a\": \"cut", 0);
    check("[{\"name\": \"f", false, "", "", 0);
}

static void named(void **state) {
    (void)state;
    check(" \n{\"city\": \"Paris\"}\n", true, "one;", "|{\"city\": \"Paris\"}", 1);
    check("{\"city\": {\"a\":1}, \"b\":\"", true, "one;", "|{\"city\": {\"a\":1}, \"b\":\"", 0);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(required), cmocka_unit_test(named) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
