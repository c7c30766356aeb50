/* Sends one notification to Carillon and waits for its status: producer ENDPOINT APP TOKEN [TEXT [ID]]
 *
 * Exit status: 0 accepted or duplicate, 1 rejected, 75 no final answer (keep the message and run this again with the
 * same ID: each device receives it once). The variable PATIENCE is the time limit in seconds (60).
 * Needs libzmq3-dev and libjson-c-dev: cc -o producer producer.c -lzmq -ljson-c */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <zmq.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static const char *member(json_object *object, const char *key) {
    return json_object_get_string(json_object_object_get(object, key));
}

/* Sends the request once. Returns the ack; NULL if there is no connection, or no answer in time. */
static json_object *ask(void *socket, const char *request) {
    if (zmq_send(socket, "push/1", 6, ZMQ_SNDMORE) < 0) return NULL;
    if (zmq_send(socket, request, strlen(request), 0) < 0) return NULL;
    char text[8192]; /* An ack of one message is shorter. */
    int length = 0;
    for (int more = 1; more;) { /* The last frame is the status. */
        length = zmq_recv(socket, text, sizeof text - 1, 0);
        if (length < 0) return NULL;
        zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &(size_t){sizeof more});
    }
    text[length < (int)sizeof text ? length : (int)sizeof text - 1] = 0;
    return json_tokener_parse(text);
}

int main(int count, char **words) {
    if (count < 4 || count > 6) return puts("usage: producer ENDPOINT APP TOKEN [TEXT [ID]]"), 64;
    unsigned long long random[2];
    char id[33];
    if (getrandom(random, sizeof random, 0) != sizeof random) return perror("getrandom"), 75;
    snprintf(id, sizeof id, "%016llx%016llx", random[0], random[1]);
    json_object *envelope = json_object_new_object(), *to = json_object_new_object(), *tokens = json_object_new_array();
    json_object_array_add(tokens, json_object_new_string(words[3]));
    json_object_object_add(to, "tokens", tokens);
    json_object_object_add(envelope, "id", json_object_new_string(count > 5 ? words[5] : id));
    json_object_object_add(envelope, "app", json_object_new_string(words[2]));
    json_object_object_add(envelope, "to", to);
    json_object_object_add(envelope, "alert", json_object_new_string(count > 4 ? words[4] : "Hello"));

    void *socket = zmq_socket(zmq_ctx_new(), ZMQ_DEALER);
    int answer_ms = 2000, zero = 0, one = 1; /* After answer_ms the request is sent again. */
    zmq_setsockopt(socket, ZMQ_SNDTIMEO, &answer_ms, sizeof answer_ms);
    zmq_setsockopt(socket, ZMQ_RCVTIMEO, &answer_ms, sizeof answer_ms);
    zmq_setsockopt(socket, ZMQ_LINGER, &zero, sizeof zero);
    zmq_setsockopt(socket, ZMQ_IMMEDIATE, &one, sizeof one); /* Nothing is queued without a connection. */
    if (zmq_connect(socket, words[1]) < 0) return fprintf(stderr, "%s: %s\n", words[1], zmq_strerror(zmq_errno())), 64;
    const char *patience = getenv("PATIENCE");
    double deadline = now() + (patience ? atof(patience) : 60);
    while (now() < deadline) {
        json_object *ack = ask(socket, json_object_to_json_string(envelope));
        if (!ack) continue; /* The same request again, with the same id. */
        const char *status = member(ack, "status");
        if (!status) continue;
        if (strcmp(status, "busy") != 0) return puts(json_object_to_json_string(ack)), strcmp(status, "rejected") == 0;
        double left = deadline - now(), wait = atof(member(ack, "retry_after_ms")) / 1000;
        if (wait > left) wait = left > 0 ? left : 0;
        nanosleep(&(struct timespec){(time_t)wait, (long)((wait - (time_t)wait) * 1e9)}, NULL);
        json_object_put(ack);
    }
    return fprintf(stderr, "%s: no final answer; send the message again with the same id\n", member(envelope, "id")), 75;
}
