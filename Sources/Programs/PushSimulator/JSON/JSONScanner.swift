/// A scanner that checks in one pass that bytes are one JSON text (RFC 8259, including UTF-8), and notes what the
/// payload rules need.
///
/// It allocates nothing. Nesting deeper than `maxDepth` is rejected. An escaped unpaired surrogate is accepted, because
/// the grammar allows it.
package struct JSONScanner {
    static let maxDepth = 63

    private let bytes: ByteView
    private var position = 0
    private var facts = PayloadFacts()

    /// The open containers, with the innermost in the lowest bit: 1 for an object, 0 for an array.
    private var open: UInt64 = 0
    private var depth = 0
    private var isInAPS = false
    /// Whether the string that was just read contains an escape.
    private var sawEscape = false

    private enum Pending {
        case nothing, aps, mdm, containerIdentifier, unknown
        case key(APSKeys)
    }
    /// The key whose value follows, if the rules need it.
    private var pending = Pending.nothing

    private init(_ bytes: ByteView) {
        self.bytes = bytes
    }

    /// Returns the facts about a payload, or nil if it is not valid JSON.
    package static func scan(_ bytes: ByteView) -> PayloadFacts? {
        var scanner = JSONScanner(bytes)
        return scanner.run() ? scanner.facts : nil
    }

    private enum Expected {
        case value, valueOrEnd, key, keyOrEnd, next
    }

    private mutating func run() -> Bool {
        var expected = Expected.value
        while true {
            skipWhitespace()
            guard position < bytes.count else { return expected == .next && depth == 0 }
            let byte = bytes[position]
            switch expected {
            case .next:
                guard depth > 0 else { return false }
                position += 1
                switch byte {
                case UInt8(ascii: ","):
                    expected = open & 1 == 1 ? .key : .value
                case UInt8(ascii: "}"):
                    guard open & 1 == 1 else { return false }
                    close()
                case UInt8(ascii: "]"):
                    guard open & 1 == 0 else { return false }
                    close()
                default:
                    return false
                }
            case .key, .keyOrEnd:
                position += 1
                if byte == UInt8(ascii: "}"), expected == .keyOrEnd {
                    close()
                    expected = .next
                    continue
                }
                guard byte == UInt8(ascii: "\"") else { return false }
                let start = position
                guard skipString() else { return false }
                if depth == 1 || (isInAPS && depth == 2) { take(key: bytes.slice(from: start, to: position - 1)) }
                skipWhitespace()
                guard position < bytes.count, bytes[position] == UInt8(ascii: ":") else { return false }
                position += 1
                expected = .value
            case .value, .valueOrEnd:
                if byte == UInt8(ascii: "]"), expected == .valueOrEnd {
                    position += 1
                    close()
                    expected = .next
                    continue
                }
                guard let found = value(startingWith: byte) else { return false }
                expected = found
            }
        }
    }

    private mutating func value(startingWith byte: UInt8) -> Expected? {
        switch byte {
        case UInt8(ascii: "\""):
            position += 1
            let start = position
            guard skipString() else { return nil }
            note(.string, from: start, to: position - 1)
            return .next
        case UInt8(ascii: "{"):
            guard depth < Self.maxDepth else { return nil }
            position += 1
            if case .aps = pending { isInAPS = true }
            if depth == 0 { facts.isObject = true }
            note(.object, from: position, to: position)
            open = open << 1 | 1
            depth += 1
            return .keyOrEnd
        case UInt8(ascii: "["):
            guard depth < Self.maxDepth else { return nil }
            position += 1
            note(.array, from: position, to: position)
            open = open << 1
            depth += 1
            return .valueOrEnd
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            let start = position
            guard skipNumber() else { return nil }
            note(.number, from: start, to: position)
            return .next
        case UInt8(ascii: "t"): return literal("true", as: .boolean)
        case UInt8(ascii: "f"): return literal("false", as: .boolean)
        case UInt8(ascii: "n"): return literal("null", as: .null)
        default: return nil
        }
    }

    private mutating func close() {
        depth -= 1
        open >>= 1
        if depth == 1 { isInAPS = false }
    }

    private mutating func literal(_ text: StaticString, as kind: JSONKinds) -> Expected? {
        let end = position + text.utf8CodeUnitCount
        guard end <= bytes.count, bytes.slice(from: position, to: end).equals(text) else { return nil }
        note(kind, from: position, to: end)
        position = end
        return .next
    }

    @inline(__always)
    private mutating func skipWhitespace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x0a, 0x0d, 0x09: position += 1
            default: return
            }
        }
    }

    private mutating func skipDigits() -> Bool {
        let start = position
        while position < bytes.count, bytes[position] &- UInt8(ascii: "0") < 10 { position += 1 }
        return position > start
    }

    private mutating func skipNumber() -> Bool {
        if bytes[position] == UInt8(ascii: "-") { position += 1 }
        guard position < bytes.count else { return false }
        if bytes[position] == UInt8(ascii: "0") {
            position += 1
        } else if !skipDigits() {
            return false
        }
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
            position += 1
            if !skipDigits() { return false }
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if position < bytes.count, bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-") {
                position += 1
            }
            if !skipDigits() { return false }
        }
        return true
    }

    // MARK: Strings

    /// Skips a string, from after the opening quote to after the closing one.
    private mutating func skipString() -> Bool {
        sawEscape = false
        while true {
            skipPlain()
            guard position < bytes.count else { return false }
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                return true
            case UInt8(ascii: "\\"):
                sawEscape = true
                if !skipEscape() { return false }
            case 0..<0x20:
                return false
            case 0x80...:
                if !skipMultibyte(byte) { return false }
            default:
                position += 1
            }
        }
    }

    /// Skips plain ASCII, eight bytes per step. Only the lowest flag of each test is exact, and only that one is used.
    @inline(__always)
    private mutating func skipPlain() {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highs: UInt64 = 0x8080_8080_8080_8080
        while position + 8 <= bytes.count {
            let word = bytes.word(at: position)
            let quotes = word ^ (ones &* 0x22)
            let backslashes = word ^ (ones &* 0x5c)
            let special =
                (((quotes &- ones) & ~quotes) | ((backslashes &- ones) & ~backslashes)
                    | ((word &- ones &* 0x20) & ~word) | word) & highs
            if special != 0 {
                position += special.trailingZeroBitCount >> 3
                return
            }
            position += 8
        }
    }

    private mutating func skipEscape() -> Bool {
        guard position + 1 < bytes.count else { return false }
        switch bytes[position + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 2
            return true
        case UInt8(ascii: "u"):
            guard position + 6 <= bytes.count else { return false }
            for index in position + 2..<position + 6 where Hex.value(bytes[index]) == nil { return false }
            position += 6
            return true
        default:
            return false
        }
    }

    /// Skips one character of two to four bytes, with the ranges of RFC 3629 §4: overlong forms, surrogates and
    /// characters above U+10FFFF are rejected.
    private mutating func skipMultibyte(_ first: UInt8) -> Bool {
        let length: Int
        var second: ClosedRange<UInt8> = 0x80...0xbf
        switch first {
        case 0xc2...0xdf: length = 2
        case 0xe0: (length, second) = (3, 0xa0...0xbf)
        case 0xed: (length, second) = (3, 0x80...0x9f)
        case 0xe1...0xef: length = 3
        case 0xf0: (length, second) = (4, 0x90...0xbf)
        case 0xf4: (length, second) = (4, 0x80...0x8f)
        case 0xf1...0xf3: length = 4
        default: return false
        }
        guard position + length <= bytes.count, second.contains(bytes[position + 1]) else { return false }
        var offset = 2
        while offset < length {
            if bytes[position + offset] & 0xc0 != 0x80 { return false }
            offset += 1
        }
        position += length
        return true
    }

    // MARK: Facts for the payload rules

    private mutating func take(key: ByteView) {
        if isInAPS {
            guard let known = sawEscape ? APSKeys(escaped: key) : APSKeys(named: key) else {
                facts.hasUnknownKey = true
                pending = .nothing
                return
            }
            if facts.keys.contains(known) { facts.repeated.insert(known) }
            facts.keys.insert(known)
            pending = .key(known)
        } else if resolves(key, to: "aps") {
            if facts.hasAPS || facts.hasMistypedAPS { facts.repeatsAPS = true }
            pending = .aps
        } else if resolves(key, to: "mdm") {
            pending = .mdm
        } else if resolves(key, to: "container-identifier") {
            pending = .containerIdentifier
        } else {
            pending = .nothing
        }
    }

    /// Returns whether the string that was just read has this value after its escapes are resolved.
    private func resolves(_ text: ByteView, to value: StaticString) -> Bool {
        sawEscape ? JSONEscapes.resolves(text, to: value) : text.equals(value)
    }

    /// Called at the start of a value. Notes what the rules need if they need its key.
    @inline(__always)
    private mutating func note(_ kind: JSONKinds, from start: Int, to end: Int) {
        if case .nothing = pending { return }
        noteWanted(kind, text: bytes.slice(from: start, to: end))
    }

    private mutating func noteWanted(_ kind: JSONKinds, text: ByteView) {
        defer { pending = .nothing }
        switch pending {
        case .nothing, .unknown: return
        case .aps:
            if kind == .object { facts.hasAPS = true } else { facts.hasMistypedAPS = true }
        case .mdm:
            facts.hasMDM = kind == .string
        case .containerIdentifier:
            facts.hasContainerIdentifier = true
        case .key(let key):
            if !key.allowedKinds.contains(kind) { facts.mistyped.insert(key) }
            if key == .contentAvailable {
                facts.isContentAvailable = kind == .number && text.equals("1")
            } else if key == .contentChanged {
                facts.isContentChanged = kind == .boolean && text.equals("true")
            } else if key == .event {
                facts.event = event(from: text, kind: kind)
            }
        }
    }

    private func event(from text: ByteView, kind: JSONKinds) -> PayloadFacts.Event {
        guard kind == .string else { return .unknown }
        if resolves(text, to: "start") { return .start }
        if resolves(text, to: "update") { return .update }
        if resolves(text, to: "end") { return .end }
        return .unknown
    }
}

