#ifndef CARILLON_CSIMDJSON_H
#define CARILLON_CSIMDJSON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the number of bytes after a text that simdjson may read. Their content does not matter. */
size_t CSimdJSON_padding(void);

/* Returns the version of simdjson, with whose headers this file was compiled. */
const char *CSimdJSON_version(void);

/* The kinds of values, with the numbers of PushWire's JSONKind. */
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

/* One value or one key. Nodes are in the order of the text, a key directly before its value. */
typedef struct {
    uint32_t start; /* the first byte, including a quotation mark or bracket */
    uint32_t end;   /* the byte after the last one */
    uint32_t next;  /* the node after this one and everything in it; 0 while a bracket is open */
    uint32_t count; /* the number of elements or members, whether they have nodes or not */
    uint8_t kind;
} CSimdJSON_node;

typedef enum {
    CSimdJSON_ok,
    CSimdJSON_not_json,
    CSimdJSON_too_deep,
    CSimdJSON_no_memory
} CSimdJSON_status;

typedef struct CSimdJSON_index CSimdJSON_index;

/* Returns NULL if there is not enough memory. */
CSimdJSON_index *CSimdJSON_index_create(void);
void CSimdJSON_index_destroy(CSimdJSON_index *index);

/* Parses a whole text strictly (RFC 8259) and stores the positions of its values: at most `most_elements` of an array
   and at most `most_nodes` in total; the others are checked and counted. CSimdJSON_padding() bytes after the text must
   be readable. Texts are shorter than 4 GiB. */
CSimdJSON_status CSimdJSON_index_read(
    CSimdJSON_index *index, const uint8_t *text, size_t length, uint32_t most_elements, uint32_t most_nodes);

/* Returns the nodes, which are valid until the next call. After a failure they are those before the error. */
const CSimdJSON_node *CSimdJSON_index_nodes(const CSimdJSON_index *index);
size_t CSimdJSON_index_count(const CSimdJSON_index *index);

/* Releases the memory that a long text required. */
void CSimdJSON_index_trim(CSimdJSON_index *index);

/* Returns the position of the first newline from `start` on, or `length`. */
size_t CSimdJSON_line_end(const uint8_t *text, size_t start, size_t length);

/* Whether a text has more than `most` quotation marks. The search ends soon after that number is exceeded. */
int CSimdJSON_has_more_quotes(const uint8_t *text, size_t length, size_t most);

#ifdef __cplusplus
}
#endif

#endif
