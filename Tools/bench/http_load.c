/*
 * Sends requests to Carillon over HTTP/1.1, on keep-alive connections with one request each at a time.
 *
 *   cc -O2 -o http_load http_load.c -lcrypto && ./http_load PORT WAY APP FIRST COUNT CONNECTIONS KEY SECRET [OPTION VALUE]...
 *
 * WAY is what a request does: "push" sends one message, "lines" a batch of messages as lines, "register" registers a new
 * device. FIRST is the number of the first message or device, and COUNT how many there are.
 *
 *   --sign 1         sign each request (RFC 9421) instead of sending the bearer secret
 *   --batch N        the number of messages of a batch (100)
 *   --not-before S   the messages wait until this time, in seconds since 1970
 *   --rate R         at most R requests a second, on the connections that are free (no limit)
 *
 * A request that is answered 503 is sent again. SIGTERM ends the load after the answers to what was sent. Prints the figures as one line of JSON. Exit status 1 if a request was
 * rejected, 2 if something did not run.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load.h"

/* How long the server may be silent while requests are unanswered, in milliseconds. */
#define PATIENCE 60000
#define HEAD_ROOM 2048
#define ANSWER_ROOM (2 << 20)
/* The memory for requests that are made before the load. */
#define MAX_PREPARED ((size_t)256 << 20)

enum way { PUSH, LINES, REGISTER };

struct connection {
    int socket;
    /* The number of the request that is sent, and of its messages. */
    uint64_t request, items;
    double began;
    const char *out;
    size_t out_length, out_sent;
    /* The room for a request that was not made before the load. */
    char *own;
    char *in;
    size_t in_room, in_length;
    /* The length of the answer with its head; 0 until the head is complete. */
    size_t answer_length;
    int status, is_free;
    /* The time at which a refused request is sent again; 0 if there is none. */
    double again;
};

static enum way way;
static const char *app, *key, *secret;
static unsigned char secret_bytes[32];
static uint64_t port, first, items, connections, is_signed, batch = 100, not_before, rate;
static uint64_t requests, next_request;
static char nonce_prefix[17];
static struct figures figures;
static volatile sig_atomic_t is_ended;

static void end(int signal)
{
    (void)signal;
    is_ended = 1;
}

/* Base64URL without padding, as secrets have it. */
static void decode_secret(const char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    uint32_t gathered = 0;
    int bits = 0;
    size_t count = 0;
    for (; *text; text++) {
        const char *digit = strchr(digits, *text);
        if (!digit)
            fail("the secret is not Base64URL");
        gathered = gathered << 6 | (uint32_t)(digit - digits);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            if (count == sizeof secret_bytes)
                fail("the secret is too long");
            secret_bytes[count++] = (unsigned char)(gathered >> bits);
        }
    }
    if (count != sizeof secret_bytes)
        fail("the secret does not have 32 bytes");
}

static void sign(char *room, size_t size, const char *path, const char *body, size_t length, uint64_t request)
{
    unsigned char digest[32], mac[32];
    char digest_text[48], mac_text[48], parameters[320], base[800];
    SHA256((const unsigned char *)body, length, digest);
    EVP_EncodeBlock((unsigned char *)digest_text, digest, sizeof digest);
    snprintf(
        parameters, sizeof parameters,
        "(\"@method\" \"@path\" \"@query\" \"content-digest\");created=%lld;keyid=\"%s\";alg=\"hmac-sha256\";"
        "nonce=\"%s%08llx\"",
        (long long)time(NULL), key, nonce_prefix, (unsigned long long)request);
    int base_length = snprintf(
        base, sizeof base,
        "\"@method\": POST\n\"@path\": %s\n\"@query\": ?\n\"content-digest\": sha-256=:%s:\n\"@signature-params\": %s",
        path, digest_text, parameters);
    HMAC(EVP_sha256(), secret_bytes, sizeof secret_bytes, (unsigned char *)base, (size_t)base_length, mac, NULL);
    EVP_EncodeBlock((unsigned char *)mac_text, mac, sizeof mac);
    snprintf(
        room, size, "Content-Digest: sha-256=:%s:\r\nSignature-Input: carillon=%s\r\nSignature: carillon=:%s:\r\n",
        digest_text, parameters, mac_text);
}

/* The number of messages of a request. */
static uint64_t items_of(uint64_t request)
{
    if (way != LINES)
        return 1;
    return (request + 1) * batch <= items ? batch : items - request * batch;
}

static size_t write_body(uint64_t request, char *body)
{
    uint64_t number = first + request;
    switch (way) {
    case PUSH: return write_envelope(body, app, number, not_before, 0);
    case REGISTER:
        return (size_t)sprintf(
            body, "{\"token\":\"%048x%016llx\",\"user\":\"user-%llu\",\"tags\":[\"news\",\"shop-%llu\"],\"locale\":\"de\"}",
            0x5e1f, (unsigned long long)number, (unsigned long long)number, (unsigned long long)(number % 50));
    case LINES: break;
    }
    uint64_t from = request * batch;
    size_t length = 0;
    for (uint64_t line = from; line < from + items_of(request); line++) {
        length += write_envelope(body + length, app, first + line, not_before, 0);
        body[length++] = '\n';
    }
    return length;
}

