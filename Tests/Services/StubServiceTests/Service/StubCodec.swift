import PushModel
import PushWire

/// What the stub makes of addresses and messages. The stub is a push service that only these tests have, and unlike APNs
/// wherever it may be: its addresses are text, its types and words are its own.
///
/// An address has the text `stub:NAME`. Its bytes are those of the name.
struct StubCodec: ServiceCodec {
    static let whisper = MessageType(40, word: "whisper", defaultPriority: .one)
    /// Its number is also one of another service, which has another word for it.
    static let shout = MessageType(1, word: "shout", defaultPriority: .ten)
    static let types = MessageTypes([.alert, whisper, shout])
    static let payloadLimit = 1000
    private static let prefix = Array("stub:".utf8)

    /// Whether the app may send the type `shout`.
    var isLoud = true

    var types: MessageTypes { Self.types }

    // MARK: Addresses

    func address(_ text: ByteView) throws(AddressFault) -> Address {
        guard text.prefix(Self.prefix.count).equals(Self.prefix) else {
            throw AddressFault("does not begin with stub:")
        }
        return try Self.address(named: text[Self.prefix.count..<text.count].copied)
    }

    /// Apps may omit the prefix.
    func address(givenAs text: String) throws(AddressFault) -> Address {
        let bytes = Array(text.utf8)
        let hasPrefix = bytes.starts(with: Self.prefix)
        return try Self.address(named: hasPrefix ? Array(bytes.dropFirst(Self.prefix.count)) : bytes)
    }

    func text(of address: Address) -> String { "stub:" + String(decoding: address.bytes, as: UTF8.self) }

    private static func address(named name: [UInt8]) throws(AddressFault) -> Address {
        guard !name.isEmpty else { throw AddressFault("has no name") }
        guard name.allSatisfy({ (0x21...0x7e).contains($0) }) else { throw AddressFault("has a space or a sign") }
        guard let address = Address(bytes: name) else {
            throw AddressFault("has a name of \(name.count) bytes; \(Address.maxLength) are allowed")
        }
        return address
    }

    // MARK: Options

    func check(_ type: MessageType) throws(Rejection) {
        if type == Self.shout, !isLoud { throw Rejection(.badField, detail: "the app is not allowed to shout") }
    }

    func check(_ priority: PushPriority, for type: MessageType) throws(Rejection) {
        guard type == Self.whisper, priority != .one else { return }
        throw Rejection(.badField, detail: "a whisper has the priority 1, not \(priority.rawValue)")
    }

    func payloadLimit(of type: MessageType) -> Int { Self.payloadLimit }

    // MARK: Payloads

    /// The stub has neither badges nor sounds, images, categories and threads.
    var plainRules: PlainRules { PlainRules("the stub", shows: [.alert, .link, .custom]) }

    func payload(from content: PlainContent, for options: MessageOptions) throws(Rejection) -> [UInt8] {
        guard let alert = content.alert, content.json.kind(alert).isString else {
            throw Rejection(.badField, detail: "alert must be a string")
        }
        var text = CanonicalJSON(content, limit: Self.payloadLimit)
        text.append(#"{"text":"#)
        try text.append(alert, of: "alert")
        if let link = content.link {
            text.append(#","opens":"#)
            try text.append(link, of: "link")
        }
        if let custom = content.custom {
            text.append(#","data":"#)
            try text.append(custom, of: "custom")
        }
        text.append("}")
        guard content.hasValues || text.bytes.count <= Self.payloadLimit else {
            throw Rejection(.payloadTooLarge, detail: "the stub allows \(Self.payloadLimit) bytes")
        }
        return text.bytes
    }

    func findings(
        in payload: [UInt8], values: IndexedObject?, for options: MessageOptions
    ) throws(Rejection) -> [UInt8] {
        guard let values else { throw Rejection(.badPayload, detail: "it is not an object") }
        var keys: Set<String> = []
        var position = values.root + 1
        for _ in 0..<values.json.size(values.root) {
            keys.insert(values.json.string(position) ?? "")
            position = values.json.next(position + 1)
        }
        guard keys.contains("text") else { throw Rejection(.badPayload, detail: "text is missing") }
        return keys.contains("blink") ? Array(#"[{"code":"no_blinking","path":"blink"}]"#.utf8) : []
    }
}
