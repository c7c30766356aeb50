import Synchronization

/// The treatment of a field in header compression: repeated values are indexed, and values that change with each
/// request are not (see "HTTP/2" in Documentation/Protocols.md).
package enum HTTP2Indexing: Sendable {
    case repeated
    case once
}

/// A request whose fields are prepared once and sent many times, each time with a body and a few values of its own (a
/// path, an id). It is immutable, so any loop may send it.
@safe
package final class HTTP2PreparedRequest: @unchecked Sendable {
    // Unchecked: everything is written only in `init`.

    package enum Value: Sendable {
        case fixed(String)
        /// The value is passed to each submit, in the order of these fields.
        case perRequest
    }

    package struct Field: Sendable {
        let name: String
        let value: Value
        let indexing: HTTP2Indexing

        package init(_ name: String, value: Value, indexed indexing: HTTP2Indexing = .repeated) {
            self.name = name
            self.value = value
            self.indexing = indexing
        }
    }

    /// A field in the memory of the request.
    @unsafe
    struct StoredField {
        let name: UnsafeRawBufferPointer
        /// Empty for a field whose value is passed to each submit.
        let value: UnsafeRawBufferPointer
        let isPerRequest: Bool
        let isRepeated: Bool
    }

    private struct Span {
        let name: Range<Int>
        let value: Range<Int>
        let isPerRequest: Bool
        let isRepeated: Bool
    }

    package static let maxFields = 32
    private static let lastID = Atomic<UInt64>(0)

    package let perRequestCount: Int
    /// A number that no other request has, also after the end of this one.
    let id: UInt64
    /// The length of the header block without the per-request values, if nothing were compressed.
    let maxFixedLength: Int
    /// Whether the answer has no body, whatever its length is said to be.
    let isHead: Bool
    private let spans: [Span]
    private let text: SharedBytes

    /// Prepares a request. Names are lowercase. Pseudo-fields (`:method`, `:scheme`, `:authority`, `:path`) come first.
    package init(_ fields: [Field]) {
        precondition(fields.count <= Self.maxFields, "a prepared request has at most \(Self.maxFields) fields")
        var bytes: [UInt8] = []
        var spans: [Span] = []
        var isHead = false
        for field in fields {
            precondition(!field.name.utf8.contains { (65...90).contains($0) }, "HTTP/2 field names must be lowercase")
            let name = bytes.count
            bytes.append(contentsOf: field.name.utf8)
            let value = bytes.count
            var isPerRequest = true
            if case .fixed(let text) = field.value {
                isPerRequest = false
                bytes.append(contentsOf: text.utf8)
                if field.name == ":method" { isHead = text == "HEAD" }
            }
            let isRepeated = !isPerRequest && field.indexing == .repeated
            spans.append(
                Span(
                    name: name..<value, value: value..<bytes.count, isPerRequest: isPerRequest,
                    isRepeated: isRepeated))
        }
        self.spans = spans
        self.isHead = isHead
        text = SharedBytes(bytes)
        perRequestCount = spans.count(where: \.isPerRequest)
        // Each field has up to three integers.
        maxFixedLength = bytes.count + 30 * spans.count
        id = Self.lastID.wrappingAdd(1, ordering: .relaxed).newValue
    }

    var fieldCount: Int { spans.count }

    /// Returns a field. It is valid as long as the request.
    func field(_ index: Int) -> StoredField {
        let span = spans[index]
        let all = unsafe text.unsafeBytes
        return unsafe StoredField(
            name: UnsafeRawBufferPointer(rebasing: all[span.name]),
            value: UnsafeRawBufferPointer(rebasing: all[span.value]), isPerRequest: span.isPerRequest,
            isRepeated: span.isRepeated)
    }
}