/* The room for a request. */
static size_t request_room(void)
{
    return HEAD_ROOM + (way == LINES ? batch : 1) * ENVELOPE_ROOM;
}

/* Writes a request. Returns its length. */
static size_t write_request(uint64_t request, char *out)
{
    static char *body;
    if (!body && !(body = malloc(request_room())))
        fail("out of memory");
    size_t length = write_body(request, body);
    char path[160] = "/v1/messages", credential[1024];
    if (way == REGISTER)
        snprintf(path, sizeof path, "/v1/apps/%s/devices", app);
    if (is_signed)
        sign(credential, sizeof credential, path, body, length, request);
    else
        snprintf(credential, sizeof credential, "Authorization: Bearer %s.%s\r\n", key, secret);
    int head = snprintf(
        out, HEAD_ROOM,
        "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%llu\r\nUser-Agent: http_load\r\nContent-Type: %s\r\n%sContent-Length: %zu\r\n\r\n",
        path, (unsigned long long)port, way == LINES ? "application/x-ndjson" : "application/json", credential, length);
    if (head >= HEAD_ROOM)
        fail("the head is too long");
    memcpy(out + head, body, length);
    return (size_t)head + length;
}

/* Requests that are made before the load, so that signed ones take this program no longer than others meanwhile. */
static struct {
    char *bytes;
    size_t *starts;
    uint64_t count;
} prepared;

static void prepare_requests(void)
{
    prepared.count = requests < MAX_PREPARED / request_room() ? requests : MAX_PREPARED / request_room();
    prepared.starts = malloc((prepared.count + 1) * sizeof *prepared.starts);
    prepared.bytes = malloc(prepared.count * request_room() + 1);
    if (!prepared.starts || !prepared.bytes)
        fail("out of memory");
    size_t length = 0;
    for (uint64_t request = 0; request < prepared.count; request++) {
        prepared.starts[request] = length;
        length += write_request(request, prepared.bytes + length);
    }
    prepared.starts[prepared.count] = length;
}

static void transmit(struct connection *connection)
{
    while (connection->out_sent < connection->out_length) {
        ssize_t count = send(
            connection->socket, connection->out + connection->out_sent, connection->out_length - connection->out_sent,
            MSG_NOSIGNAL);
        if (count > 0)
            connection->out_sent += (size_t)count;
        else if (errno == EAGAIN)
            return;
        else
            fail("cannot send: %s", strerror(errno));
    }
}

static void begin(struct connection *connection)
{
    connection->out_sent = connection->in_length = connection->answer_length = 0;
    connection->is_free = 0;
    connection->again = 0;
    transmit(connection);
}

static void begin_next(struct connection *connection)
{
    connection->request = next_request++;
    connection->items = items_of(connection->request);
    connection->began = now_seconds();
    if (connection->request < prepared.count) {
        connection->out = prepared.bytes + prepared.starts[connection->request];
        connection->out_length = prepared.starts[connection->request + 1] - prepared.starts[connection->request];
    } else {
        connection->out = connection->own;
        connection->out_length = write_request(connection->request, connection->own);
    }
    begin(connection);
}

/* Reads the status and the length of the answer if its head is complete. */
static void read_head(struct connection *connection)
{
    const char *end = memmem(connection->in, connection->in_length, "\r\n\r\n", 4);
    if (!end)
        return;
    size_t head = (size_t)(end + 4 - connection->in);
    connection->status = atoi(connection->in + 9);
    connection->in[head - 1] = '\0';
    const char *length = strcasestr(connection->in, "\r\nContent-Length:");
    if (!length)
        fail("an answer without a length: %s", connection->in);
    connection->answer_length = head + strtoull(length + 17, NULL, 10);
    if (connection->answer_length > connection->in_room)
        fail("the answer is too long");
}

/* Counts a complete answer. Returns whether the request is settled, and does not have to be sent again. */
static int settle(struct connection *connection)
{
    char *body = strstr(connection->in, "\r\n\r") + 4;
    size_t length = connection->answer_length - (size_t)(body - connection->in);
    if (connection->status == 503) {
        figures.busy++;
        return 0;
    }
    if (connection->status >= 300) {
        if (figures.rejected++ == 0)
            fprintf(stderr, "http_load: %d: %.*s\n", connection->status, (int)(length < 600 ? length : 600), body);
    } else if (way == REGISTER) {
        if (connection->status == 201)
            figures.accepted++;
        else
            figures.duplicate++;
    } else if (count_acks(&figures, body, length) != connection->items) {
        return 0;
    }
    note_answer(&figures, now_seconds() - connection->began);
    return 1;
}

/* Returns 1 if the connection has a complete answer. */
static int receive(struct connection *connection)
{
    ssize_t count = recv(
        connection->socket, connection->in + connection->in_length, connection->in_room - connection->in_length, 0);
    if (count == 0)
        fail("the server closed a connection");
    if (count < 0) {
        if (errno == EAGAIN)
            return 0;
        fail("cannot receive: %s", strerror(errno));
    }
    connection->in_length += (size_t)count;
    if (connection->answer_length == 0)
        read_head(connection);
    return connection->answer_length > 0 && connection->in_length >= connection->answer_length;
}

