/*
 * Subscribes to all events of some nodes, and counts the messages that are completed.
 *
 *   cc -O2 -o zmq_watch zmq_watch.c -lzmq && ./zmq_watch ENDPOINT...
 *
 * Prints "ready", and for each line that it reads the number of messages that were completed so far. The end of the
 * standard input ends it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <unistd.h>
#include <zmq.h>

#include "load.h"

static const char suffix[] = "/completed";

static uint64_t completed;

/* Takes events of one topic, one on each line. Returns whether there were any. */
static int take(void *subscriber)
{
    zmq_msg_t topic, lines;
    zmq_msg_init(&topic);
    zmq_msg_init(&lines);
    if (zmq_msg_recv(&topic, subscriber, ZMQ_DONTWAIT) < 0) {
        if (errno != EAGAIN)
            fail("cannot receive: %s", zmq_strerror(errno));
        return 0;
    }
    size_t length = zmq_msg_size(&topic), wanted = sizeof suffix - 1;
    int is_completed = length > wanted && memcmp((char *)zmq_msg_data(&topic) + length - wanted, suffix, wanted) == 0;
    int more = zmq_msg_more(&topic);
    while (more && zmq_msg_recv(&lines, subscriber, 0) >= 0) {
        const char *text = zmq_msg_data(&lines);
        for (size_t place = 0; is_completed && place < zmq_msg_size(&lines); place++)
            completed += text[place] == '\n';
        if (is_completed && zmq_msg_size(&lines) > 0 && text[zmq_msg_size(&lines) - 1] != '\n')
            completed++;
        more = zmq_msg_more(&lines);
    }
    zmq_msg_close(&topic);
    zmq_msg_close(&lines);
    return 1;
}

int main(int count, char **arguments)
{
    if (count < 2)
        fail("usage: zmq_watch ENDPOINT...");
    void *context = zmq_ctx_new(), *subscriber = zmq_socket(context, ZMQ_SUB);
    int all = 0;
    zmq_setsockopt(subscriber, ZMQ_RCVHWM, &all, sizeof all);
    zmq_setsockopt(subscriber, ZMQ_LINGER, &all, sizeof all);
    for (int place = 1; place < count; place++)
        if (zmq_connect(subscriber, arguments[place]) != 0)
            fail("cannot connect to %s: %s", arguments[place], zmq_strerror(errno));
    zmq_setsockopt(subscriber, ZMQ_SUBSCRIBE, "", 0);
    puts("ready");
    fflush(stdout);
    zmq_pollitem_t items[] = {{subscriber, 0, ZMQ_POLLIN, 0}, {NULL, STDIN_FILENO, ZMQ_POLLIN, 0}};
    for (;;) {
        zmq_poll(items, 2, -1);
        if (items[0].revents) {
            for (int taken = 0; taken < 1000 && take(subscriber); taken++) {
            }
        }
        if (items[1].revents) {
            char line[64];
            if (read(STDIN_FILENO, line, sizeof line) <= 0)
                break;
            printf("%llu\n", (unsigned long long)completed);
            fflush(stdout);
        }
    }
    zmq_close(subscriber);
    zmq_ctx_term(context);
    return 0;
}
