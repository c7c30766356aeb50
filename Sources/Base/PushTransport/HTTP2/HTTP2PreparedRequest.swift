import CNGHTTP2

/// The treatment of a field in header compression: repeated values are indexed, and values that change with each
/// request are not indexed after the first use (see nghttp2 in Documentation/Protocols.md).
package enum HTTP2Indexing: Sendable {
    case repeated
    case once
}

/// A request whose header block is prepared once and sent many times, each time with a body and a few values of its own
/// (a path, an id). It is immutable, so any loop may send it.
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

    package static let maxFields = 32

    package let perRequestCount: Int
    let fieldCount: Int
    /// The fields for a first request, and for later ones. The sender fills in the per-request values.
    let firstVector: UnsafeMutablePointer<nghttp2_nv>
    let laterVector: UnsafeMutablePointer<nghttp2_nv>
    /// The positions of the per-request values in the vectors.
    let perRequestPositions: UnsafeMutablePointer<Int>
    private let text: SharedBytes

    /// Prepares a request. Names are lowercase. Pseudo-fields (`:method`, `:scheme`, `:authority`, `:path`) come first.
    package init(_ fields: [Field]) {
        precondition(fields.count <= Self.maxFields, "a prepared request has at most \(Self.maxFields) fields")
        var bytes: [UInt8] = []
        var spans: [(name: Int, nameLength: Int, value: Int, valueLength: Int)] = []
        for field in fields {
            precondition(!field.name.utf8.contains { (65...90).contains($0) }, "HTTP/2 field names must be lowercase")
            let name = bytes.count
            bytes.append(contentsOf: field.name.utf8)
            let value = bytes.count
            if case .fixed(let text) = field.value { bytes.append(contentsOf: text.utf8) }
            spans.append((name, value - name, value, bytes.count - value))
        }
        text = SharedBytes(bytes)
        fieldCount = fields.count
        perRequestCount =
            fields.count {
                if case .perRequest = $0.value { true } else { false }
            }
        unsafe firstVector = .allocate(capacity: max(1, fields.count))
        unsafe laterVector = .allocate(capacity: max(1, fields.count))
        unsafe perRequestPositions = .allocate(capacity: max(1, perRequestCount))
        let base = unsafe UnsafeMutablePointer(
            mutating: text.unsafeBytes.baseAddress!.assumingMemoryBound(to: UInt8.self))
        var slot = 0
        for (index, field) in fields.enumerated() {
            let span = spans[index]
            var flags = UInt8(NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue)
            if case .perRequest = field.value {
                unsafe perRequestPositions[slot] = index
                slot += 1
            } else {
                flags |= UInt8(NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue)
            }
            let entry = unsafe nghttp2_nv(
                name: base + span.name, value: base + span.value, namelen: span.nameLength,
                valuelen: span.valueLength, flags: flags)
            unsafe (firstVector + index).initialize(to: entry)
            unsafe (laterVector + index).initialize(to: entry)
            if case .once = field.indexing {
                unsafe laterVector[index].flags |= UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue)
            }
        }
    }

    deinit {
        unsafe firstVector.deallocate()
        unsafe laterVector.deallocate()
        unsafe perRequestPositions.deallocate()
    }
}
