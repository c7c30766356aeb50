/// A writer of compact JSON. Members are written in the order of the calls.
///
/// The text grows in memory of the writer: an array would check at each of the many small pieces whether it is shared.
@safe
package struct JSONWriter: ~Copyable {
    private var memory: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    package private(set) var count = 0
    private var needsComma = false

    package init(capacity: Int = 256) {
        self.capacity = max(capacity, 16)
        unsafe memory = UnsafeMutablePointer.allocate(capacity: self.capacity)
    }

    deinit { unsafe memory.deallocate() }

    /// A copy of the text.
    package var bytes: [UInt8] { unsafe Array(UnsafeBufferPointer(start: memory, count: count)) }

    // MARK: Structure

    package mutating func beginObject() { begin(UInt8(ascii: "{")) }
    package mutating func endObject() { end(UInt8(ascii: "}")) }
    package mutating func beginArray() { begin(UInt8(ascii: "[")) }
    package mutating func endArray() { end(UInt8(ascii: "]")) }

    package mutating func object(_ members: (inout JSONWriter) -> Void) {
        beginObject()
        members(&self)
        endObject()
    }

    package mutating func array(_ elements: (inout JSONWriter) -> Void) {
        beginArray()
        elements(&self)
        endArray()
    }

    package mutating func key(_ name: String) {
        separate()
        quote(name)
        append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Writes a key that needs no escapes.
    package mutating func key(plain name: StaticString) {
        let length = name.utf8CodeUnitCount
        reserve(length + 4)
        separate()
        append(UInt8(ascii: "\""))
        unsafe append(UnsafeBufferPointer(start: name.utf8Start, count: length))
        append(UInt8(ascii: "\""))
        append(UInt8(ascii: ":"))
        needsComma = false
    }

    // MARK: Values

    package mutating func string(_ text: String) {
        separate()
        quote(text)
        needsComma = true
    }

    package mutating func integer(_ number: Int64) {
        separate()
        reserve(20)
        var magnitude = number.magnitude
        if number < 0 { append(UInt8(ascii: "-")) }
        let first = count
        repeat {
            append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: magnitude % 10))
            magnitude /= 10
        } while magnitude > 0
        var digits = unsafe UnsafeMutableBufferPointer(start: memory + first, count: count - first)
        unsafe digits.reverse()
        needsComma = true
    }

    /// Writes a number. JSON cannot express infinities and NaN, which become `null`.
    package mutating func number(_ number: Double) { word(number.isFinite ? number.description : "null") }
    package mutating func bool(_ flag: Bool) { word(flag ? "true" : "false") }
    package mutating func null() { word("null") }

    /// Writes a value that is already JSON.
    package mutating func raw(_ json: [UInt8]) {
        separate()
        unsafe json.withUnsafeBufferPointer { unsafe append($0) }
        needsComma = true
    }

    // MARK: Bytes

    private mutating func begin(_ bracket: UInt8) {
        separate()
        append(bracket)
        needsComma = false
    }

    private mutating func end(_ bracket: UInt8) {
        append(bracket)
        needsComma = true
    }

    private mutating func word(_ word: String) {
        separate()
        for byte in word.utf8 { append(byte) }
        needsComma = true
    }

    @inline(__always)
    private mutating func separate() {
        if needsComma { append(UInt8(ascii: ",")) }
    }

    private mutating func quote(_ text: String) {
        let isDone: Void? = unsafe text.utf8.withContiguousStorageIfAvailable { unsafe quote($0) }
        if isDone == nil { unsafe Array(text.utf8).withUnsafeBufferPointer { unsafe quote($0) } }
    }

    private mutating func quote(_ text: UnsafeBufferPointer<UInt8>) {
        guard unsafe Self.isPlain(text) else {
            var quoted: [UInt8] = []
            JSONText.appendQuoted(unsafe String(decoding: text, as: UTF8.self), to: &quoted)
            return unsafe quoted.withUnsafeBufferPointer { unsafe append($0) }
        }
        reserve(text.count + 2)
        append(UInt8(ascii: "\""))
        unsafe append(text)
        append(UInt8(ascii: "\""))
    }

    /// Whether no byte needs an escape. Looks at eight bytes at a time: a subtraction borrows into the highest bit of a
    /// byte that is too small.
    private static func isPlain(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        let bytes = UnsafeRawBufferPointer(text)
        var index = 0
        while bytes.count - index >= 8 {
            let word = unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            let quotes = word ^ 0x2222_2222_2222_2222
            let slashes = word ^ 0x5c5c_5c5c_5c5c_5c5c
            let controls = (word &- 0x2020_2020_2020_2020) & ~word
            let marks = ((quotes &- ones) & ~quotes) | ((slashes &- ones) & ~slashes)
            if (controls | marks) & 0x8080_8080_8080_8080 != 0 { return false }
            index += 8
        }
        while index < bytes.count {
            let byte = unsafe bytes[index]
            if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return false }
            index += 1
        }
        return true
    }

    private static var ones: UInt64 { 0x0101_0101_0101_0101 }

    @inline(__always)
    private mutating func append(_ byte: UInt8) {
        reserve(1)
        unsafe memory[count] = byte
        count += 1
    }

    @inline(__always)
    private mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let start = bytes.baseAddress, bytes.count > 0 else { return }
        reserve(bytes.count)
        unsafe (memory + count).update(from: start, count: bytes.count)
        count += bytes.count
    }

    @inline(__always)
    private mutating func reserve(_ more: Int) {
        if capacity - count < more { grow(by: more) }
    }

    @inline(never)
    private mutating func grow(by more: Int) {
        capacity = max(2 * capacity, count + more)
        let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        unsafe larger.update(from: memory, count: count)
        unsafe memory.deallocate()
        unsafe memory = larger
    }
}
