#ifndef CARILLON_CSIMDJSON_H
#define CARILLON_CSIMDJSON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The bytes that simdjson may read past the end of a text. */
size_t CSimdJSON_padding(void);

#ifdef __cplusplus
}
#endif

#endif
