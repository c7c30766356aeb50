#include "CSimdJSON.h"

#include <simdjson.h>

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

// simdjson's first stage does what vector instructions do well: it checks UTF-8 and control characters in strings, and
// finds the starts of brackets, commas, colons, strings, numbers and words. simdjson's on-demand parser then checks
// only the values that are requested. Here everything must be checked, so this code walks over everything that the
// first stage found.

namespace {

// PushWire's parser of payloads stops at 64. An envelope encloses the payload, and `custom` its members.
constexpr uint32_t maximum_depth = 68;
constexpr size_t least_capacity = 4096;
// What is kept from one text to the next: enough for thousands of tokens.
constexpr size_t kept_capacity = 1024 * 1024;
constexpr size_t kept_nodes = 64 * 1024;
// At this size and above, malloc would keep freed memory.
constexpr size_t huge_capacity = 8 * 1024 * 1024;
constexpr uint32_t none = UINT32_MAX;

inline bool is_space(uint8_t byte) { return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t'; }
inline bool is_digit(uint8_t byte) { return byte >= '0' && byte <= '9'; }

inline int hex_value(uint8_t byte)
{
    if (is_digit(byte)) return byte - '0';
    const uint8_t lower = byte | 0x20;
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Returns the value of the four digits of a \u, or -1.
int unit(const uint8_t *at, const uint8_t *end)
{
    if (end - at < 4) return -1;
    int value = 0;
    for (int digit = 0; digit < 4; digit++) {
        const int next = hex_value(at[digit]);
        if (next < 0) return -1;
        value = value << 4 | next;
    }
    return value;
}

// Whether each backslash between two quotation marks begins a valid escape sequence. An unpaired surrogate matches the
// grammar, but is not a valid string.
bool has_good_escapes(const uint8_t *at, const uint8_t *end)
{
    while ((at = static_cast<const uint8_t *>(memchr(at, '\\', end - at)))) {
        if (end - at < 2) return false;
        at += 2;
        switch (at[-1]) {
        case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't':
            continue;
        case 'u': {
            const int high = unit(at, end);
            if (high < 0) return false;
            at += 4;
            if (high < 0xd800 || high > 0xdfff) continue;
            if (high > 0xdbff || end - at < 2 || at[0] != '\\' || at[1] != 'u') return false;
            const int low = unit(at + 2, end);
            if (low < 0xdc00 || low > 0xdfff) return false;
            at += 6;
            continue;
        }
        default:
            return false;
        }
    }
    return true;
}

struct Free {
    void operator()(void *memory) const { std::free(memory); }
};

} // namespace

struct CSimdJSON_index {
    std::unique_ptr<simdjson::internal::dom_parser_implementation> stage;
    std::unique_ptr<CSimdJSON_node, Free> nodes;
    size_t room = 0;
    size_t count = 0;

    bool prepare(size_t length)
    {
        if (stage && stage->capacity() >= length) return true;
        size_t capacity = least_capacity;
        while (capacity < length) capacity *= 2;
        if (!stage) {
            return simdjson::get_active_implementation()->create_dom_parser_implementation(capacity, 1, stage)
                == simdjson::SUCCESS;
        }
        return stage->allocate(capacity, 1) == simdjson::SUCCESS;
    }

    bool grow()
    {
        const size_t wanted = room ? 2 * room : 64;
        void *larger = std::realloc(nodes.get(), wanted * sizeof(CSimdJSON_node));
        if (!larger) return false;
        nodes.release();
        nodes.reset(static_cast<CSimdJSON_node *>(larger));
        room = wanted;
        return true;
    }

    CSimdJSON_status walk(const uint8_t *text, size_t length, uint32_t most_elements, uint32_t most_nodes);
};

namespace {

struct Bracket {
    uint32_t node;  // `none` if the bracket has no node
    uint32_t count; // the number of elements or members so far
    bool is_object;
    bool keeps; // whether the values around the bracket are stored
};

} // namespace

CSimdJSON_status CSimdJSON_index::walk(
    const uint8_t *text, size_t length, uint32_t most_elements, uint32_t most_nodes)
{
    const uint32_t *place = stage->structural_indexes.get();
    const uint32_t *const last = place + stage->n_structural_indexes;
    const bool has_escapes = memchr(text, '\\', length) != nullptr;
    Bracket stack[maximum_depth];
    uint32_t depth = 0;
    bool keeps = true;

    // The end of the space in which the string, number or word at `*place` lies: the next structural byte, or the end
    // of the text. Between the value and this end is only white space.
#define BEHIND (place + 1 < last ? place[1] : uint32_t(length))

    const auto add = [&](uint8_t kind, uint32_t start, uint32_t end) -> bool {
        if (count >= most_nodes) keeps = false;
        if (!keeps) return true;
        if (count == room && !grow()) return false;
        nodes.get()[count] = {start, end, uint32_t(count + 1), 0, kind};
        count += 1;
        return true;
    };
    // Adds the string at `*place`, unless it is malformed.
    const auto add_string = [&]() -> CSimdJSON_status {
        const uint32_t start = *place;
        uint32_t end = BEHIND;
        while (end > start + 1 && is_space(text[end - 1])) end--;
        if (end < start + 2 || text[end - 1] != '"') return CSimdJSON_not_json;
        uint8_t kind = CSimdJSON_string;
        if (has_escapes && memchr(text + start + 1, '\\', end - start - 2)) {
            if (!has_good_escapes(text + start + 1, text + end - 1)) return CSimdJSON_not_json;
            kind = CSimdJSON_escaped_string;
        }
        return add(kind, start, end) ? CSimdJSON_ok : CSimdJSON_no_memory;
    };

    while (true) {
        // A value, preceded by its key in an object.
        if (place == last) return CSimdJSON_not_json;
        if (depth > 0) {
            Bracket &around = stack[depth - 1];
            around.count += 1;
            if (around.is_object) {
                if (text[*place] != '"') return CSimdJSON_not_json;
                const CSimdJSON_status status = add_string();
                if (status != CSimdJSON_ok) return status;
                place += 1;
                if (place == last || text[*place] != ':') return CSimdJSON_not_json;
                place += 1;
                if (place == last) return CSimdJSON_not_json;
            } else if (around.count > most_elements) {
                keeps = false;
            }
        }
        const uint32_t start = *place;
        const uint8_t first = text[start];
        switch (first) {
        case '{':
        case '[': {
            if (depth == maximum_depth) return CSimdJSON_too_deep;
            Bracket &bracket = stack[depth];
            bracket.keeps = keeps;
            bracket.is_object = first == '{';
            bracket.count = 0;
            const uint32_t node = uint32_t(count);
            if (!add(bracket.is_object ? CSimdJSON_object : CSimdJSON_array, start, 0)) return CSimdJSON_no_memory;
            bracket.node = count > node ? node : none;
            if (bracket.node != none) nodes.get()[node].next = 0;
            depth += 1;
            place += 1;
            if (place == last) return CSimdJSON_not_json;
            if (text[*place] != (bracket.is_object ? '}' : ']')) continue;
            break; // closed below
        }
        case '"': {
            const CSimdJSON_status status = add_string();
            if (status != CSimdJSON_ok) return status;
            place += 1;
            break;
        }
        case '-':
        case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9': {
            // `behind` limits the loops: the byte there is not part of the number.
            const uint32_t behind = BEHIND;
            uint32_t at = start;
            uint8_t kind = CSimdJSON_integer;
            if (first == '-') at++;
            if (at < behind && text[at] == '0') {
                at++;
            } else {
                const uint32_t digits = at;
                while (at < behind && is_digit(text[at])) at++;
                if (at == digits) return CSimdJSON_not_json;
            }
            if (at < behind && text[at] == '.') {
                kind = CSimdJSON_fraction;
                const uint32_t digits = ++at;
                while (at < behind && is_digit(text[at])) at++;
                if (at == digits) return CSimdJSON_not_json;
            }
            if (at < behind && (text[at] | 0x20) == 'e') {
                kind = CSimdJSON_fraction;
                at++;
                if (at < behind && (text[at] == '+' || text[at] == '-')) at++;
                const uint32_t digits = at;
                while (at < behind && is_digit(text[at])) at++;
                if (at == digits) return CSimdJSON_not_json;
            }
            if (at < behind && !is_space(text[at])) return CSimdJSON_not_json;
            if (!add(kind, start, at)) return CSimdJSON_no_memory;
            place += 1;
            break;
        }
        case 't':
        case 'f':
        case 'n': {
            const uint32_t behind = BEHIND;
            const char *const word = first == 't' ? "true" : first == 'f' ? "false" : "null";
            const uint32_t size = first == 'f' ? 5 : 4;
            if (behind - start < size || memcmp(text + start, word, size)) return CSimdJSON_not_json;
            if (behind - start > size && !is_space(text[start + size])) return CSimdJSON_not_json;
            const uint8_t kind = first == 't' ? CSimdJSON_true : first == 'f' ? CSimdJSON_false : CSimdJSON_null;
            if (!add(kind, start, start + size)) return CSimdJSON_no_memory;
            place += 1;
            break;
        }
        default:
            return CSimdJSON_not_json;
        }
        // The value is complete, or its bracket is empty. Closing brackets may follow, and then a comma or the end.
        while (true) {
            if (depth == 0) return place == last ? CSimdJSON_ok : CSimdJSON_not_json;
            if (place == last) return CSimdJSON_not_json;
            const uint8_t byte = text[*place];
            Bracket &bracket = stack[depth - 1];
            if (byte == ',' && bracket.count > 0) {
                place += 1;
                break;
            }
            if (byte != (bracket.is_object ? '}' : ']')) return CSimdJSON_not_json;
            if (bracket.node != none) {
                CSimdJSON_node &node = nodes.get()[bracket.node];
                node.end = *place + 1;
                node.next = uint32_t(count);
                node.count = bracket.count;
            }
            keeps = bracket.keeps && count < most_nodes;
            depth -= 1;
            place += 1;
        }
    }
#undef BEHIND
}

#define CSIMDJSON_TEXT_OF(name) #name
#define CSIMDJSON_TEXT(name) CSIMDJSON_TEXT_OF(name)

const char *CSimdJSON_version(void)
{
    return CSIMDJSON_TEXT(SIMDJSON_VERSION);
}

size_t CSimdJSON_padding(void)
{
    return simdjson::SIMDJSON_PADDING;
}

CSimdJSON_index *CSimdJSON_index_create(void)
{
    return new (std::nothrow) CSimdJSON_index;
}

void CSimdJSON_index_destroy(CSimdJSON_index *index)
{
    delete index;
}

CSimdJSON_status CSimdJSON_index_read(
    CSimdJSON_index *index, const uint8_t *text, size_t length, uint32_t most_elements, uint32_t most_nodes)
{
    index->count = 0;
    if (length == 0) return CSimdJSON_not_json;
    if (length >= UINT32_MAX || !index->prepare(length)) return CSimdJSON_no_memory;
    if (index->stage->stage1(text, length, simdjson::stage1_mode::regular) != simdjson::SUCCESS) {
        return CSimdJSON_not_json;
    }
    return index->walk(text, length, most_elements, most_nodes);
}

const CSimdJSON_node *CSimdJSON_index_nodes(const CSimdJSON_index *index)
{
    return index->nodes.get();
}

size_t CSimdJSON_index_count(const CSimdJSON_index *index)
{
    return index->count;
}

void CSimdJSON_index_trim(CSimdJSON_index *index)
{
    const size_t capacity = index->stage ? index->stage->capacity() : 0;
    if (capacity > kept_capacity) index->stage.reset();
    if (index->room > kept_nodes) {
        index->nodes.reset();
        index->room = 0;
        index->count = 0;
    }
    if (capacity >= huge_capacity) malloc_trim(0);
}

size_t CSimdJSON_line_end(const uint8_t *text, size_t start, size_t length)
{
    const void *found = memchr(text + start, '\n', length - start);
    return found ? size_t(static_cast<const uint8_t *>(found) - text) : length;
}

int CSimdJSON_has_more_quotes(const uint8_t *text, size_t length, size_t most)
{
    size_t count = 0;
    for (size_t at = 0; at < length;) {
        const size_t end = at + std::min<size_t>(length - at, 64 * 1024);
        for (; at < end; at++) count += text[at] == '"';
        if (count > most) return 1;
    }
    return 0;
}
