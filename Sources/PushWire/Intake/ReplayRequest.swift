package import PushModel
import PushText

/// A request for past events by a client that missed them.
package struct ReplayRequest: Sendable, Equatable {
    package static let version: StaticString = "replay/1"
    /// The limit of a request without one. A request may ask for more than the responder returns.
    package static let defaultLimit = 10_000
    /// The largest length of a prefix. All topics are shorter.
    private static let maxPrefixLength = 255
    private static let maxLength = 4096

    /// The number above which events are requested.
    package let since: UInt64
    /// The prefix of their topics.
    package let prefix: String
    package let limit: Int

    package init(since: UInt64 = 0, prefix: String = "", limit: Int = defaultLimit) {
        self.since = since
        self.prefix = prefix
        self.limit = limit
    }

    /// Parses `{"since":…,"prefix":"…","limit":…}`; each member is optional.
    package static func read(_ bytes: [UInt8]) throws(Rejection) -> ReplayRequest {
        let json: JSONDocument
        do throws(JSONError) {
            json = try JSONDocument(bytes, lengthLimit: maxLength)
        } catch {
            throw Rejection(.badJSON, detail: "\(error)")
        }
        guard json.kind(json.root) == .object else {
            throw Rejection(.badJSON, detail: "the request is \(json.kind(json.root).name), not an object")
        }
        if let key = json.repeatedKey() {
            throw Rejection(.badField, detail: "\"\(json.path(ofKey: key))\" is given twice")
        }
        var since: Int64 = 0
        var prefix = ""
        var limit = Int64(defaultLimit)
        for member in json.members(json.root) {
            if json.isString(member.key, equalTo: "since") {
                since = try number(at: member.value, of: json, key: "since", range: 0 ... .max)
            } else if json.isString(member.key, equalTo: "limit") {
                limit = try number(at: member.value, of: json, key: "limit", range: 1 ... .max)
            } else if json.isString(member.key, equalTo: "prefix") {
                guard let text = json.string(member.value) else {
                    throw Rejection(.badField, detail: "prefix is \(json.kind(member.value).name), not a string")
                }
                guard text.utf8.count <= maxPrefixLength else {
                    throw Rejection(
                        .badField, detail: "prefix is \(text.utf8.count) bytes; \(maxPrefixLength) are allowed")
                }
                prefix = text
            } else {
                let key = json.string(member.key) ?? ""
                let near = NearestWord.to(key, in: ["since", "prefix", "limit"])
                throw Rejection(
                    .badField,
                    detail: "there is no key \"\(PayloadRules.name(key))\""
                        + (near.map { "; did you mean \($0)?" } ?? ""))
            }
        }
        return ReplayRequest(since: UInt64(since), prefix: prefix, limit: Int(limit))
    }

    private static func number(
        at position: JSONDocument.Position, of json: JSONDocument, key: String, range: ClosedRange<Int64>
    ) throws(Rejection) -> Int64 {
        guard let number = json.integer(position) else {
            throw Rejection(
                .badField,
                detail: json.kind(position).isNumber
                    ? "\(key) is not a whole number of 64 bits"
                    : "\(key) is \(json.kind(position).name), not a whole number")
        }
        guard range.contains(number) else {
            throw Rejection(
                .badField, detail: "\(key) is \(number); it must be \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}
