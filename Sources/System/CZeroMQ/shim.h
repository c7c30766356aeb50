#ifndef CARILLON_CZEROMQ_SHIM_H
#define CARILLON_CZEROMQ_SHIM_H

#include <errno.h>
#include <zmq.h>

/* In the library since 4.3.3; its header shows it with the draft API only. */
#ifndef ZMQ_ZAP_ENFORCE_DOMAIN
#define ZMQ_ZAP_ENFORCE_DOMAIN 93
#endif

#endif
