/// The static table of header compression (RFC 7541, appendix A). Its entries have the indexes from 1 to 61.
enum HPACKStaticTable {
    static let entries: [(name: StaticString, value: StaticString)] = [
        (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"), (":path", "/index.html"),
        (":scheme", "http"), (":scheme", "https"), (":status", "200"), (":status", "204"), (":status", "206"),
        (":status", "304"), (":status", "400"), (":status", "404"), (":status", "500"), ("accept-charset", ""),
        ("accept-encoding", "gzip, deflate"), ("accept-language", ""), ("accept-ranges", ""), ("accept", ""),
        ("access-control-allow-origin", ""), ("age", ""), ("allow", ""), ("authorization", ""), ("cache-control", ""),
        ("content-disposition", ""), ("content-encoding", ""), ("content-language", ""), ("content-length", ""),
        ("content-location", ""), ("content-range", ""), ("content-type", ""), ("cookie", ""), ("date", ""),
        ("etag", ""), ("expect", ""), ("expires", ""), ("from", ""), ("host", ""), ("if-match", ""),
        ("if-modified-since", ""), ("if-none-match", ""), ("if-range", ""), ("if-unmodified-since", ""),
        ("last-modified", ""), ("link", ""), ("location", ""), ("max-forwards", ""), ("proxy-authenticate", ""),
        ("proxy-authorization", ""), ("range", ""), ("referer", ""), ("refresh", ""), ("retry-after", ""),
        ("server", ""), ("set-cookie", ""), ("strict-transport-security", ""), ("transfer-encoding", ""),
        ("user-agent", ""), ("vary", ""), ("via", ""), ("www-authenticate", ""),
    ]

    /// Returns where a field is, or else where its name is.
    static func find(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) -> HPACKMatch {
        var match = HPACKMatch.none
        for (index, entry) in entries.enumerated() where unsafe entry.name.hasBytes(name) {
            if unsafe entry.value.hasBytes(value) { return .field(index + 1) }
            if case .none = match { match = .name(index + 1) }
        }
        return match
    }
}

/// What a table of header compression has of a field.
enum HPACKMatch: Equatable {
    case none
    case name(Int)
    case field(Int)
}

extension StaticString {
    func hasBytes(_ other: UnsafeRawBufferPointer) -> Bool {
        unsafe other.elementsEqual(UnsafeRawBufferPointer(start: utf8Start, count: utf8CodeUnitCount))
    }
}

/// The dynamic table of the encoder, an exact mirror of the one that the peer decodes with (RFC 7541, section 2.3.2).
struct HPACKDynamicTable {
    /// The overhead of an entry (RFC 7541, section 4.1).
    static let overhead = 32
    /// The size that both sides start with.
    static let initialLimit = 4096

    private struct Entry {
        let name: [UInt8]
        let value: [UInt8]

        var size: Int { name.count + value.count + HPACKDynamicTable.overhead }
    }

    /// The oldest entry comes first, and has the highest index.
    private var entries: [Entry] = []
    private(set) var size = 0
    private(set) var limit = HPACKDynamicTable.initialLimit
    /// Changes whenever an index gets another meaning.
    private(set) var generation: UInt64 = 0

    var count: Int { entries.count }

    mutating func resize(to newLimit: Int) {
        limit = newLimit
        evict(to: newLimit)
    }

    /// Adds an entry. It must not be larger than the limit.
    mutating func insert(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        let entry = unsafe Entry(name: Array(name), value: Array(value))
        precondition(entry.size <= limit, "an entry of \(entry.size) bytes for a table of \(limit)")
        evict(to: limit - entry.size)
        entries.append(entry)
        size += entry.size
        generation += 1
    }

    private mutating func evict(to most: Int) {
        var removed = 0
        while size > most {
            size -= entries[removed].size
            removed += 1
        }
        guard removed > 0 else { return }
        entries.removeFirst(removed)
        generation += 1
    }

    /// Returns where a field is, or else where its name is. The newest entry is found first.
    func find(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) -> HPACKMatch {
        var match = HPACKMatch.none
        for (position, entry) in entries.reversed().enumerated() where unsafe name.elementsEqual(entry.name) {
            let index = HPACKStaticTable.entries.count + 1 + position
            if unsafe value.elementsEqual(entry.value) { return .field(index) }
            if case .none = match { match = .name(index) }
        }
        return match
    }
}
