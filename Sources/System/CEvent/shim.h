#ifndef CARILLON_CEVENT_SHIM_H
#define CARILLON_CEVENT_SHIM_H

/*
 * This must come first. libevent's configuration header defines _GNU_SOURCE; system headers after it would then declare
 * types (fd_set) differently from Swift's Glibc module, which the compiler rejects. features.h evaluates the macros
 * only once.
 */
#include <features.h>

#include <event2/event.h>

#endif
