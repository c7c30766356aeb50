public import CSimdJSON
import PushModel

/// A strictly parsed text and the positions of its values. It is borrowed from a ``JSONIndex`` until that parses its
/// next text.
///
/// It resembles ``JSONDocument``, but does not copy the text and finds the values in a tenth of the time. It serves
/// inputs that arrive a hundred thousand times a second. Positions are not checked: a valid one is 0, was returned by
/// ``next(_:)``, or follows that of a bracket or key whose members, elements or value are stored.
@safe
public struct IndexedJSON {
    @usableFromInline let text: UnsafeRawPointer
    @usableFromInline let nodes: UnsafePointer<CSimdJSON_node>
    /// The number of nodes. If it is ``JSONIndex/maxNodes``, the text has more.
    package let count: Int

    /// The index of a value or key among all of them; the root is 0.
    public typealias Position = Int

    /// - Important: `nodes` are those of `text`, and both must outlive the value.
    fileprivate init(text: UnsafeRawPointer, nodes: UnsafePointer<CSimdJSON_node>, count: Int) {
        unsafe self.text = text
        unsafe self.nodes = nodes
        self.count = count
    }

    @inlinable
    @inline(__always)
    public func kind(_ position: Position) -> JSONKind {
        // The shim writes valid kinds only.
        JSONKind(rawValue: unsafe nodes[position].kind) ?? .null
    }

    /// Returns the position after a value and everything in it.
    @inlinable
    @inline(__always)
    public func next(_ position: Position) -> Position { Int(unsafe nodes[position].next) }

    /// Returns the number of elements or members of a value.
    @inlinable
    @inline(__always)
    public func size(_ position: Position) -> Int { Int(unsafe nodes[position].count) }

    /// Returns the source text of a value, including quotation marks and brackets.
    @inlinable
    @inline(__always)
    public func raw(_ position: Position) -> ByteView {
        let node = unsafe nodes[position]
        return bytes(from: Int(node.start), count: Int(node.end - node.start))
    }

    /// Returns the bytes between the quotation marks of a string.
    @inlinable
    @inline(__always)
    public func inner(_ position: Position) -> ByteView {
        let node = unsafe nodes[position]
        return bytes(from: Int(node.start) + 1, count: Int(node.end - node.start) - 2)
    }

    /// Returns bytes of the text. The nodes, from which the offsets are, lie within it.
    @inlinable
    @inline(__always)
    func bytes(from start: Int, count: Int) -> ByteView {
        unsafe ByteView(borrowing: UnsafeRawBufferPointer(start: text + start, count: count))
    }

    @inlinable
    @inline(__always)
    public func isPlainString(_ position: Position) -> Bool { unsafe nodes[position].kind == JSONKind.string.rawValue }

    /// Calls `body` with the UTF-8 of a string. A string with escapes is decoded into separate memory.
    @inlinable
    @inline(__always)
    public func withUTF8<Result>(of position: Position, _ body: (ByteView) -> Result) -> Result {
        if isPlainString(position) { return body(inner(position)) }
        return ByteView.lending(unescaped(position), to: body)
    }

    @usableFromInline
    package func unescaped(_ position: Position) -> [UInt8] { JSONText.unescaped(inner(position).copied[...]) }

    /// Returns the string, or nil if the value is not a string.
    package func string(_ position: Position) -> String? {
        guard kind(position).isString else { return nil }
        return withUTF8(of: position) { $0.text }
    }

    /// Returns the value of the first member with this name; nil if there is none, or if the value is not an object.
    package func member(_ name: StaticString, of object: Position) -> Position? {
        guard kind(object) == .object else { return nil }
        var position = object + 1
        for _ in 0..<size(object) {
            if withUTF8(of: position, { $0.equals(name) }) { return position + 1 }
            position = next(position + 1)
        }
        return nil
    }

    /// Returns the whole number, or nil if the value has another form or does not fit into 64 bits.
    package func integer(_ position: Position) -> Int64? {
        guard kind(position) == .integer else { return nil }
        let digits = raw(position)
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

    /// Returns the number if it is whole, however it is written; nil if it is not, or does not fit into 64 bits.
    package func wholeNumber(_ position: Position) -> Int64? {
        kind(position) == .fraction ? JSONText.wholeNumber(raw(position).copied) : integer(position)
    }
}

/// A parser of one JSON text after the other that reuses its memory.
@safe
struct JSONIndex: ~Copyable {
    enum Verdict {
        case json, notJSON, tooDeep
        /// There is not enough memory for the text, which practically never happens.
        case noMemory
    }

    /// The largest number of elements that are stored of one array. One more is counted, but not stored.
    static let maxElements = UInt32(Audience.maxNames)
    /// The largest number of nodes that are stored of a text.
    static let maxNodes = 300_000

    private let index: OpaquePointer
    private var copy: UnsafeMutableRawBufferPointer

    init() {
        guard let index = unsafe CSimdJSON_index_create() else {
            preconditionFailure("not enough memory for a JSON index")
        }
        unsafe self.index = index
        unsafe copy = .allocate(byteCount: 8192, alignment: 16)
        unsafe copy.initializeMemory(as: UInt8.self, repeating: 0)
    }

    deinit {
        unsafe CSimdJSON_index_destroy(index)
        unsafe copy.deallocate()
    }

    /// Returns a copy of the text that is followed by padding. It is valid until the next call.
    mutating func padded(_ text: ByteView) -> PaddedText {
        let needed = text.count + PaddedText.padding
        if unsafe copy.count < needed {
            unsafe copy.deallocate()
            unsafe copy = .allocate(byteCount: max(needed, 8192), alignment: 16)
        }
        unsafe copy.copyMemory(from: text.bytes)
        unsafe UnsafeMutableRawBufferPointer(rebasing: copy[text.count..<needed]).initializeMemory(
            as: UInt8.self, repeating: 0)
        return unsafe PaddedText(
            padded: ByteView(borrowing: UnsafeRawBufferPointer(rebasing: copy[..<text.count])))
    }

    /// Parses a text.
    func read(_ text: PaddedText) -> Verdict {
        let bytes = unsafe text.view.bytes
        switch unsafe CSimdJSON_index_read(
            index, bytes.baseAddress, bytes.count, Self.maxElements, UInt32(Self.maxNodes))
        {
        case CSimdJSON_ok: return .json
        case CSimdJSON_too_deep: return .tooDeep
        case CSimdJSON_no_memory: return .noMemory
        default: return .notJSON
        }
    }

    /// Returns the values of the text that was read last; if it is not JSON, the values before the error.
    func values(in text: PaddedText) -> IndexedJSON? {
        guard let start = unsafe text.view.bytes.baseAddress, let nodes = unsafe CSimdJSON_index_nodes(index) else {
            return nil
        }
        return unsafe IndexedJSON(text: start, nodes: nodes, count: CSimdJSON_index_count(index))
    }

    /// Releases the memory that an unusually long text needed.
    mutating func trim() {
        if unsafe copy.count > 1 << 20 {
            unsafe copy.deallocate()
            unsafe copy = .allocate(byteCount: 8192, alignment: 16)
        }
        unsafe CSimdJSON_index_trim(index)
    }
}
