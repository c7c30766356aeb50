import Foundation

/// A response in a cache.
struct StoredResponse: Sendable, Equatable {
    /// What is known of the response beside its body.
    struct Head: Codable, Sendable, Equatable {
        var url: String
        var status: Int
        /// Names and values, in turn.
        var fields: [String]
        /// The request's fields that `Vary` names, with their values.
        var varying: [String: String]
        var tags: Set<String>
        /// The times of the request and of the response, in milliseconds since 1970.
        var requestedAt: Int64
        var receivedAt: Int64
    }

    var head: Head
    var body: Data

    var fields: HeaderFields {
        var fields = HeaderFields()
        for index in stride(from: 0, to: head.fields.count - 1, by: 2) {
            fields.add(head.fields[index + 1], to: head.fields[index])
        }
        return fields
    }

    /// The bytes that the response takes, with an allowance for what is around it.
    var cost: Int {
        let tags = head.tags.reduce(0) { $0 + $1.utf8.count + 32 }
        return body.count + head.fields.reduce(256) { $0 + $1.utf8.count } + tags
    }

    static func flat(_ fields: HeaderFields) -> [String] { fields.all.flatMap { [$0.name, $0.value] } }

    /// Returns the values of the fields that `Vary` names; nil if no other request can match.
    static func varying(_ vary: String?, request: HeaderFields) -> [String: String]? {
        var values: [String: String] = [:]
        for name in CacheControl.split(vary ?? "", at: 0x2c).map({ CacheControl.trimmed($0).lowercased() })
        where !name.isEmpty {
            guard name != "*" else { return nil }
            values[name] = request[name].map(CacheControl.trimmed) ?? ""
        }
        return values
    }

    /// Returns whether a request has the values that the response depends on.
    func matches(_ request: HeaderFields) -> Bool {
        head.varying.allSatisfy { name, value in (request[name].map(CacheControl.trimmed) ?? "") == value }
    }

    /// Takes the fields of a 304 (RFC 9111, section 3.2).
    mutating func update(from response: Response, requestedAt: Int64, receivedAt: Int64) {
        // These describe the message that has carried them.
        let kept = [
            "content-length", "content-encoding", "content-range", "transfer-encoding", "connection", "trailer",
        ]
        var merged = fields
        // Their absence means that the 304 was made now, and not that it is as old as the response.
        for name in ["Age", "Date"] { merged[name] = nil }
        for field in response.fields.all where !kept.contains(field.name.lowercased()) {
            merged[field.name] = field.value
        }
        head.fields = Self.flat(merged)
        head.requestedAt = requestedAt
        head.receivedAt = receivedAt
    }
}
