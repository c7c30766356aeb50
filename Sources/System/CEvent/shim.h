#ifndef CARILLON_CEVENT_SHIM_H
#define CARILLON_CEVENT_SHIM_H

/*
 * First: libevent's configuration header defines _GNU_SOURCE, and the system headers that follow it would then declare
 * types (fd_set) otherwise than Swift's Glibc module does, which the compiler refuses. Once read, the choice stands.
 */
#include <features.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>

#endif
