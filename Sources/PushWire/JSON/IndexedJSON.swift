import CSimdJSON
import PushModel

/// A strictly parsed text and the positions of its values. It is borrowed from a ``JSONIndex`` until that parses its
/// next text.
///
/// It resembles ``JSONDocument``, but does not copy the text and finds the values in a tenth of the time. It serves
/// inputs that arrive a hundred thousand times a second.
struct IndexedJSON {
    let text: UnsafeRawPointer
    let nodes: UnsafePointer<CSimdJSON_node>
    /// The number of nodes. If it is ``JSONIndex/mostNodes``, the text has more.
    let count: Int

    /// The index of a value or key; the root is 0.
    typealias Place = Int

    @inline(__always)
    func kind(_ place: Place) -> JSONKind {
        // The shim writes valid kinds only.
        JSONKind(rawValue: nodes[place].kind) ?? .null
    }

    /// Returns the place after a value and everything in it.
    @inline(__always)
    func next(_ place: Place) -> Place { Int(nodes[place].next) }

    /// Returns the number of elements or members of a value.
    @inline(__always)
    func size(_ place: Place) -> Int { Int(nodes[place].count) }

    /// Returns the source text of a value, including quotation marks and brackets.
    @inline(__always)
    func raw(_ place: Place) -> UnsafeRawBufferPointer {
        let node = nodes[place]
        return UnsafeRawBufferPointer(start: text + Int(node.start), count: Int(node.end - node.start))
    }

    /// Returns the bytes between the quotation marks of a string.
    @inline(__always)
    func inner(_ place: Place) -> UnsafeRawBufferPointer {
        let node = nodes[place]
        return UnsafeRawBufferPointer(start: text + Int(node.start) + 1, count: Int(node.end - node.start) - 2)
    }

    @inline(__always)
    func isPlainString(_ place: Place) -> Bool { nodes[place].kind == JSONKind.string.rawValue }

    /// Calls `body` with the UTF-8 of a string. A string with escapes is decoded into separate memory.
    @inline(__always)
    func withUTF8<Result>(_ place: Place, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        if isPlainString(place) { return body(inner(place)) }
        return unescaped(place).withUnsafeBytes(body)
    }

    func unescaped(_ place: Place) -> [UInt8] { JSONText.unescaped(Array(inner(place))[...]) }

    /// Returns the string, or nil if the value is not a string.
    func string(_ place: Place) -> String? {
        guard kind(place).isString else { return nil }
        return withUTF8(place) { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the whole number, or nil if the value has another form or does not fit into 64 bits.
    func integer(_ place: Place) -> Int64? {
        guard kind(place) == .integer else { return nil }
        let digits = raw(place)
        let isNegative = digits[0] == UInt8(ascii: "-")
        var value: Int64 = 0
        for index in (isNegative ? 1 : 0)..<digits.count {
            let (tens, overflow) = value.multipliedReportingOverflow(by: 10)
            let units = Int64(digits[index] &- UInt8(ascii: "0"))
            let (sum, carried) =
                isNegative ? tens.subtractingReportingOverflow(units) : tens.addingReportingOverflow(units)
            if overflow || carried { return nil }
            value = sum
        }
        return value
    }
}

/// Parses one JSON text after the other and reuses its memory.
struct JSONIndex: ~Copyable {
    enum Verdict {
        case json, notJSON, tooDeep
        /// There is not enough memory for the text, which practically never happens.
        case noMemory
    }

    /// The largest number of elements that are stored of one array. One more is counted, but not stored.
    static let mostElements = UInt32(Audience.maximumNamed)
    /// The largest number of nodes that are stored of a text.
    static let mostNodes = 300_000
    static let padding = CSimdJSON_padding()

    private let index: OpaquePointer
    private var copy: UnsafeMutableRawBufferPointer

    init() {
        guard let index = CSimdJSON_index_create() else { preconditionFailure("not enough memory for a JSON index") }
        self.index = index
        copy = .allocate(byteCount: 8192, alignment: 16)
        copy.initializeMemory(as: UInt8.self, repeating: 0)
    }

    deinit {
        CSimdJSON_index_destroy(index)
        copy.deallocate()
    }

    /// Returns a copy of the text that is followed by readable padding.
    mutating func padded(_ text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let wanted = text.count + Self.padding
        if copy.count < wanted {
            copy.deallocate()
            copy = .allocate(byteCount: max(wanted, 8192), alignment: 16)
        }
        copy.copyMemory(from: text)
        UnsafeMutableRawBufferPointer(rebasing: copy[text.count..<wanted]).initializeMemory(
            as: UInt8.self, repeating: 0)
        return UnsafeRawBufferPointer(rebasing: copy[..<text.count])
    }

    /// Parses a text.
    ///
    /// - Important: ``padding`` bytes after the text must be readable.
    func read(_ text: UnsafeRawBufferPointer) -> Verdict {
        switch CSimdJSON_index_read(index, text.baseAddress, text.count, Self.mostElements, UInt32(Self.mostNodes)) {
        case CSimdJSON_ok: .json
        case CSimdJSON_too_deep: .tooDeep
        case CSimdJSON_no_memory: .noMemory
        default: .notJSON
        }
    }

    /// Returns the values of that text; if it is not JSON, the values before the error.
    func found(in text: UnsafeRawBufferPointer) -> IndexedJSON? {
        guard let start = text.baseAddress, let nodes = CSimdJSON_index_nodes(index) else { return nil }
        return IndexedJSON(text: start, nodes: nodes, count: CSimdJSON_index_count(index))
    }

    /// Releases the memory that an unusually long text needed.
    mutating func trim() {
        if copy.count > 1 << 20 {
            copy.deallocate()
            copy = .allocate(byteCount: 8192, alignment: 16)
        }
        CSimdJSON_index_trim(index)
    }
}
