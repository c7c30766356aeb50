import PushWire

/// What a subscriber asks for that missed something.
struct ReplayRequest: Equatable, Sendable {
    static let version: StaticString = "replay/1"
    static let longestPrefix = 256
    static let usualLimit = 10_000

    /// Events numbered above this.
    var since: UInt64
    /// What their topics begin with.
    var prefix: [UInt8] = []
    var limit = usualLimit

    /// Why it is not answered, in the closed set of words that the protocol has.
    struct Fault: Error, Equatable {
        enum Code: String { case badFrame = "bad_frame", badJSON = "bad_json", badField = "bad_field" }

        let code: Code
        let detail: String
    }

    init(since: UInt64, prefix: String = "", limit: Int = usualLimit) {
        self.since = since
        self.prefix = Array(prefix.utf8)
        self.limit = limit
    }

    /// `{"since": seq, "prefix": "delivery/shop/", "limit": 10000}`; only `since` must be there.
    init(_ bytes: [UInt8]) throws(Fault) {
        let document: JSONDocument
        do {
            document = try JSONDocument(bytes, depthLimit: 4, lengthLimit: 4096)
        } catch {
            throw Fault(code: .badJSON, detail: "\(error)")
        }
        guard document.kind(document.root) == .object else {
            throw Fault(code: .badJSON, detail: "an object is wanted, this is \(document.kind(document.root).name)")
        }
        guard document.repeatedKey() == nil else { throw Fault(code: .badJSON, detail: "a key is there twice") }
        var since: UInt64?
        for member in document.members(document.root) {
            if document.isString(member.key, "since") {
                guard let number = document.integer(member.value), number >= 0 else {
                    throw Fault(code: .badField, detail: "since: a number from 0 on is wanted")
                }
                since = UInt64(number)
            } else if document.isString(member.key, "limit") {
                guard let number = document.integer(member.value), number >= 1 else {
                    throw Fault(code: .badField, detail: "limit: a number from 1 on is wanted")
                }
                limit = Int(number)
            } else if document.isString(member.key, "prefix") {
                guard let text = document.string(member.value), text.utf8.count <= Self.longestPrefix else {
                    throw Fault(
                        code: .badField, detail: "prefix: a string of at most \(Self.longestPrefix) bytes is wanted")
                }
                prefix = Array(text.utf8)
            } else {
                let name = String((document.string(member.key) ?? "").prefix(40))
                throw Fault(code: .badField, detail: "\(name): there is no such key; since, prefix and limit are known")
            }
        }
        guard let since else { throw Fault(code: .badField, detail: "since: it is missing") }
        self.since = since
    }
}
