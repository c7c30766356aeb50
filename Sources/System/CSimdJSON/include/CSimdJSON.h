#ifndef CARILLON_CSIMDJSON_H
#define CARILLON_CSIMDJSON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The bytes behind a text that simdjson may read. What stands there does not matter. */
size_t CSimdJSON_padding(void);

/* What a value is. The numbers are those of PushWire's JSONKind. */
enum {
    CSimdJSON_object = 0,
    CSimdJSON_array = 1,
    CSimdJSON_string = 2,
    CSimdJSON_escaped_string = 3,
    CSimdJSON_integer = 4,
    CSimdJSON_fraction = 5,
    CSimdJSON_true = 6,
    CSimdJSON_false = 7,
    CSimdJSON_null = 8
};

/* One value, or one key. Values stand in the order of the text, a key right before its value. */
typedef struct {
    uint32_t start; /* its first byte, quotation mark or bracket included */
    uint32_t end;   /* the byte behind it */
    uint32_t next;  /* the node behind it and all that is in it; 0 while a bracket is open */
    uint32_t count; /* elements of an array, members of an object, whether they have nodes or not */
    uint8_t kind;
} CSimdJSON_node;

typedef enum {
    CSimdJSON_ok,
    CSimdJSON_not_json,
    CSimdJSON_too_deep,
    CSimdJSON_no_memory
} CSimdJSON_status;

typedef struct CSimdJSON_index CSimdJSON_index;

/* NULL when there is no memory. */
CSimdJSON_index *CSimdJSON_index_create(void);
void CSimdJSON_index_destroy(CSimdJSON_index *index);

/* Reads the whole of a text strictly (RFC 8259) and keeps where its values stand: of an array at most
   `most_elements`, in all at most `most_nodes`; the rest is checked and counted. CSimdJSON_padding() bytes behind the
   text can be read. Texts are shorter than 4 GiB. */
CSimdJSON_status CSimdJSON_index_read(
    CSimdJSON_index *index, const uint8_t *text, size_t length, uint32_t most_elements, uint32_t most_nodes);

/* Valid until the next call. After a failure: what was read by then. */
const CSimdJSON_node *CSimdJSON_index_nodes(const CSimdJSON_index *index);
size_t CSimdJSON_index_count(const CSimdJSON_index *index);

/* Lets go of what a long text has made large. */
void CSimdJSON_index_trim(CSimdJSON_index *index);

/* The first newline from `start` on, or `length`. */
size_t CSimdJSON_line_end(const uint8_t *text, size_t start, size_t length);

/* How many bytes of a text are quotation marks. */
size_t CSimdJSON_count_quotes(const uint8_t *text, size_t length);

#ifdef __cplusplus
}
#endif

#endif
