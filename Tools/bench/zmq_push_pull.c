/*
 * The reference for `Benchmarks zeromq`: the same work in C with libzmq's functions.
 *
 * One thread sends N messages of SIZE bytes through a PUSH socket over TCP loopback, one at a time. Another thread
 * receives them from a PULL socket and checks their order. Prints the CPU time (user and system, all threads) per message.
 *
 *   cc -O2 -o zmq_push_pull zmq_push_pull.c -lzmq -lpthread && ./zmq_push_pull [messages [bytes]]
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <zmq.h>

static void *context;
static char endpoint[256];
static uint64_t messages = 1000000;
static size_t size = 300;

static void fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, zmq_strerror(zmq_errno()));
    exit(1);
}

static void *receive(void *socket)
{
    char *bytes = malloc(size);
    for (uint64_t expected = 0; expected < messages; expected++) {
        uint64_t number;
        if (zmq_recv(socket, bytes, size, 0) != (int)size)
            fail("receive");
        memcpy(&number, bytes, sizeof number);
        if (number != expected) {
            fprintf(stderr, "received message %llu, expected %llu\n", (unsigned long long)number, (unsigned long long)expected);
            exit(1);
        }
    }
    free(bytes);
    return NULL;
}

static void *deliver(void *socket)
{
    char *bytes = calloc(1, size);
    for (uint64_t number = 0; number < messages; number++) {
        memcpy(bytes, &number, sizeof number);
        if (zmq_send(socket, bytes, size, 0) != (int)size)
            fail("send");
    }
    free(bytes);
    return NULL;
}

static double seconds(struct timeval time)
{
    return time.tv_sec + time.tv_usec * 1e-6;
}

int main(int count, char **arguments)
{
    if (count > 1)
        messages = strtoull(arguments[1], NULL, 10);
    if (count > 2)
        size = strtoull(arguments[2], NULL, 10);
    if (messages == 0 || size < sizeof messages) {
        fprintf(stderr, "usage: %s [messages [bytes, at least 8]]\n", arguments[0]);
        return 2;
    }

    context = zmq_ctx_new();
    void *pull = zmq_socket(context, ZMQ_PULL);
    void *push = zmq_socket(context, ZMQ_PUSH);
    size_t length = sizeof endpoint;
    if (zmq_bind(pull, "tcp://127.0.0.1:*") != 0)
        fail("bind");
    zmq_getsockopt(pull, ZMQ_LAST_ENDPOINT, endpoint, &length);
    if (zmq_connect(push, endpoint) != 0)
        fail("connect");

    struct timespec start, end;
    pthread_t receiver, sender;
    clock_gettime(CLOCK_MONOTONIC, &start);
    pthread_create(&receiver, NULL, receive, pull);
    pthread_create(&sender, NULL, deliver, push);
    pthread_join(sender, NULL);
    pthread_join(receiver, NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    zmq_close(push);
    zmq_close(pull);
    zmq_ctx_term(context);

    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    double wall = (end.tv_sec - start.tv_sec) + (end.tv_nsec - start.tv_nsec) * 1e-9;
    printf("%.4f\n", cpu / messages * 1e6);
    fprintf(stderr, "C: %llu messages of %zu bytes, %.3f us CPU per message, %.0f per second\n", (unsigned long long)messages,
        size, cpu / messages * 1e6, messages / wall);
    return 0;
}
