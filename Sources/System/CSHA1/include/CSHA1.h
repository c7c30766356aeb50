#ifndef CARILLON_CSHA1_H
#define CARILLON_CSHA1_H

#include <stddef.h>
#include <stdint.h>

/* Writes the 20 bytes of the SHA-1 digest of a text. */
void CSHA1_hash(const void *text, size_t length, uint8_t digest[20]);

#endif
