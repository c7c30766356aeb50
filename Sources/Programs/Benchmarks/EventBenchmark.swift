import PushLoop
import PushModel
import PushPipeline
import PushTransport
import PushWire

enum EventBenchmark {
    /// Measures the cost of an event from the ledger to a line of JSON.
    static func run(_ arguments: [String]) async throws -> [Figure] {
        let count = arguments.first.flatMap { Int($0) } ?? 1_000_000
        var figures: [Figure] = []

        let (segments, written) = write(sampleRecords(1000), count: count)
        figures.append(Figure(name: "write into a segment", value: written, unit: "us"))
        let bytes = segments.reduce(0) { $0 + $1.bytes.count }
        figures.append(
            Figure(name: "size in the segment", value: Double(bytes) / Double(segments.count * 1000), unit: "bytes"))

        var text = EventText()
        var lines: [UInt8] = []
        var length = 0
        let rounds = max(1, count / (segments.count * 1000))
        var began = processCPU()
        for _ in 0..<rounds {
            for segment in segments {
                lines.removeAll(keepingCapacity: true)
                try segment.walk { event, apps, bytes in
                    text.append(event, of: apps, texts: bytes, to: &lines)
                    return true
                }
                length += lines.count
            }
        }
        let rendered = rounds * segments.count * 1000
        figures.append(
            Figure(name: "read and write as JSON", value: microseconds(since: began, for: rendered), unit: "us")
        )
        figures.append(Figure(name: "size as JSON", value: Double(length) / Double(rendered), unit: "bytes"))

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
                name: "read only", value: microseconds(since: began, for: rendered) + Double(sum & 1) * 1e-9,
                unit: "us"))
        figures += try await publishFigures(segments, rounds: rounds)
        return figures
    }

    /// Writes the records into segments. Returns some of them, and the time for each record in microseconds.
    private static func write(_ records: [DeliveryRecord], count: Int) -> ([LogSegment], Double) {
        var writer = LogWriter(next: 1)
        var segments: [LogSegment] = []
        let began = processCPU()
        for round in 0..<(count / records.count) {
            let now = WallTime(milliseconds: 1_763_000_000_000 + Int64(round))
            writer.begin(time: now, reserving: 64 << 10)
            for record in records { writer.add(record, at: now) }
            let segment = writer.finish()
            if segments.count < 100 { segments.append(segment) }
        }
        return (segments, microseconds(since: began, for: count))
    }
}

/// Measures the event bus with one subscriber on another thread, over TCP loopback.
private func publishFigures(_ segments: [LogSegment], rounds: Int) async throws -> [Figure] {
    let context = try ZMQContext()
    _ = try ZAPHandler(in: context, users: [:])
    let (loop, reading) = (EventLoop(name: "bus"), EventLoop(name: "reader"))
    var settings = EventBusSettings(publish: "tcp://127.0.0.1:*", replay: "tcp://127.0.0.1:*")
    // A benchmark publishes faster than any ledger, and nothing may be dropped.
    settings.sendHighWater = 0
    let bus = EventBus(on: loop, in: context, log: NoLog(), settings: settings)
    let endpoints = try await bus.open()
    let count = rounds * segments.count * 1000
    let batches = stride(from: 0, to: segments.count, by: 5).map { Array(segments[$0..<min($0 + 5, segments.count)]) }

    let alone = processCPU()
    for _ in 0..<rounds { for batch in batches { bus.publish(batch) } }
    // Wait for the events that were submitted above.
    await loop.run {}
    while await bus.status.messages > 0 { await Task.yield() }
    let idle = microseconds(since: alone, for: count)

    let received = Locked(0)
    let subscriber = try await subscriber(to: endpoints.publish ?? "", in: context, on: reading, counting: received)
    while await bus.status.prefixes.isEmpty { await Task.yield() }
    let began = processCPU()
    for _ in 0..<rounds {
        for batch in batches {
            bus.publish(batch)
            // Wait after each batch, so that the bus receives batches as from a ledger and not all at once.
            await loop.run {}
        }
    }
    while await bus.status.published < UInt64(count) { await Task.yield() }
    let both = microseconds(since: began, for: count)
    await subscriber.with { $0.close() }
    let status = await bus.status
    await bus.stop()
    await context.terminate()
    await loop.shutDown()
    await reading.shutDown()
    return [
        Figure(name: "through the bus, nobody subscribed", value: idle, unit: "us"),
        Figure(name: "through the bus to one subscriber, both ends", value: both, unit: "us"),
        Figure(name: "events a message", value: Double(status.published) / Double(status.messages), unit: ""),
        Figure(name: "received", value: Double(received.withLock { $0 }) / 1_048_576, unit: "MiB"),
    ]
}

/// Subscribes to deliveries, and counts their bytes.
private func subscriber(
    to endpoint: String, in context: ZMQContext, on loop: EventLoop, counting received: Locked<Int>
) async throws -> LoopBound<ZMQSocket> {
    try await loop.run {
        var options = ZMQSocketOptions()
        options.receiveHighWaterMark = 0
        let socket = try ZMQSocket(.sub, in: context, on: loop, options: options)
        try socket.subscribe("delivery/")
        try socket.connect(endpoint)
        socket.onMessage = { message in
            let bytes = message.byteCount(ofFrame: 1)
            received.withLock { $0 += bytes }
        }
        return LoopBound(socket, on: loop)
    }
}

private final class NoLog: EventLog {
    func read(since: UInt64, limit: Int) async throws -> LogPage { LogPage(segments: [], oldest: 0, newest: 0) }
    func trace(_ subject: TraceSubject, limit: Int) async throws -> [LogSegment] { [] }
}

/// Returns the records of deliveries for a few messages: most were sent, some were rejected.
func sampleRecords(_ count: Int) -> [DeliveryRecord] {
    let app = AppID("shop")!
    let messages = (0..<100).map { number in
        Message(
            id: MessageID("order-\(4_700_000 + number)-shipped")!, app: app, payload: [],
            traceparent: number % 4 == 0 ? "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" : nil)
    }
    return (0..<count).map { number in
        let word = UInt64(number) &* 0x9e37_79b9_7f4a_7c15
        let outcome: DeliveryOutcome =
            number % 20 == 0
            ? .rejected(Refusal(status: 410, reason: ProviderReason(rawValue: "Unregistered")), deactivates: nil)
            : .sent(providerID: nil)
        return DeliveryRecord(
            seq: UInt64(number), fingerprint: MessageFingerprint(word),
            acceptedAt: WallTime(milliseconds: 1_762_999_999_900),
            message: messages[number / 10 % 100], device: DeviceID(high: word, low: ~word),
            deliveryID: DeliveryID(high: ~word, low: word), attempt: 1, outcome: outcome)
    }
}