static void open_connection(struct connection *connection, int epoll)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connection->socket = socket(AF_INET, SOCK_STREAM, 0);
    if (connection->socket < 0 || connect(connection->socket, (struct sockaddr *)&address, sizeof address) != 0)
        fail("cannot connect: %s", strerror(errno));
    int one = 1;
    setsockopt(connection->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    connection->in_room = way == LINES ? ANSWER_ROOM : 16384;
    connection->in = malloc(connection->in_room);
    connection->own = malloc(request_room());
    if (!connection->in || !connection->own)
        fail("out of memory");
    connection->is_free = 1;
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = connection};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, connection->socket, &event) != 0)
        fail("epoll: %s", strerror(errno));
    if (fcntl(connection->socket, F_SETFL, O_NONBLOCK) != 0)
        fail("fcntl: %s", strerror(errno));
}

static void options(int count, char **arguments)
{
    static const char *ways[] = {"push", "lines", "register"};
    if (count < 9 || count % 2 == 0)
        fail("usage: http_load PORT WAY APP FIRST COUNT CONNECTIONS KEY SECRET [OPTION VALUE]...");
    port = number_option("PORT", arguments[1], 1, 65535);
    for (way = PUSH; way <= REGISTER && strcmp(arguments[2], ways[way]) != 0;)
        way++;
    if (way > REGISTER)
        fail("the way is push, lines or register");
    app = arguments[3];
    first = number_option("FIRST", arguments[4], 0, UINT64_MAX / 2);
    items = number_option("COUNT", arguments[5], 1, 100000000);
    connections = number_option("CONNECTIONS", arguments[6], 1, 10000);
    key = arguments[7];
    secret = arguments[8];
    decode_secret(secret);
    for (int index = 9; index < count; index += 2) {
        const char *name = arguments[index], *value = arguments[index + 1];
        if (strcmp(name, "--sign") == 0)
            is_signed = number_option(name, value, 0, 1);
        else if (strcmp(name, "--batch") == 0)
            batch = number_option(name, value, 1, 10000);
        else if (strcmp(name, "--not-before") == 0)
            not_before = number_option(name, value, 0, INT64_MAX);
        else if (strcmp(name, "--rate") == 0)
            rate = number_option(name, value, 1, 1000000);
        else
            fail("there is no option %s", name);
    }
    requests = way == LINES ? (items + batch - 1) / batch : items;
    unsigned char random[8];
    if (RAND_bytes(random, sizeof random) != 1)
        fail("no random bytes");
    for (size_t index = 0; index < sizeof random; index++)
        sprintf(nonce_prefix + 2 * index, "%02x", random[index]);
}

int main(int count, char **arguments)
{
    options(count, arguments);
    signal(SIGTERM, end);
    prepare_requests();
    int epoll = epoll_create1(0);
    struct connection *all = calloc(connections, sizeof *all);
    if (epoll < 0 || !all)
        fail("cannot begin: %s", strerror(errno));
    for (uint64_t index = 0; index < connections; index++)
        open_connection(&all[index], epoll);

    figures.began = now_seconds();
    double heard = figures.began;
    uint64_t in_flight = 0, refused = 0;
    while (next_request < requests || in_flight > 0) {
        double now = now_seconds();
        if (is_ended)
            requests = next_request;
        /* With a rate, as many requests may have begun as the time that has passed allows. */
        uint64_t allowed = rate > 0 ? (uint64_t)((now - figures.began) * (double)rate) + 1 : requests;
        for (uint64_t index = 0; index < connections && (rate > 0 || refused > 0 || next_request < connections); index++) {
            if (all[index].is_free && next_request < requests && next_request < allowed) {
                begin_next(&all[index]);
                in_flight++;
            } else if (all[index].again > 0 && all[index].again <= now) {
                refused--;
                begin(&all[index]);
            }
        }
        struct epoll_event events[64];
        int ready = epoll_wait(epoll, events, 64, rate > 0 || refused > 0 ? 1 : 200);
        if (ready > 0)
            heard = now;
        else if (in_flight > 0 && now - heard > PATIENCE / 1000.0)
            fail("%llu requests are not answered", (unsigned long long)in_flight);
        for (int index = 0; index < ready; index++) {
            struct connection *connection = events[index].data.ptr;
            if (!connection->is_free && (events[index].events & EPOLLOUT))
                transmit(connection);
            if (!(events[index].events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
                continue;
            if (!receive(connection))
                continue;
            if (!settle(connection)) {
                connection->again = now_seconds() + BUSY_PAUSE;
                refused++;
            } else if (rate == 0 && next_request < requests) {
                begin_next(connection);
            } else {
                connection->is_free = 1;
                in_flight--;
            }
        }
    }
    figures.ended = now_seconds();
    print_figures(&figures);
    return figures.rejected > 0;
}
