/// A text of at most 15 bytes as numbers that identify it.
struct ShortText: Hashable {
    private let start: UInt64
    private let end: UInt64
    private let count: UInt8

    /// Returns nil if the text is longer.
    @unsafe
    @inline(__always)
    init?(_ bytes: UnsafeRawPointer, count: Int) {
        // Load from both ends, with the middle possibly twice, so that no loop over bytes is needed.
        switch count {
        case 8...15:
            start = unsafe bytes.loadUnaligned(as: UInt64.self)
            end = unsafe bytes.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
        case 4...7:
            start = unsafe UInt64(bytes.loadUnaligned(as: UInt32.self))
            end = unsafe UInt64(bytes.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self))
        case 1...3:
            start = unsafe UInt64(bytes.load(as: UInt8.self))
            end =
                unsafe UInt64(bytes.load(fromByteOffset: count / 2, as: UInt8.self)) << 8
                | UInt64(bytes.load(fromByteOffset: count &- 1, as: UInt8.self))
        case 0:
            start = 0
            end = 0
        default: return nil
        }
        self.count = UInt8(truncatingIfNeeded: count)
    }

    /// A hash. The multiplication makes every byte affect the upper bits.
    @inline(__always)
    fileprivate var hash: UInt64 {
        (start ^ (end &* 0x9E37_79B9_7F4A_7C15) ^ UInt64(count)) &* 0xD6E8_FEB8_6659_FD93
    }
}

/// A cache of one-byte values by their texts, and of texts by such values. With it, a row with an enum needs neither a
/// new `String` nor the enum's initializer, which compares with one case after the other.
///
/// An entry that falls on the slot of another entry replaces it.
@safe
final class KnownTexts {
    private struct Entry {
        var type: ObjectIdentifier?
        var text: ShortText?
        var value: UInt8

        @inline(__always)
        func holds(_ text: ShortText, as type: ObjectIdentifier) -> Bool {
            self.type == type && self.text == text
        }
    }

    private static let bits = 4
    private static let count = 1 << bits
    // These are pointers because the compiler checks accesses to other stored properties of a class for exclusivity.
    private let entries: UnsafeMutablePointer<Entry>
    private let texts: UnsafeMutablePointer<(type: ObjectIdentifier?, value: UInt8, text: String)>

    init() {
        unsafe entries = .allocate(capacity: Self.count)
        unsafe entries.initialize(repeating: Entry(type: nil, text: nil, value: 0), count: Self.count)
        unsafe texts = .allocate(capacity: Self.count)
        unsafe texts.initialize(repeating: (nil, 0, ""), count: Self.count)
    }

    deinit {
        unsafe entries.deallocate()
        unsafe texts.deinitialize(count: Self.count)
        unsafe texts.deallocate()
    }

    @inline(__always)
    func value(of text: ShortText, as type: ObjectIdentifier) -> UInt8? {
        let slot = Self.slot(of: text)
        if unsafe entries[slot].holds(text, as: type) { return unsafe entries[slot].value }
        return unsafe entries[slot ^ 1].holds(text, as: type) ? entries[slot ^ 1].value : nil
    }

    /// Adds a value. Of two entries that share a slot, the older one moves to the neighboring slot.
    @inline(never)
    func keep(_ value: UInt8, of text: ShortText, as type: ObjectIdentifier) {
        let slot = Self.slot(of: text)
        unsafe entries[slot ^ 1] = entries[slot]
        unsafe entries[slot] = Entry(type: type, text: text, value: value)
    }

    @inline(__always)
    private static func slot(of text: ShortText) -> Int {
        Int(truncatingIfNeeded: text.hash >> UInt64(64 - bits))
    }

    @inline(__always)
    func text(of value: UInt8, as type: ObjectIdentifier) -> String? {
        let slot = Self.slot(of: value, as: type)
        guard unsafe texts[slot].type == type, unsafe texts[slot].value == value else { return nil }
        return unsafe texts[slot].text
    }

    @inline(never)
    func keep(_ text: String, of value: UInt8, as type: ObjectIdentifier) {
        unsafe texts[Self.slot(of: value, as: type)] = (type, value, text)
    }

    /// Returns the slot of a value. Type metadata is aligned to at most 16 bytes.
    @inline(__always)
    private static func slot(of value: UInt8, as type: ObjectIdentifier) -> Int {
        Int(truncatingIfNeeded: UInt(value) ^ (UInt(bitPattern: type) >> 4)) & (count - 1)
    }
}
