#include "CSimdJSON.h"

#include <simdjson.h>

size_t CSimdJSON_padding(void)
{
    return simdjson::SIMDJSON_PADDING;
}
