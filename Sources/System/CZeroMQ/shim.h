#ifndef CARILLON_CZEROMQ_SHIM_H
#define CARILLON_CZEROMQ_SHIM_H

#include <errno.h>
#include <zmq.h>

#endif
