import PushWire

/// The entries of `logs` as JSON. Each repeats texts of the request, so that these are cut, and the size of an answer is
/// bounded: entries that have no room are counted.
struct GorushLog: Sendable {
    /// The largest size of an answer in bytes.
    static let maxAnswer = 8 << 20
    /// The largest number of entries of texts that are no tokens. The rest of the room is for what became of pushes.
    static let maxRefused = 1000
    /// The largest size of a text of the request in an entry, in bytes.
    static let maxText = 200

    /// The room for the last entry, which says what is left out, and for the other members of the answer.
    private static let reserve = 1024

    private var entries: [UInt8] = []
    private var refused = 0
    private var leftOut: [GorushAnswer.Entry.Kind: Int] = [:]
    private var isFull = false

    /// Returns the beginning of a text, as entries have it.
    static func cut(_ text: String) -> String {
        guard text.utf8.count > maxText else { return text }
        let bytes = Array(text.utf8.prefix(maxText + 1))
        // A character is not divided.
        let end = bytes.lastIndex { $0 & 0xc0 != 0x80 } ?? 0
        return String(decoding: bytes[..<end], as: UTF8.self)
    }

    /// Adds an entry for a text that is no token.
    mutating func refuse(_ entry: @autoclosure () -> GorushAnswer.Entry) {
        refused += 1
        guard refused <= Self.maxRefused else { return leftOut[.failed, default: 0] += 1 }
        append(entry())
    }

    mutating func append(_ entry: GorushAnswer.Entry) {
        guard !isFull else { return leftOut[entry.type, default: 0] += 1 }
        let text = Self.text(of: entry)
        isFull = entries.count + 1 + text.count > Self.maxAnswer - Self.reserve
        if isFull { leftOut[entry.type, default: 0] += 1 } else { add(text) }
    }

    private mutating func add(_ text: [UInt8]) {
        if !entries.isEmpty { entries.append(UInt8(ascii: ",")) }
        entries += text
    }

    private static func text(of entry: GorushAnswer.Entry) -> [UInt8] {
        var writer = JSONWriter(capacity: 512)
        writer.object { writer in
            writer.member("error", value: entry.error)
            writer.member("message", value: entry.message)
            writer.member("notif_id", value: entry.notifID)
            writer.member("platform", value: entry.platform)
            writer.member("token", value: entry.token)
            writer.member("type", value: entry.type.rawValue)
        }
        return writer.bytes
    }

    /// Returns the answer that has these entries.
    ///
    /// - Parameter counts: The number of tokens.
    func answer(counts: Int) -> APIAnswer {
        var all = self
        if !leftOut.isEmpty {
            let counted = leftOut.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.value) \($0.key.rawValue)" }
            let entry = GorushAnswer.Entry(
                type: .leftOut, platform: "", token: "", message: "",
                error: "there is no room for more entries: \(counted.joined(separator: ", "))")
            all.add(Self.text(of: entry))
        }
        let body = Array("{\"counts\":\(counts),\"logs\":[".utf8) + all.entries + Array("],\"success\":\"ok\"}\n".utf8)
        return APIAnswer(status: 200, body: body)
    }
}
