package import PushModel
import PushText

/// A request for past events by a client that missed them.
package struct ReplayRequest: Sendable, Equatable {
    package static let version: StaticString = "replay/1"
    /// The limit of a request without one. A request may ask for more than the responder returns.
    package static let usualLimit = 10_000
    /// The largest length of a prefix. All topics are shorter.
    private static let longestPrefix = 255
    private static let longestText = 4096

    /// The number above which events are requested.
    package let since: UInt64
    /// The prefix of their topics.
    package let prefix: String
    package let limit: Int

    package init(since: UInt64 = 0, prefix: String = "", limit: Int = usualLimit) {
        self.since = since
        self.prefix = prefix
        self.limit = limit
    }

    /// Parses `{"since":…,"prefix":"…","limit":…}`; each member is optional.
    package static func read(_ bytes: [UInt8]) throws(Rejection) -> ReplayRequest {
        let json: JSONDocument
        do throws(JSONError) {
            json = try JSONDocument(bytes, lengthLimit: longestText)
        } catch {
            throw Rejection(.badJSON, "\(error)")
        }
        guard json.kind(json.root) == .object else {
            throw Rejection(.badJSON, "the request is \(json.kind(json.root).name), not an object")
        }
        if let key = json.repeatedKey() {
            throw Rejection(.badField, "\"\(PayloadRules.name(json.string(key) ?? ""))\" is given twice")
        }
        var since: Int64 = 0
        var prefix = ""
        var limit = Int64(usualLimit)
        for member in json.members(json.root) {
            if json.isString(member.key, "since") {
                since = try number("since", member.value, 0 ... .max, json)
            } else if json.isString(member.key, "limit") {
                limit = try number("limit", member.value, 1 ... .max, json)
            } else if json.isString(member.key, "prefix") {
                guard let text = json.string(member.value) else {
                    throw Rejection(.badField, "prefix is \(json.kind(member.value).name), not a string")
                }
                guard text.utf8.count <= longestPrefix else {
                    throw Rejection(.badField, "prefix is \(text.utf8.count) bytes; \(longestPrefix) are allowed")
                }
                prefix = text
            } else {
                let key = json.string(member.key) ?? ""
                let near = NearestWord.to(key, in: ["since", "prefix", "limit"])
                throw Rejection(
                    .badField,
                    "there is no key \"\(PayloadRules.name(key))\"" + (near.map { "; did you mean \($0)?" } ?? ""))
            }
        }
        return ReplayRequest(since: UInt64(since), prefix: prefix, limit: Int(limit))
    }

    private static func number(
        _ key: String, _ place: JSONDocument.Place, _ range: ClosedRange<Int64>, _ json: JSONDocument
    ) throws(Rejection) -> Int64 {
        guard let number = json.integer(place) else {
            throw Rejection(
                .badField,
                json.kind(place).isNumber
                    ? "\(key) is not a whole number of 64 bits"
                    : "\(key) is \(json.kind(place).name), not a whole number")
        }
        guard range.contains(number) else {
            throw Rejection(.badField, "\(key) is \(number); it must be \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}
