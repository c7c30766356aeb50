import CSimdJSON

/// A text that was read strictly, and where in it its values stand. Lent by a `JSONIndex` until its next text.
///
/// Like `JSONDocument`, but the text stays where it was, and finding the values took a tenth of the time: this is for
/// what comes by the hundred thousand a second.
struct IndexedJSON {
    let text: UnsafeRawPointer
    let nodes: UnsafePointer<CSimdJSON_node>
    /// How many nodes there are; more stood in the text if it is `JSONIndex.mostNodes`.
    let count: Int

    /// A value or a key; the root is 0.
    typealias Place = Int

    @inline(__always)
    func kind(_ place: Place) -> JSONKind {
        // The shim writes no other numbers.
        JSONKind(rawValue: nodes[place].kind) ?? .null
    }

    /// The place behind a value and all that is in it.
    @inline(__always)
    func next(_ place: Place) -> Place { Int(nodes[place].next) }

    /// How many elements or members are in a value.
    @inline(__always)
    func size(_ place: Place) -> Int { Int(nodes[place].count) }

    /// As it is written, quotation marks and brackets included.
    @inline(__always)
    func raw(_ place: Place) -> UnsafeRawBufferPointer {
        let node = nodes[place]
        return UnsafeRawBufferPointer(start: text + Int(node.start), count: Int(node.end - node.start))
    }

    /// What stands between the quotation marks of a string.
    @inline(__always)
    func inner(_ place: Place) -> UnsafeRawBufferPointer {
        let node = nodes[place]
        return UnsafeRawBufferPointer(start: text + Int(node.start) + 1, count: Int(node.end - node.start) - 2)
    }

    @inline(__always)
    func isPlainString(_ place: Place) -> Bool { nodes[place].kind == JSONKind.string.rawValue }

    /// The UTF-8 that a string stands for. With escapes it is made in memory of its own.
    @inline(__always)
    func withUTF8<Result>(_ place: Place, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        if isPlainString(place) { return body(inner(place)) }
        return unescaped(place).withUnsafeBytes(body)
    }

    func unescaped(_ place: Place) -> [UInt8] { JSONText.unescaped(Array(inner(place))[...]) }

    /// Nil unless it is a string.
    func string(_ place: Place) -> String? {
        guard kind(place).isString else { return nil }
        return withUTF8(place) { String(decoding: $0, as: UTF8.self) }
    }

    /// Nil unless it is a whole number, written as one, that 64 bits hold.
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

/// Finds the values of one JSON text after the other, in memory that it keeps.
struct JSONIndex: ~Copyable {
    enum Verdict {
        case json, notJSON, tooDeep
        /// As good as never: the text is too long for this machine.
        case noMemory
    }

    /// Of one array; one more than that is counted, not kept.
    static let mostElements = UInt32(clamping: 100_000)
    /// Of a whole text.
    static let mostNodes = 300_000
    static let padding = CSimdJSON_padding()

    private let index: OpaquePointer
    private var copy: UnsafeMutableRawBufferPointer

    init() {
        guard let index = CSimdJSON_index_create() else { preconditionFailure("no memory for an index of JSON") }
        self.index = index
        copy = .allocate(byteCount: 8192, alignment: 16)
        copy.initializeMemory(as: UInt8.self, repeating: 0)
    }

    deinit {
        CSimdJSON_index_destroy(index)
        copy.deallocate()
    }

    /// The text where it can be read past its end: a copy of it.
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

    /// - Important: `padding` bytes behind the text can be read.
    func read(_ text: UnsafeRawBufferPointer) -> Verdict {
        switch CSimdJSON_index_read(index, text.baseAddress, text.count, Self.mostElements, UInt32(Self.mostNodes)) {
        case CSimdJSON_ok: .json
        case CSimdJSON_too_deep: .tooDeep
        case CSimdJSON_no_memory: .noMemory
        default: .notJSON
        }
    }

    /// What was found in that text; if it is not JSON, what was found by then.
    func found(in text: UnsafeRawBufferPointer) -> IndexedJSON? {
        guard let start = text.baseAddress, let nodes = CSimdJSON_index_nodes(index) else { return nil }
        return IndexedJSON(text: start, nodes: nodes, count: CSimdJSON_index_count(index))
    }

    /// Lets go of what an unusually long text needed.
    mutating func trim() {
        CSimdJSON_index_trim(index)
        if copy.count > 256 << 10 {
            copy.deallocate()
            copy = .allocate(byteCount: 8192, alignment: 16)
        }
    }
}
