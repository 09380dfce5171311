/* SPDX-License-Identifier: Apache-2.0
 * The page as it lies in the program: its policy holds the hash of each script and style (computed here by OpenSSL, as CSP
 * Level 3 section 8.4 says), it names nothing outside, and its entity tag answers If-None-Match as RFC 9110 13.1.2. */
#include "test.h"

#include <openssl/evp.h>

#include "server/page/page.h"

static char *page_text(void) {
    char *s = malloc(vc_page_size + 1);
    assert_non_null(s);
    memcpy(s, vc_page_bytes, vc_page_size);
    s[vc_page_size] = '\0';
    return s;
}

/* Every <tag>…</tag>: its hash is in the policy. Returns how many there are. */
static int check_hashes(const char *page, const char *tag, const char *directive) {
    char open[16], close[16];
    int n = 0;
    snprintf(open, sizeof open, "<%s>", tag);
    snprintf(close, sizeof close, "</%s>", tag);
    const char *list = strstr(vc_page_csp, directive);
    assert_non_null(list);
    size_t list_bytes = strcspn(list, ";");
    for (const char *p = page; (p = strstr(p, open)) != NULL; n++) {
        p += strlen(open);
        const char *end = strstr(p, close);
        assert_non_null(end);
        unsigned char digest[32];
        unsigned char code[64];
        unsigned got = 0;
        assert_int_equal(EVP_Digest(p, (size_t)(end - p), digest, &got, EVP_sha256(), NULL), 1);
        EVP_EncodeBlock(code, digest, 32);
        char want[96];
        snprintf(want, sizeof want, "'sha256-%s'", (const char *)code);
        const char *found = strstr(list, want);
        assert_non_null(found);
        assert_true((size_t)(found - list) < list_bytes);
    }
    return n;
}

static void policy(void **state) {
    (void)state;
    char *page = page_text();
    assert_int_equal(check_hashes(page, "script", "script-src"), 2);
    assert_int_equal(check_hashes(page, "style", "style-src"), 1);
    assert_null(strstr(vc_page_csp, "unsafe"));
    assert_null(strstr(vc_page_csp, "http"));
    assert_non_null(strstr(vc_page_csp, "default-src 'none'"));
    assert_non_null(strstr(vc_page_csp, "frame-ancestors 'none'"));
    assert_non_null(strstr(vc_page_csp, "require-trusted-types-for 'script'"));
    free(page);
}

static void self_contained(void **state) {
    (void)state;
    static const char *const outside[] = { "src=", "@import", "url(", "<iframe", "<object", "<form action", "innerHTML", "outerHTML", "insertAdjacentHTML",
                                           "document.write", "eval(", "new Function", "style=\"", "onclick=\"", "@include" };
    char *page = page_text();
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
        if (strstr(page, outside[i])) fail_msg("the page contains %s", outside[i]);
    }
    assert_non_null(strstr(page, "<link rel=\"icon\" href=\"data:"));
    assert_null(strstr(strstr(page, "<link") + 1, "<link"));
    assert_int_equal(strncmp(page, "<!doctype html>", 15), 0);
    assert_int_equal(strlen(page), vc_page_size);
    free(page);
}

static void headers(void **state) {
    (void)state;
    size_t n = 0;
    bool seen = false;
    while (vc_page_headers[n]) {
        assert_non_null(vc_page_headers[n + 1]);
        assert_null(strpbrk(vc_page_headers[n + 1], "\r\n"));
        seen |= !strcmp(vc_page_headers[n], "Content-Security-Policy") && vc_page_headers[n + 1] == vc_page_csp;
        n += 2;
    }
    assert_true(seen);
}

static void validator(void **state) {
    (void)state;
    char text[256];
    assert_false(vc_page_unchanged(NULL));
    assert_false(vc_page_unchanged(""));
    assert_true(vc_page_unchanged(vc_page_etag));
    assert_true(vc_page_unchanged("*"));
    assert_false(vc_page_unchanged("*x"));
    snprintf(text, sizeof text, "W/%s", vc_page_etag);
    assert_true(vc_page_unchanged(text));
    snprintf(text, sizeof text, "\"a\", W/\"b,c\" ,\t%s", vc_page_etag);
    assert_true(vc_page_unchanged(text));
    snprintf(text, sizeof text, "\"a\" %s\"", vc_page_etag);      /* a stray quote behind the match does not matter */
    assert_true(vc_page_unchanged(text));
    assert_false(vc_page_unchanged("\"a\", \"b"));
    snprintf(text, sizeof text, "\"x%s", vc_page_etag + 1);
    assert_false(vc_page_unchanged(text));
    text[0] = '\0';
    strncat(text, vc_page_etag + 1, strlen(vc_page_etag) - 2);    /* without quotes it is no tag */
    assert_false(vc_page_unchanged(text));
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(policy), cmocka_unit_test(self_contained), cmocka_unit_test(headers), cmocka_unit_test(validator) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
