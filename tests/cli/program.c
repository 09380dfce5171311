/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/program.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

static int g_runs;

static void child(const char *const *argv, const char *in, const char *out, const char *err) {
    const char *words[64] = { VC_TEST_PROGRAM };
    size_t n = 1;
    while (*argv && n < 63) words[n++] = *argv++;
    words[n] = NULL;
    int i = open(in, O_RDONLY), o = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0666), e = open(err, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (i < 0 || o < 0 || e < 0) _exit(99);
    dup2(i, 0);
    dup2(o, 1);
    dup2(e, 2);
    execv(VC_TEST_PROGRAM, (char *const *)(uintptr_t)words);
    _exit(98);
}

pid_t program_start(const char *const *argv, const char *out, const char *err) {
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) child(argv, "/dev/null", out, err);
    return pid;
}

char *read_text(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    size_t n = 0, cap = 1 << 16;
    char *p = malloc(cap);
    assert_non_null(p);
    for (size_t got; (got = fread(p + n, 1, cap - n - 1, f)) > 0;) {
        n += got;
        if (n + 1 < cap) continue;
        p = realloc(p, cap *= 2);
        assert_non_null(p);
    }
    p[n] = '\0';
    fclose(f);
    return p;
}

void write_text(const char *path, const char *text) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    fclose(f);
}

struct said program(const char *input, const char *const *argv) {
    char in[512], out[512], err[512];
    int n = ++g_runs;
    snprintf(in, sizeof in, "%s/cli-%d-%d.in", VC_TEST_TMP, (int)getpid(), n);
    snprintf(out, sizeof out, "%s/cli-%d-%d.out", VC_TEST_TMP, (int)getpid(), n);
    snprintf(err, sizeof err, "%s/cli-%d-%d.err", VC_TEST_TMP, (int)getpid(), n);
    write_text(in, input ? input : "");
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) child(argv, in, out, err);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    struct said s = { WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status), read_text(out), read_text(err) };
    unlink(in);
    unlink(out);
    unlink(err);
    assert_non_null(s.out);
    assert_non_null(s.err);
    return s;
}

void said_free(struct said *s) {
    free(s->out);
    free(s->err);
    *s = (struct said){ 0 };
}

void expect_rc(const struct said *s, int rc, const char *what) {
    if (s->rc != rc) print_error("%s: exit code %d, expected %d\nstdout: %.2000s\nstderr: %.2000s\n", what, s->rc, rc, s->out, s->err);
    assert_int_equal(s->rc, rc);
}

json_t *program_json(int rc, const char *const *argv) {
    struct said s = program(NULL, argv);
    expect_rc(&s, rc, argv[0]);
    json_error_t e;
    json_t *root = json_loads(s.out, JSON_REJECT_DUPLICATES, &e);
    if (!root) print_error("%s: not JSON: %s\n%.2000s\n", argv[0], e.text, s.out);
    assert_non_null(root);
    said_free(&s);
    return root;
}

const char *real_model(const char *name) {
    static char path[2048];
    const char *folder = getenv("VLLMC_TEST_MODELS"), *home = getenv("HOME");
    if (folder && *folder) snprintf(path, sizeof path, "%s/%s", folder, name);
    else snprintf(path, sizeof path, "%s/.cache/vllmc/models/%s", home ? home : "", name);
    return access(path, R_OK) == 0 ? path : NULL;
}
