import PushLoop
import PushModel
import PushWire

/// What an event costs from the ledger to a line that somebody may read.
func eventBenchmark(_ arguments: [String]) async throws -> [Figure] {
    let count = arguments.first.flatMap { Int($0) } ?? 1_000_000
    let records = sampleRecords(1000)
    var figures: [Figure] = []

    var writer = LogWriter(next: 1)
    var segments: [LogSegment] = []
    var began = processCPU()
    for round in 0..<(count / 1000) {
        let now = 1_763_000_000_000 + Int64(round)
        writer.begin(time: now, reserving: 64 << 10)
        for record in records { writer.add(record, at: now) }
        let segment = writer.finish()
        if segments.count < 100 { segments.append(segment) }
    }
    figures.append(Figure(name: "written into a segment", value: microseconds(since: began, for: count), unit: "us"))
    let bytes = segments.reduce(0) { $0 + $1.bytes.count }
    figures.append(
        Figure(name: "bytes of it", value: Double(bytes) / Double(segments.count * 1000), unit: "bytes"))

    var text = EventText()
    var lines: [UInt8] = []
    var length = 0
    let rounds = max(1, count / (segments.count * 1000))
    began = processCPU()
    for _ in 0..<rounds {
        for segment in segments {
            lines.removeAll(keepingCapacity: true)
            try segment.walk { event, apps, bytes in
                text.append(event, apps, bytes, to: &lines)
                return true
            }
            length += lines.count
        }
    }
    let rendered = rounds * segments.count * 1000
    figures.append(
        Figure(name: "walked through and written as JSON", value: microseconds(since: began, for: rendered), unit: "us"))
    figures.append(Figure(name: "bytes of that", value: Double(length) / Double(rendered), unit: "bytes"))

    began = processCPU()
    var sum: UInt64 = 0
    for _ in 0..<rounds {
        for segment in segments {
            try segment.walk { event, _, _ in
                sum &+= event.prev
                return true
            }
        }
    }
    figures.append(
        Figure(
            name: "walked through only", value: microseconds(since: began, for: rendered) + Double(sum & 1) * 1e-9,
            unit: "us"))
    return figures
}

/// What a thousand deliveries of a few messages bring: most are taken, some refused.
func sampleRecords(_ count: Int) -> [DeliveryRecord] {
    let app = AppID("shop")!
    let messages = (0..<100).map { number in
        Message(
            id: MessageID("order-\(4_700_000 + number)-shipped")!, app: app, payload: [],
            traceparent: number % 4 == 0 ? "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" : nil)
    }
    return (0..<count).map { number in
        let word = UInt64(number) &* 0x9e37_79b9_7f4a_7c15
        let what: DeliveryRecord.What =
            number % 20 == 0
            ? .rejected(Refusal(status: 410, reason: ProviderReason(rawValue: "Unregistered"))) : .sent(uniqueID: nil)
        return DeliveryRecord(
            seq: UInt64(number), fingerprint: MessageFingerprint(word), acceptedAt: 1_762_999_999_900,
            message: messages[number / 10 % 100], device: DeviceID(high: word, low: ~word),
            apnsID: APNSID(high: ~word, low: word), attempt: 1, what: what)
    }
}
