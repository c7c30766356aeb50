/* OpenSSL 3 has these functions beside those that fetch an algorithm, which cost more than a short text. It calls them
   deprecated, and they use the instructions that processors have for SHA-1. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "CSHA1.h"

#include <openssl/sha.h>
#include <stdlib.h>

void CSHA1_hash(const void *text, size_t length, uint8_t digest[20])
{
    SHA_CTX context;
    if (!SHA1_Init(&context) || !SHA1_Update(&context, text, length) || !SHA1_Final(digest, &context)) {
        abort();
    }
}
