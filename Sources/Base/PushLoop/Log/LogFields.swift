/// The name of a log field. The keys are a closed set: each target adds its own as static constants in an extension, so
/// that one thing has the same name in every line.
package struct LogKey: Hashable, Sendable {
    package let name: String

    /// Creates a key from lowercase letters, digits and underscores. The names that every line contains are reserved.
    package init(_ name: StaticString) {
        let name = name.description
        precondition(
            !name.isEmpty && name.utf8.allSatisfy { Self.allowed.contains($0) } && !Self.reserved.contains(name),
            "log key \"\(name)\": use lowercase letters, digits and _, but none of the reserved names \(Self.reserved)")
        self.name = name
    }

    private static let allowed = Set("abcdefghijklmnopqrstuvwxyz0123456789_".utf8)
    private static let reserved = ["ts", "level", "subsystem", "message", "truncated"]
}

extension LogKey {
    package static let address = LogKey("address")
    package static let attempt = LogKey("attempt")
    package static let connection = LogKey("connection")
    package static let count = LogKey("count")
    package static let duration = LogKey("duration")
    package static let error = LogKey("error")
    package static let file = LogKey("file")
    package static let host = LogKey("host")
    package static let port = LogKey("port")
    package static let reason = LogKey("reason")
    package static let size = LogKey("size")
    package static let suppressed = LogKey("suppressed")
}

/// The fields of a line in the order of output.
package struct LogFields: Sendable, ExpressibleByDictionaryLiteral {
    package private(set) var pairs: [(key: LogKey, value: LogValue)]

    package init(dictionaryLiteral elements: (LogKey, any LogRepresentable)...) {
        pairs = elements.map { ($0.0, $0.1.logValue) }
    }

    package mutating func append(_ value: some LogRepresentable, for key: LogKey) {
        pairs.append((key, value.logValue))
    }

    mutating func append(contentsOf other: LogFields) {
        pairs.append(contentsOf: other.pairs)
    }
}
