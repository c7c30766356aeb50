#ifndef CARILLON_CEVENT_SHIM_H
#define CARILLON_CEVENT_SHIM_H

/*
 * This must come first. libevent's configuration header defines _GNU_SOURCE; system headers after it would then declare
 * types (fd_set) differently from Swift's Glibc module, which the compiler rejects. features.h evaluates the macros
 * only once.
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
