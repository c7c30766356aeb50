import APNs
import PushModel
import PushTime
import PushWire

enum EnvelopeBenchmark {
    /// Measures the parsing of envelopes into requests, and the writing of acks.
    static func run(_ arguments: [String]) async throws -> [Figure] {
        let reader = EnvelopeReader(
            apps: AppTable([
                AppFacts(
                    id: AppID("shop")!,
                    codec: APNsCodec(app: AppID("shop")!, topic: "com.example.shop", usesToken: true))
            ]))
        let now = UnixSeconds(1_767_000_000)
        let payload =
            #"{"aps":{"alert":{"title":"Order 4711","body":"It is on its way to you"},"sound":"default","badge":3},"order":"4711"}"#
        let frame = Array(payload.utf8)
        let single = usualEnvelope(1, tokens: 1)
        let thousand = usualEnvelope(1, tokens: 1000)
        let lines = Array((0..<1000).map { usualLine($0, payload: payload) }.joined(separator: "\n").utf8)
        let plain = Array(
            #"{"id":"bench-000000000001","app":"shop","to":{"users":["u-4711"]},"alert":{"title":"Order","body":"Here"},"badge":1}"#
                .utf8)
        var taken = 0

        func read(_ envelope: [UInt8], payload frame: [UInt8]?) {
            envelope.withUnsafeBytes { envelope in
                guard let frame else {
                    if (try? reader.read(envelope, payload: nil, now: now)) != nil { taken += 1 }
                    return
                }
                frame.withUnsafeBytes { frame in
                    if (try? reader.read(envelope, payload: frame, now: now)) != nil { taken += 1 }
                }
            }
        }
        let one = measured("a typical envelope, payload in frame 3", times: 500_000) { read(single, payload: frame) }
        let many = measured("an envelope with 1,000 tokens", times: 2000) { read(thousand, payload: frame) }
        let batch = measured("a batch of 1,000 lines", times: 500) {
            lines.withUnsafeBytes { lines in
                try? reader.readBatch(lines, now: now) { if case .success = $0 { taken += 1 } }
            }
        }
        let fields = measured("an envelope with payload fields", times: 200_000) { read(plain, payload: nil) }
        let expected = 1 * 500_000 + 2000 + 1000 * 500 + 200_000
        guard taken == expected else { throw Refused(count: expected - taken) }
        return [
            one,
            Figure(name: "each further token of 1,000", value: (many.value - one.value) / 999 * 1000, unit: "ns"),
            Figure(name: "a line of a batch, with its payload", value: batch.value / 1000, unit: "µs"),
            fields, measuredAcks(),
        ]
    }
}

private func measuredAcks() -> Figure {
    let id = MessageID("bench-000000000001")!
    var ack: [UInt8] = []
    return measured("an ack written", times: 1_000_000) {
        ack.removeAll(keepingCapacity: true)
        AckText.accepted(id: id, seq: 918_273, to: &ack)
    }
}

private struct Refused: Error {
    let count: Int
}

private func usualEnvelope(_ number: Int, tokens: Int) -> [UInt8] {
    let tokens = (0..<tokens).map {
        "\"\(Address(words: (UInt64($0) << 32 | 7, 0x0123_4567_89ab_cdef, 2, 3)).hex)\""
    }
    let text =
        #"{"id":"bench-\#(padded(number))","app":"shop","to":{"tokens":[\#(tokens.joined(separator: ","))]},"#
        + #""push_type":"alert","priority":10,"expires_at":1767225600}"#
    return Array(text.utf8)
}

private func usualLine(_ number: Int, payload: String) -> String {
    String(decoding: usualEnvelope(number, tokens: 1).dropLast(), as: UTF8.self) + #","payload":\#(payload)}"#
}

private func padded(_ number: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: 12 - digits.count) + digits
}

private func measured(_ name: String, times: Int, work: () -> Void) -> Figure {
    let before = processCPU()
    for _ in 0..<times { work() }
    return Figure(name: name, value: microseconds(since: before, for: times), unit: "µs")
}
