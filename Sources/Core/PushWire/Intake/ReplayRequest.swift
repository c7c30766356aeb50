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
    /// The same for a request with the numbers of up to 256 parts.
    package static let maxLengthWithParts = 8192

    /// The place after which events are requested.
    package enum Since: Sendable, Equatable {
        /// After a number in one part.
        case number(UInt64, part: Int)
        /// After a place in all parts.
        case place(LogPosition)
    }

    package let since: Since
    /// The prefix of their topics.
    package let prefix: String
    package let limit: Int

    package init(since: UInt64 = 0, part: Int = 0, prefix: String = "", limit: Int = defaultLimit) {
        self.init(since: .number(since, part: part), prefix: prefix, limit: limit)
    }

    package init(since: Since, prefix: String = "", limit: Int = defaultLimit) {
        self.since = since
        self.prefix = prefix
        self.limit = limit
    }

    /// Parses `{"since":…,"part":…,"prefix":"…","limit":…}`; each member is optional. `since` is a number or an object of
    /// numbers by part.
    package static func read(_ bytes: [UInt8]) throws(Rejection) -> ReplayRequest {
        let json = try document(bytes)
        var since: Int64 = 0
        var part: Int64?
        var place: LogPosition?
        var prefix = ""
        var limit = Int64(defaultLimit)
        for member in json.members(json.root) {
            if json.isString(member.key, equalTo: "since"), json.kind(member.value) == .object {
                place = try self.place(at: member.value, of: json)
            } else if json.isString(member.key, equalTo: "part") {
                part = try number(
                    at: member.value, of: json, key: "part", range: 0...Int64(EventNumber.maxParts - 1))
            } else if json.isString(member.key, equalTo: "since") {
                since = try number(at: member.value, of: json, key: "since", range: 0 ... .max)
            } else if json.isString(member.key, equalTo: "limit") {
                limit = try number(at: member.value, of: json, key: "limit", range: 1 ... .max)
            } else if json.isString(member.key, equalTo: "prefix") {
                prefix = try self.prefix(at: member.value, of: json)
            } else {
                throw unknown(json.string(member.key) ?? "")
            }
        }
        guard let place else {
            return ReplayRequest(since: UInt64(since), part: Int(part ?? 0), prefix: prefix, limit: Int(limit))
        }
        guard part == nil else {
            throw Rejection(.badField, detail: "part is given, and since names parts itself; leave out part")
        }
        return ReplayRequest(since: .place(place), prefix: prefix, limit: Int(limit))
    }

    private static func document(_ bytes: [UInt8]) throws(Rejection) -> JSONDocument {
        let json: JSONDocument
        do throws(JSONError) {
            json = try JSONDocument(bytes, lengthLimit: maxLengthWithParts)
        } catch {
            throw Rejection(.badJSON, detail: "\(error)")
        }
        guard json.kind(json.root) == .object else {
            throw Rejection(.badJSON, detail: "the request is \(json.kind(json.root).name), not an object")
        }
        let hasParts = json.value("since", in: json.root).map { json.kind($0) == .object } ?? false
        guard hasParts || bytes.count <= maxLength else {
            throw Rejection(.badJSON, detail: "\(JSONError(.tooLong, at: maxLength))")
        }
        if let key = json.repeatedKey() {
            throw Rejection(.badField, detail: "\"\(json.path(ofKey: key))\" is given twice")
        }
        return json
    }

    private static func prefix(at value: JSONDocument.Position, of json: JSONDocument) throws(Rejection) -> String {
        guard let text = json.string(value) else {
            throw Rejection(.badField, detail: "prefix is \(json.kind(value).name), not a string")
        }
        guard text.utf8.count <= maxPrefixLength else {
            throw Rejection(.badField, detail: "prefix is \(text.utf8.count) bytes; \(maxPrefixLength) are allowed")
        }
        return text
    }

    private static func unknown(_ key: String) -> Rejection {
        let near = NearestWord.to(key, in: ["since", "part", "prefix", "limit"])
        return Rejection(
            .badField,
            detail: "there is no key \"\(PlainText.name(key))\"" + (near.map { "; did you mean \($0)?" } ?? ""))
    }

    private static func place(
        at position: JSONDocument.Position, of json: JSONDocument
    ) throws(Rejection) -> LogPosition {
        var place = LogPosition()
        for member in json.members(position) {
            let name = json.string(member.key) ?? ""
            guard name.utf8.count <= 3, name == UInt16(name).map({ "\($0)" }), let part = Int(name),
                part < EventNumber.maxParts
            else {
                throw Rejection(
                    .badField,
                    detail: "since has the key \"\(PlainText.name(name))\"; a part is a number from 0 to "
                        + "\(EventNumber.maxParts - 1)")
            }
            place[part] = UInt64(
                try number(at: member.value, of: json, key: "since.\(part)", range: 0...Int64(EventNumber.maxWithin)))
        }
        return place
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
