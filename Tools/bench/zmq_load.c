/*
 * Pushes messages over ZeroMQ, one at a time or in batches, with a fixed number of requests in flight on one DEALER
 * socket. Tools/bench/push-http compares its cost with that of the same messages over HTTP.
 *
 *   cc -O2 -o zmq_load zmq_load.c -lzmq && ./zmq_load ENDPOINT APP FIRST COUNT [WINDOW [BATCH [NOT_BEFORE [USERS]]]]
 *
 * A request that is answered busy is pushed again. Prints the figures as one line of JSON. Exit status 1 if a message was
 * rejected, 2 if something did not run.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <zmq.h>

#include "load.h"

/* How long an answer may take, in milliseconds. */
#define PATIENCE 60000

static const char *app;
static uint64_t first, messages, window = 64, batch = 1, not_before, users;
static struct figures figures;
static void *producer;
static char *text;
/* The time at which each request was pushed. */
static double *pushed;

static void push(uint64_t request)
{
    uint64_t from = request * batch, to = from + batch < messages ? from + batch : messages;
    size_t length = 0;
    for (uint64_t number = from; number < to; number++) {
        if (number > from)
            text[length++] = '\n';
        length += write_envelope(text + length, app, first + number, not_before, users);
    }
    const char *kind = batch > 1 ? "push-batch/1" : "push/1";
    pushed[request] = now_seconds();
    if (zmq_send(producer, kind, strlen(kind), ZMQ_SNDMORE) < 0 || zmq_send(producer, text, length, 0) < 0)
        fail("cannot send: %s", zmq_strerror(errno));
}

/* Receives one answer. Returns its request, and whether it must be pushed again. */
static uint64_t receive(int *is_busy)
{
    zmq_msg_t frame;
    zmq_msg_init(&frame);
    if (zmq_msg_recv(&frame, producer, 0) < 0)
        fail("no answer: %s", zmq_strerror(errno));
    zmq_msg_close(&frame);
    zmq_msg_init(&frame);
    if (zmq_msg_recv(&frame, producer, 0) < 0)
        fail("no answer: %s", zmq_strerror(errno));
    const char *ack = zmq_msg_data(&frame);
    size_t length = zmq_msg_size(&frame);
    static const char mark[] = "load-";
    const char *id = memmem(ack, length, mark, sizeof mark - 1);
    if (id == NULL)
        fail("an ack without an id: %.*s", (int)length, ack);
    uint64_t request = (strtoull(id + sizeof mark - 1, NULL, 10) - first) / batch;
    uint64_t busy = figures.busy;
    count_acks(&figures, ack, length);
    *is_busy = figures.busy > busy;
    zmq_msg_close(&frame);
    return request;
}

int main(int count, char **arguments)
{
    if (count < 5 || count > 9)
        fail("usage: zmq_load ENDPOINT APP FIRST COUNT [WINDOW [BATCH [NOT_BEFORE [USERS]]]]");
    app = arguments[2];
    first = number_option("FIRST", arguments[3], 0, UINT64_MAX / 2);
    messages = number_option("COUNT", arguments[4], 1, 100000000);
    if (count > 5)
        window = number_option("WINDOW", arguments[5], 1, 100000);
    if (count > 6)
        batch = number_option("BATCH", arguments[6], 1, 10000);
    if (count > 7)
        not_before = number_option("NOT_BEFORE", arguments[7], 0, INT64_MAX);
    if (count > 8)
        users = number_option("USERS", arguments[8], 0, INT64_MAX);
    uint64_t requests = (messages + batch - 1) / batch;
    text = malloc(batch * ENVELOPE_ROOM);
    pushed = calloc(requests, sizeof *pushed);
    if (!text || !pushed)
        fail("out of memory");

    void *context = zmq_ctx_new();
    producer = zmq_socket(context, ZMQ_DEALER);
    int patience = PATIENCE, none = 0;
    zmq_setsockopt(producer, ZMQ_RCVTIMEO, &patience, sizeof patience);
    zmq_setsockopt(producer, ZMQ_SNDTIMEO, &patience, sizeof patience);
    zmq_setsockopt(producer, ZMQ_LINGER, &none, sizeof none);
    if (zmq_connect(producer, arguments[1]) != 0)
        fail("cannot connect to %s: %s", arguments[1], zmq_strerror(errno));

    figures.began = now_seconds();
    uint64_t next = 0, in_flight = 0;
    while (next < requests || in_flight > 0) {
        while (next < requests && in_flight < window) {
            push(next++);
            in_flight++;
        }
        int is_busy;
        uint64_t request = receive(&is_busy);
        if (request >= requests)
            fail("an ack for a message that was not pushed");
        if (is_busy) {
            struct timespec pause = {0, (long)(BUSY_PAUSE * 1e9)};
            nanosleep(&pause, NULL);
            push(request);
            continue;
        }
        note_answer(&figures, now_seconds() - pushed[request]);
        in_flight--;
    }
    figures.ended = now_seconds();
    print_figures(&figures);
    zmq_close(producer);
    zmq_ctx_term(context);
    return figures.rejected > 0;
}
