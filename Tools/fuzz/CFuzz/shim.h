#ifndef CARILLON_CFUZZ_SHIM_H
#define CARILLON_CFUZZ_SHIM_H

/* OpenSSL 3 deprecates this call; its replacement needs a complete provider. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/rand.h>

/* Makes OpenSSL take all random numbers from `fill`, so that a handshake is repeatable byte for byte. */
static inline int CFuzz_set_random(int (*fill)(unsigned char *bytes, int count))
{
    static RAND_METHOD method;
    method.bytes = fill;
    method.pseudorand = fill;
    return RAND_set_rand_method(&method);
}

#endif
