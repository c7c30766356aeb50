/*
 * The parts that http_load.c and zmq_load.c share: the messages, which are the same bytes on both ways, and the figures.
 */
#ifndef LOAD_H
#define LOAD_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAYLOAD                                                                                                       \
    "{\"aps\":{\"alert\":{\"title\":\"Order shipped\",\"body\":\"Your order 4417 left the warehouse and arrives "      \
    "tomorrow.\"},\"badge\":3,\"sound\":\"default\",\"thread-id\":\"orders\"},\"order\":{\"id\":\"o-4417-2291\","      \
    "\"kind\":\"shp\"}}"
/* The room for one envelope with its line end. */
#define ENVELOPE_ROOM 640
#define BUSY_PAUSE 0.02

__attribute__((noreturn, format(printf, 1, 2))) static inline void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(2);
}

static inline double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static inline uint64_t number_option(const char *name, const char *text, uint64_t least, uint64_t most)
{
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    if (*text == '\0' || *text == '-' || *end != '\0' || value < least || value > most)
        fail("%s needs a number from %llu to %llu", name, (unsigned long long)least, (unsigned long long)most);
    return value;
}

/*
 * Writes the envelope of a message. It is for one device by its token, or for one of so many `users`, in no order of
 * their numbers, if that is not 0. `not_before` is left out if it is 0. Returns its length.
 */
static inline size_t write_envelope(char *room, const char *app, uint64_t number, uint64_t not_before, uint64_t users)
{
    char later[40] = "", audience[100];
    if (users > 0)
        snprintf(
            audience, sizeof audience, "\"users\":[\"user-%llu\"]",
            (unsigned long long)(number * 0x9e3779b97f4a7c15u % users));
    else
        snprintf(
            audience, sizeof audience, "\"tokens\":[\"%048x%016llx\"]", 0x10ad, (unsigned long long)number);
    if (not_before > 0)
        snprintf(later, sizeof later, "\"not_before\":%llu,", (unsigned long long)not_before);
    return (size_t)snprintf(
        room, ENVELOPE_ROOM, "{\"id\":\"load-%012llu\",\"app\":\"%s\",\"to\":{%s},%s\"payload\":%s}",
        (unsigned long long)number, app, audience, later, PAYLOAD);
}

/* Counts of answers by what became of the message, and the times from each request to its answer. */
struct figures {
    uint64_t accepted, duplicate, rejected, busy;
    uint32_t *microseconds;
    uint64_t answers, room;
    double began, ended;
};

static inline void note_answer(struct figures *figures, double seconds)
{
    if (figures->answers == figures->room) {
        figures->room = figures->room ? 2 * figures->room : 65536;
        figures->microseconds = realloc(figures->microseconds, figures->room * sizeof *figures->microseconds);
        if (!figures->microseconds)
            fail("out of memory");
    }
    figures->microseconds[figures->answers++] = seconds * 1e6 < UINT32_MAX ? (uint32_t)(seconds * 1e6) : UINT32_MAX;
}

static inline int compare_times(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static inline uint32_t percentile(const struct figures *figures, double share)
{
    if (figures->answers == 0)
        return 0;
    uint64_t index = (uint64_t)(share * (double)figures->answers);
    return figures->microseconds[index < figures->answers ? index : figures->answers - 1];
}

/* Prints the figures as one line of JSON. */
static inline void print_figures(struct figures *figures)
{
    double seconds = figures->ended - figures->began;
    qsort(figures->microseconds, figures->answers, sizeof *figures->microseconds, compare_times);
    printf(
        "{\"accepted\":%llu,\"duplicate\":%llu,\"rejected\":%llu,\"busy\":%llu,\"requests\":%llu,\"seconds\":%.6f,"
        "\"p50_us\":%u,\"p99_us\":%u,\"max_us\":%u}\n",
        (unsigned long long)figures->accepted, (unsigned long long)figures->duplicate,
        (unsigned long long)figures->rejected, (unsigned long long)figures->busy, (unsigned long long)figures->answers,
        seconds, percentile(figures, 0.5), percentile(figures, 0.99), percentile(figures, 1));
}

/* Counts the acks in a text of JSON objects by their status. Returns their number without those that are busy. */
static inline uint64_t count_acks(struct figures *figures, const char *text, size_t length)
{
    static const char mark[] = "\"status\":\"";
    const char *at = text, *end = text + length;
    uint64_t settled = 0;
    while ((at = memmem(at, (size_t)(end - at), mark, sizeof mark - 1)) != NULL) {
        at += sizeof mark - 1;
        if (end - at >= 8 && memcmp(at, "accepted", 8) == 0)
            figures->accepted++;
        else if (end - at >= 9 && memcmp(at, "duplicate", 9) == 0)
            figures->duplicate++;
        else if (end - at >= 4 && memcmp(at, "busy", 4) == 0) {
            figures->busy++;
            continue;
        } else {
            if (figures->rejected++ == 0)
                fprintf(stderr, "%s: rejected: %.*s\n", program_invocation_short_name, (int)(length < 400 ? length : 400), text);
        }
        settled++;
    }
    return settled;
}

#endif
