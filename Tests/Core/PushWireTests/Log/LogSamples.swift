import Foundation
import PushModel
import PushTime
import PushWire
import TestSupport

/// Random events of every kind, and their content as Foundation parses it.
struct LogSamples {
    var random: SeededRandom
    var now: WallTime = 1_763_000_000_000
    private let apps = (0..<7).map { AppID("app\($0)")! }
    private var messages: [Message] = []

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
        for number in 0..<40 {
            let id = ["order-\(number)", "\"q\\\(number)\"", "größe-\(number)-🔔", String(repeating: "x", count: 128)][
                number % 4]
            messages.append(
                Message(
                    id: MessageID(id)!, app: apps[number % apps.count], payload: [],
                    traceparent: number % 3 == 0
                        ? "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0\(number % 2)" : nil))
        }
    }

    mutating func message() -> Message { messages.randomElement(using: &random)! }

    /// Adds one or two events and returns their number.
    mutating func add(to writer: inout LogWriter) -> Int {
        now += Int64.random(in: -3...9, using: &random)
        switch Int.random(in: 0..<10, using: &random) {
        case 0:
            let tokens = (0..<7).map { Address(words: ($0, 1, 2, 3)) }
            let audience: Audience = Bool.random(using: &random) ? .tokens(tokens) : .everyone
            writer.add(accepted: PushRequest(message(), to: audience), at: now)
        case 1:
            var counts = OutcomeCounts()
            counts.sent = .random(in: 0...9, using: &random)
            counts.unknown = .max
            let isExpired = Bool.random(using: &random)
            writer.add(CompletedMessage(seq: 1, message: message(), counts: counts, isExpired: isExpired), at: now)
            return isExpired ? 2 : 1
        case 2, 3: writer.add(draft(), at: now)
        default: writer.add(record(), at: now)
        }
        return 1
    }

    mutating func draft() -> EventDraft {
        var draft = EventDraft(
            EventKind.allCases.randomElement(using: &random)!,
            app: Bool.random(using: &random) ? apps.randomElement(using: &random) : nil)
        if Bool.random(using: &random) { draft.messageID = message().id }
        if Bool.random(using: &random) { draft.device = DeviceID(high: random.next(), low: random.next()) }
        if Bool.random(using: &random) { draft.deliveryID = DeliveryID(high: random.next(), low: random.next()) }
        if Bool.random(using: &random) { draft.reason = "a \"quoted\" reason\n\u{1}\\" }
        if Bool.random(using: &random) { draft.add("detail", text: "text\twith \u{2028} and \"") }
        if Bool.random(using: &random) { draft.add("number", number: .min) }
        return draft
    }

    mutating func record() -> DeliveryRecord {
        let refusal = Refusal(
            status: .random(in: 400...503, using: &random),
            reason: Bool.random(using: &random) ? ProviderReason(rawValue: "Unregistered") : nil)
        let outcome: DeliveryOutcome =
            switch Int.random(in: 0..<8, using: &random) {
            case 0: .rejected(refusal, deactivates: nil)
            case 1: .retry(refusal, after: .milliseconds(1500))
            case 2: .unknown(.connectionLost, isFinal: Bool.random(using: &random))
            case 3: .expired
            case 4: .suppressed(.duplicate)
            case 5: .sent(providerID: ProviderID("unique", member: .apnsUniqueID))
            default: .sent(providerID: nil)
            }
        let hasID = Int.random(in: 0..<5, using: &random) > 0
        return DeliveryRecord(
            seq: 1, fingerprint: MessageFingerprint(1), acceptedAt: now + .random(in: -5000...50, using: &random),
            message: message(), device: DeviceID(high: random.next(), low: random.next()),
            deliveryID: hasID ? DeliveryID(high: random.next(), low: random.next()) : DeliveryID(high: 0, low: 0),
            attempt: .random(in: 0...3, using: &random), outcome: outcome)
    }
}

/// A line as parsed by an independent JSON parser.
struct ReadEvent {
    let members: [String: Any]

    init(_ line: some Sequence<UInt8>) throws {
        let value = try JSONSerialization.jsonObject(with: Data(line))
        guard let members = value as? [String: Any] else { throw CocoaError(.coderReadCorrupt) }
        self.members = members
    }

    func number(_ name: String) -> Int64? { (members[name] as? NSNumber)?.int64Value }
    func text(_ name: String) -> String? { members[name] as? String }
    var topic: String { "\(text("family") ?? "?")/\(text("app") ?? "?")/\(text("kind") ?? "?")" }
}

extension LogSegment {
    func lines() throws -> [ReadEvent] {
        var text = EventText()
        var lines: [[UInt8]] = []
        try walk { event, apps, bytes in
            var line: [UInt8] = []
            text.append(event, of: apps, texts: bytes, to: &line)
            lines.append(line)
            return true
        }
        return try lines.map { try ReadEvent($0) }
    }

    /// Returns a segment with the same numbers and other bytes.
    func with(_ bytes: [UInt8]) -> LogSegment { LogSegment(first: first, count: count, time: time, bytes: bytes) }

    /// Returns a segment with other bytes of events and a matching checksum, so that the decoder has to detect errors.
    func sealed(_ body: [UInt8], count: Int? = nil, first: UInt64? = nil) -> LogSegment {
        let count = count ?? self.count
        let first = first ?? self.first
        let sum = body.withUnsafeBytes { LogChecksum.of($0, first: first, count: count, time: time) }
        let seal = (0..<4).map { UInt8(truncatingIfNeeded: sum >> (8 * $0)) }
        return LogSegment(first: first, count: count, time: time, bytes: body + seal)
    }

    var body: [UInt8] { Array(bytes.dropLast(4)) }
}
