/// A writer of compact JSON into a byte buffer. Members are written in the order of the calls.
///
/// The fast path copies strings as they are stored: only a string with a quotation mark, a backslash or a control
/// character is escaped byte by byte.
struct JSONText {
    private(set) var bytes: [UInt8] = []
    private var needsComma = false

    init(capacity: Int = 256) {
        bytes.reserveCapacity(capacity)
    }

    mutating func beginObject() { open(UInt8(ascii: "{")) }
    mutating func endObject() { close(UInt8(ascii: "}")) }
    mutating func beginArray() { open(UInt8(ascii: "[")) }
    mutating func endArray() { close(UInt8(ascii: "]")) }

    mutating func key(_ name: StaticString) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        unsafe bytes.append(contentsOf: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    mutating func key(_ name: String) {
        separate()
        quote(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    mutating func string(_ text: String) {
        separate()
        quote(text)
        needsComma = true
    }

    mutating func integer(_ number: Int64) { word(String(number)) }
    mutating func bool(_ flag: Bool) { word(flag ? "true" : "false") }
    mutating func null() { word("null") }

    /// Writes a number. JSON cannot express infinities and NaN, which become `null`.
    mutating func number(_ number: Double) { word(number.isFinite ? number.description : "null") }

    /// Writes a value that is already JSON.
    mutating func raw(_ json: [UInt8]) {
        separate()
        bytes.append(contentsOf: json)
        needsComma = true
    }

    mutating func member(_ name: StaticString, string text: String?) {
        guard let text else { return }
        key(name)
        string(text)
    }

    mutating func member(_ name: StaticString, integer number: Int64?) {
        guard let number else { return }
        key(name)
        integer(number)
    }

    mutating func member(_ name: StaticString, strings texts: [String]) {
        key(name)
        beginArray()
        for text in texts { string(text) }
        endArray()
    }

    private mutating func open(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func word(_ word: String) {
        separate()
        bytes.append(contentsOf: word.utf8)
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
    }

    private mutating func quote(_ text: String) {
        var text = text
        bytes.append(UInt8(ascii: "\""))
        text.withUTF8 { utf8 in
            if unsafe utf8.contains(where: Self.needsEscape) {
                for index in 0..<utf8.count { escape(unsafe utf8[index]) }
            } else {
                unsafe bytes.append(contentsOf: utf8)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private mutating func escape(_ byte: UInt8) {
        guard Self.needsEscape(byte) else { return bytes.append(byte) }
        bytes.append(UInt8(ascii: "\\"))
        guard byte < 0x20 else { return bytes.append(byte) }
        bytes.append(contentsOf: "u00".utf8)
        bytes.append(UInt8(ascii: "0") + byte >> 4)
        let low = byte & 15
        bytes.append(low < 10 ? UInt8(ascii: "0") + low : UInt8(ascii: "a") + low - 10)
    }
}
