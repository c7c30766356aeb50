#ifndef CARILLON_CZEROMQ_SHIM_H
#define CARILLON_CZEROMQ_SHIM_H

#include <errno.h>
#include <zmq.h>

/* The library has this option since 4.3.3; its header declares it for the draft API only. */
#ifndef ZMQ_ZAP_ENFORCE_DOMAIN
#define ZMQ_ZAP_ENFORCE_DOMAIN 93
#endif

#endif
