/*
 * An HTTP/1.1 server with libevent's evhttp that answers every request with "ok". Tools/bench/http measures Carillon
 * against it. Prints the port on which it listens.
 */
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>

static void answer(struct evhttp_request *request, void *unused) {
    (void)unused;
    struct evbuffer *body = evbuffer_new();
    evbuffer_add(body, "ok\n", 3);
    evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type", "text/plain; charset=utf-8");
    evhttp_add_header(evhttp_request_get_output_headers(request), "Cache-Control", "no-store");
    evhttp_send_reply(request, 200, "OK", body);
    evbuffer_free(body);
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    struct event_base *base = event_base_new();
    struct evhttp *http = evhttp_new(base);
    struct evhttp_bound_socket *bound = evhttp_bind_socket_with_handle(http, "127.0.0.1", 0);
    if (!bound) {
        perror("http_hello: cannot listen");
        return 1;
    }
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&address, &length);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    evhttp_set_gencb(http, answer, NULL);
    event_base_dispatch(base);
    return 0;
}
