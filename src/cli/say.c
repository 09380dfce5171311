/* SPDX-License-Identifier: Apache-2.0
 * say.c: messages of the program, whole files in, whole texts out. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "cli/cli.h"
#include "cli/term.h"

static void say(const char *fmt, va_list ap) {
    cli_bar_clear();
    fputs("vllmc: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
}

int cli_fail(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    say(fmt, ap);
    va_end(ap);
    return CLI_FAILED;
}

int cli_usage(const struct cli_opts *o, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    if (o->errors) {
        o->errors->status = VC_E_INVALID;
        vsnprintf(o->errors->text, sizeof o->errors->text, fmt, ap);
        va_end(ap);
        return CLI_USAGE;
    }
    say(fmt, ap);
    va_end(ap);
    fprintf(stderr, "Try 'vllmc %s --help'.\n", cli_command(o->command)->name);
    return CLI_USAGE;
}

int cli_fail_err(const vc_err *err) {
    cli_fail("%s", err->text[0] ? err->text : vc_status_text(err->status));
    return err->status == VC_E_INVALID ? CLI_USAGE : CLI_FAILED;
}

int cli_print(struct vc_buf *b) {
    bool ok = !b->failed && fwrite(b->p ? b->p : "", 1, b->n, stdout) == b->n && fflush(stdout) == 0;
    int why = errno;
    bool failed = b->failed;
    vc_buf_free(b);
    if (ok) return CLI_OK;
    if (failed) return cli_fail("out of memory");
    return why == EPIPE ? CLI_FAILED : cli_fail("standard output: %s", strerror(why));
}

vc_status cli_read_file(const char *path, struct vc_buf *out, vc_err *err) {
    bool is_stdin = !strcmp(path, "-");
    FILE *f = is_stdin ? stdin : fopen(path, "rb");
    if (!f) return vc_fail(err, errno == ENOENT ? VC_E_NOT_FOUND : VC_E_IO, "%s: %s", path, strerror(errno));
    size_t got;
    do {
        if (!vc_buf_reserve(out, 1 << 16)) break;
        got = fread(out->p + out->n, 1, 1 << 16, f);
        out->n += got;
        out->p[out->n] = '\0';
    } while (got > 0);
    bool bad = ferror(f) != 0;
    int why = errno;
    if (!is_stdin) fclose(f);
    if (bad) return vc_fail(err, VC_E_IO, "%s: %s", path, strerror(why));
    return out->failed ? vc_fail(err, VC_E_NOMEM, "%s: out of memory", path) : VC_OK;
}
