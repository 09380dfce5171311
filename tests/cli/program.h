/* SPDX-License-Identifier: Apache-2.0
 * program.h: runs the program under test and keeps what it said. VC_TEST_PROGRAM is its path. */
#ifndef VC_TEST_CLI_PROGRAM_H
#define VC_TEST_CLI_PROGRAM_H

#include "test.h"

#include <jansson.h>
#include <sys/types.h>

struct said {
    int rc;                    /* exit code; 1000 + signal when it was killed */
    char *out, *err;           /* owned */
};

/* argv after the program's name, NULL at its end. input: standard input, NULL for none. */
struct said program(const char *input, const char *const *argv);
#define PROGRAM(input, ...) program(input, (const char *const[]){ __VA_ARGS__, NULL })
void said_free(struct said *s);
/* Runs, expects this exit code (printing what was said otherwise), and returns standard output as JSON. */
json_t *program_json(int rc, const char *const *argv);
#define PROGRAM_JSON(rc, ...) program_json(rc, (const char *const[]){ __VA_ARGS__, NULL })
void expect_rc(const struct said *s, int rc, const char *what);

/* Starts it with standard output and error going to files; the caller waits. */
pid_t program_start(const char *const *argv, const char *out, const char *err);

char *read_text(const char *path);                     /* owned by the caller; NULL: cannot be read */
void write_text(const char *path, const char *text);
/* A real model: below VLLMC_TEST_MODELS or ~/.cache/vllmc/models; NULL when it is not there. */
const char *real_model(const char *name);

#endif
