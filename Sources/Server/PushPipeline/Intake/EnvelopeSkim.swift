import Glibc
import PushModel
import PushWire

/// Finds the id of an envelope without parsing the rest. Intake uses it to answer `busy` or `rejected` with the right
/// id.
enum EnvelopeSkim {
    /// Returns nil if there is no valid id.
    static func id(_ envelope: UnsafeRawBufferPointer) -> MessageID? {
        guard let value = unsafe member("id", of: envelope) else { return nil }
        // The longest valid text is an id of 128 bytes, each written as \u0000.
        guard value.count <= 2 + 6 * 128 else { return nil }
        guard let document = unsafe try? JSONDocument([UInt8](value)), let text = document.string(document.root) else {
            return nil
        }
        return MessageID(text)
    }

    /// Returns the text of a string member of the outermost object, including the quotation marks.
    private static func member(_ name: StaticString, of text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        var place = 0
        unsafe skipSpace(in: text, at: &place)
        guard place < text.count, unsafe text[place] == UInt8(ascii: "{") else { return nil }
        place += 1
        while true {
            unsafe skipSpace(in: text, at: &place)
            guard let key = unsafe string(in: text, at: &place) else { return nil }
            unsafe skipSpace(in: text, at: &place)
            guard place < text.count, unsafe text[place] == UInt8(ascii: ":") else { return nil }
            place += 1
            unsafe skipSpace(in: text, at: &place)
            let length = name.utf8CodeUnitCount
            if key.count == length + 2, unsafe memcmp(key.baseAddress! + 1, name.utf8Start, length) == 0 {
                return unsafe string(in: text, at: &place)
            }
            guard unsafe skipValue(in: text, at: &place) else { return nil }
        }
    }

    private static func skipSpace(in text: UnsafeRawBufferPointer, at place: inout Int) {
        while place < text.count, unsafe text[place] <= 0x20 { place += 1 }
    }

    private static func string(in text: UnsafeRawBufferPointer, at place: inout Int) -> UnsafeRawBufferPointer? {
        guard place < text.count, unsafe text[place] == UInt8(ascii: "\"") else { return nil }
        let start = place
        place += 1
        while let end = unsafe find(UInt8(ascii: "\""), in: text, from: place) {
            place = end + 1
            var slashes = 0
            while unsafe text[end - 1 - slashes] == UInt8(ascii: "\\") { slashes += 1 }
            if slashes.isMultiple(of: 2) { return unsafe UnsafeRawBufferPointer(rebasing: text[start...end]) }
        }
        return nil
    }

    /// Skips the value and the comma after it. Returns false at the end of the object, and if there is no valid value.
    private static func skipValue(in text: UnsafeRawBufferPointer, at place: inout Int) -> Bool {
        var depth = 0
        while place < text.count {
            switch unsafe text[place] {
            case UInt8(ascii: "\""):
                guard unsafe string(in: text, at: &place) != nil else { return false }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth < 0 { return false }
            case UInt8(ascii: ","):
                if depth == 0 {
                    place += 1
                    return true
                }
            default: break
            }
            place += 1
        }
        return false
    }

    static func find(_ byte: UInt8, in text: UnsafeRawBufferPointer, from start: Int) -> Int? {
        guard let base = text.baseAddress, start < text.count,
            let found = unsafe memchr(base + start, Int32(byte), text.count - start)
        else { return nil }
        return unsafe UnsafeRawPointer(found) - base
    }
}