extension APSKeys {
    /// The key with a name that contains no escapes.
    fileprivate init?(named name: ByteView) {
        switch name.count {
        case 5 where name.equals("alert"): self = .alert
        case 5 where name.equals("badge"): self = .badge
        case 5 where name.equals("sound"): self = .sound
        case 5 where name.equals("event"): self = .event
        case 5 where name.equals("keyID"): self = .keyID
        case 8 where name.equals("category"): self = .category
        case 8 where name.equals("url-args"): self = .urlArgs
        case 9 where name.equals("thread-id"): self = .threadID
        case 9 where name.equals("timestamp"): self = .timestamp
        case 10 where name.equals("stale-date"): self = .staleDate
        case 10 where name.equals("attributes"): self = .attributes
        case 12 where name.equals("messageIndex"): self = .messageIndex
        case 13 where name.equals("content-state"): self = .contentState
        case 13 where name.equals("encryptedData"): self = .encryptedData
        case 14 where name.equals("dismissal-date"): self = .dismissalDate
        case 15 where name.equals("mutable-content"): self = .mutableContent
        case 15 where name.equals("relevance-score"): self = .relevanceScore
        case 15 where name.equals("filter-criteria"): self = .filterCriteria
        case 15 where name.equals("content-changed"): self = .contentChanged
        case 15 where name.equals("attributes-type"): self = .attributesType
        case 16 where name.equals("input-push-token"): self = .inputPushToken
        case 17 where name.equals("content-available"): self = .contentAvailable
        case 17 where name.equals("target-content-id"): self = .targetContentID
        case 17 where name.equals("sessionIdentifier"): self = .sessionIdentifier
        case 18 where name.equals("interruption-level"): self = .interruptionLevel
        case 18 where name.equals("input-push-channel"): self = .inputPushChannel
        default: return nil
        }
    }

    /// The key with a name that contains escapes. This is rare and may be slow.
    fileprivate init?(escaped name: ByteView) {
        guard let plain = JSONEscapes.resolve(name),
            let key = ByteView.lending(plain, to: { APSKeys(named: $0) })
        else { return nil }
        self = key
    }

    /// The value types that Apple documents for this key.
    fileprivate var allowedKinds: JSONKinds {
        switch self {
        case .alert, .sound: [.string, .object]
        case .badge, .contentAvailable, .mutableContent, .relevanceScore, .timestamp, .staleDate, .dismissalDate,
            .inputPushToken:
            .number
        case .contentChanged: .boolean
        case .contentState, .attributes: .object
        case .urlArgs: .array
        default: .string
        }
    }
}
