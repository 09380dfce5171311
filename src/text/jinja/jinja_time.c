/* SPDX-License-Identifier: Apache-2.0
 * strftime_now: datetime.now().strftime(format), in the C locale whatever the process's. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "text/jinja/jinja_run.h"

static const char *const days[] = { "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday" };
static const char *const months[] = { "January", "February", "March",     "April",   "May",      "June",
                                      "July",    "August",   "September", "October", "November", "December" };

static void number(vc_jx *x, struct vc_jbuf *b, long v, int width, char pad, char flag) {
    char s[32];
    if (flag == '-') pad = 0;
    else if (flag == '_') pad = ' ';
    else if (flag == '0') pad = '0';
    if (!pad) snprintf(s, sizeof s, "%ld", v);
    else if (pad == ' ') snprintf(s, sizeof s, "%*ld", width, v);
    else snprintf(s, sizeof s, "%0*ld", width, v);
    vc_j_puts(x, b, s);
}

static void text(vc_jx *x, struct vc_jbuf *b, const char *s, size_t n, char flag) {
    for (size_t i = 0; i < n; i++)
        vc_j_putc(x, b, flag == '^' && s[i] >= 'a' && s[i] <= 'z' ? (char)(s[i] - 32) : s[i]);
}

/* ISO 8601 week and its year. */
static int iso_week(const struct tm *t, long *year) {
    int wday = (t->tm_wday + 6) % 7, week = (t->tm_yday - wday + 10) / 7;
    long y = t->tm_year + 1900L;
    bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0,
         prev_leap = ((y - 1) % 4 == 0 && (y - 1) % 100 != 0) || (y - 1) % 400 == 0;
    if (week < 1) {
        *year = y - 1;
        return (t->tm_yday + (prev_leap ? 366 : 365) - wday + 10) / 7;
    }
    *year = y;
    if (week == 53 && t->tm_yday - wday + 3 >= (leap ? 366 : 365)) {
        *year = y + 1;
        return 1;
    }
    return week;
}

static void composite(vc_jx *x, struct vc_jbuf *b, const char *fmt, const struct tm *t, int64_t now);

static void one(vc_jx *x, struct vc_jbuf *b, char c, char flag, const struct tm *t, int64_t now) {
    long year = t->tm_year + 1900L, iso_year;
    int hour12 = t->tm_hour % 12 ? t->tm_hour % 12 : 12, week = iso_week(t, &iso_year);
    switch (c) {
    case 'a': text(x, b, days[t->tm_wday], 3, flag); return;
    case 'A': text(x, b, days[t->tm_wday], strlen(days[t->tm_wday]), flag); return;
    case 'b': case 'h': text(x, b, months[t->tm_mon], 3, flag); return;
    case 'B': text(x, b, months[t->tm_mon], strlen(months[t->tm_mon]), flag); return;
    case 'p': text(x, b, t->tm_hour < 12 ? "AM" : "PM", 2, flag); return;
    case 'P': text(x, b, t->tm_hour < 12 ? "am" : "pm", 2, flag); return;
    case 'C': number(x, b, year / 100, 2, '0', flag); return;
    case 'd': number(x, b, t->tm_mday, 2, '0', flag); return;
    case 'e': number(x, b, t->tm_mday, 2, ' ', flag); return;
    case 'f': vc_j_puts(x, b, "000000"); return;
    case 'g': number(x, b, iso_year % 100, 2, '0', flag); return;
    case 'G': number(x, b, iso_year, 4, '0', flag); return;
    case 'H': number(x, b, t->tm_hour, 2, '0', flag); return;
    case 'I': number(x, b, hour12, 2, '0', flag); return;
    case 'j': number(x, b, t->tm_yday + 1, 3, '0', flag); return;
    case 'k': number(x, b, t->tm_hour, 2, ' ', flag); return;
    case 'l': number(x, b, hour12, 2, ' ', flag); return;
    case 'm': number(x, b, t->tm_mon + 1, 2, '0', flag); return;
    case 'M': number(x, b, t->tm_min, 2, '0', flag); return;
    case 'n': vc_j_putc(x, b, '\n'); return;
    case 't': vc_j_putc(x, b, '\t'); return;
    case 's': number(x, b, (long)now, 1, 0, flag); return;
    case 'S': number(x, b, t->tm_sec, 2, '0', flag); return;
    case 'u': number(x, b, t->tm_wday ? t->tm_wday : 7, 1, 0, flag); return;
    case 'U': number(x, b, (t->tm_yday + 7 - t->tm_wday) / 7, 2, '0', flag); return;
    case 'V': number(x, b, week, 2, '0', flag); return;
    case 'w': number(x, b, t->tm_wday, 1, 0, flag); return;
    case 'W': number(x, b, (t->tm_yday + 7 - (t->tm_wday + 6) % 7) / 7, 2, '0', flag); return;
    case 'y': number(x, b, year % 100, 2, '0', flag); return;
    case 'Y': number(x, b, year, 1, 0, flag); return;
    case 'z': case 'Z': return;         /* datetime.now() knows no time zone */
    case '%': vc_j_putc(x, b, '%'); return;
    case 'c': composite(x, b, "%a %b %e %H:%M:%S %Y", t, now); return;
    case 'D': case 'x': composite(x, b, "%m/%d/%y", t, now); return;
    case 'F': composite(x, b, "%Y-%m-%d", t, now); return;
    case 'r': composite(x, b, "%I:%M:%S %p", t, now); return;
    case 'R': composite(x, b, "%H:%M", t, now); return;
    case 'T': case 'X': composite(x, b, "%H:%M:%S", t, now); return;
    default:
        vc_j_putc(x, b, '%');
        if (flag) vc_j_putc(x, b, flag);
        vc_j_putc(x, b, c);
    }
}

static void put(vc_jx *x, struct vc_jbuf *b, const char *p, size_t n, const struct tm *t, int64_t now) {
    for (size_t i = 0; i < n; i++) {
        if (p[i] != '%' || i + 1 >= n) {
            vc_j_putc(x, b, p[i]);
            continue;
        }
        char flag = strchr("-_0^#", p[i + 1]) && p[i + 1] && i + 2 < n ? p[++i] : 0;
        one(x, b, p[++i], flag, t, now);
    }
}

static void composite(vc_jx *x, struct vc_jbuf *b, const char *fmt, const struct tm *t, int64_t now) {
    put(x, b, fmt, strlen(fmt), t, now);
}

vc_jv vc_j_strftime(vc_jx *x, const struct vc_jstr *fmt, int64_t now) {
    time_t when = (time_t)now;
    struct tm t;
    struct vc_jbuf b = { 0 };
    if (!localtime_r(&when, &t)) vc_j_raise(x, "the time is out of range");
    put(x, &b, fmt->p, fmt->n, &t, now);
    return vc_j_done(x, &b);
}
