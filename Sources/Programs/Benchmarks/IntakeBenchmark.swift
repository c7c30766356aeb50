import APNs
import Foundation
import PushLoop
import PushModel
import PushPipeline
import PushTransport
import PushWire

enum IntakeBenchmark {
    /// Measures the cost of a push in the intake: received over TCP loopback, parsed, passed to a ledger that replies
    /// at once, and acknowledged. The result counts the CPU time of the intake's loop and of its libzmq threads; the
    /// producer has a separate context and loop. Arguments: `[pushes [lines per batch]]`.
    static func run(_ arguments: [String]) async throws -> [Figure] {
        let pushes = arguments.count > 0 ? max(1, Int(arguments[0]) ?? 1) : 500_000
        let lines = arguments.count > 1 ? max(1, Int(arguments[1]) ?? 1) : 100
        let ledger = InstantLedger()
        let loop = EventLoop(name: "intake")
        let context = try ZMQContext()
        _ = try ZAPHandler(in: context, users: [:])
        let shop = AppFacts(
            id: AppID("shop")!, codec: APNsCodec(app: AppID("shop")!, topic: "com.example.shop", usesToken: true))
        let intake = Intake(
            on: loop, context: context, ledger: ledger,
            settings: IntakeSettings(router: "tcp://127.0.0.1:*", apps: AppTable([shop])))
        let endpoint = try await intake.open().router ?? ""
        let own = Threads.all()

        let producing = EventLoop(name: "producer")
        let producerContext = try ZMQContext()
        let producer = IntakeProducer(on: producing)
        try await producer.open(in: producerContext, to: endpoint)
        // Warm up, and wait until the connection is established.
        await producer.run(1000, linesPerBatch: 1)

        var figures: [Figure] = []
        for (name, size) in [("one by one", 1), ("\(lines) per batch", lines)] {
            let (cpu, began) = (Threads.nanoseconds(of: own), MonotonicTime.current())
            let groups = ledger.groups
            await producer.run(pushes, linesPerBatch: size)
            let elapsed = (MonotonicTime.current() - began).inSeconds
            let spent = Double(Threads.nanoseconds(of: own) - cpu) / 1000
            figures += [
                Figure(name: "CPU a push, \(name)", value: spent / Double(pushes), unit: "us"),
                Figure(
                    name: "pushes a group, \(name)", value: Double(pushes) / Double(ledger.groups - groups), unit: ""),
                Figure(name: "rate, \(name)", value: Double(pushes) / elapsed, unit: "/s"),
            ]
        }
        await producer.close()
        await intake.stop(within: .seconds(5))
        await producerContext.terminate()
        await context.terminate()
        await loop.shutDown()
        await producing.shutDown()
        return figures
    }
}

private final class InstantLedger: Ledger {
    func cancel(_ requests: [CancelRequest], reply: @escaping @Sendable ([Cancellation]) -> Void) { reply([.unknown]) }
    func ended(_ cancels: [CancelEnd], releasing claims: [ClaimPage]) {}

    private let state = Locked((seq: UInt64(0), groups: 0))

    var groups: Int { state.withLock { $0.groups } }

    func accept(_ group: [PushRequest], reply: @escaping @Sendable ([Acceptance]) -> Void) {
        let first = state.withLock { state in
            defer {
                state.seq += UInt64(group.count)
                state.groups += 1
            }
            return state.seq
        }
        reply(group.indices.map { .accepted(seq: first + UInt64($0) + 1) })
    }

    func note(_ events: [EventDraft], done: (@Sendable (UInt64?) -> Void)?) {}
    func record(_ deliveries: [DeliveryRecord], completed: [CompletedMessage]) {}
    func claim(_ pages: [ClaimPage], reply: @escaping @Sendable ([[ClaimVerdict]]) -> Void) {}
    func load(_ seqs: [UInt64], reply: @escaping @Sendable (Result<[AcceptedMessage], LedgerFault>) -> Void) {}
    func due(at time: UnixSeconds, limit: Int, reply: @escaping @Sendable (Result<DueMessages, LedgerFault>) -> Void) {}
}

/// A producer that keeps a limited number of unacknowledged messages in flight.
private actor IntakeProducer {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private static let window = 800
    private var socket: ZMQSocket?
    private var left = 0
    private var outstanding = 0
    private var linesPerBatch = 1
    private var number = 0
    private var done: CheckedContinuation<Void, Never>?

    init(on loop: EventLoop) {
        self.loop = loop
    }

    func open(in context: ZMQContext, to endpoint: String) throws {
        let socket = try ZMQSocket(.dealer, in: context, on: loop)
        self.socket = socket
        socket.onMessage = { [unowned self] _ in outstanding -= 1 }
        socket.onBatchEnd = { [unowned self] in send() }
        socket.onWritable = { [unowned self] in send() }
        try socket.connect(endpoint)
    }

    func close() { socket?.close() }

    func run(_ pushes: Int, linesPerBatch: Int) async {
        left = pushes
        self.linesPerBatch = linesPerBatch
        await withCheckedContinuation { continuation in
            done = continuation
            send()
        }
    }

    private func send() {
        let window = max(1, Self.window / linesPerBatch)
        while left > 0, outstanding < window {
            let count = min(linesPerBatch, left)
            var text: [UInt8] = []
            for line in 0..<count {
                if line > 0 { text.append(10) }
                text += "{\"id\":\"order-\(number + line)-shipped\",\"app\":\"shop\",\"to\":{\"tokens\":[\"".utf8
                text += "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0\"]},\"payload\":".utf8
                text +=
                    "{\"aps\":{\"alert\":{\"title\":\"On its way\",\"body\":\"Your order has been shipped\"}}}}".utf8
            }
            let isBatch = linesPerBatch > 1
            let result = socket?.send { outbox in
                outbox.add(isBatch ? "push-batch/1" : "push/1")
                outbox.add(text)
            }
            guard result == .sent else { return }
            number += count
            left -= count
            outstanding += 1
        }
        if left == 0, outstanding == 0 { done.take()?.resume() }
    }
}

/// The CPU time of single threads, from the kernel.
private enum Threads {
    static func all() -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
    }

    static func nanoseconds(of threads: [String]) -> Int64 {
        threads.reduce(0) { sum, thread in
            let text = try? String(contentsOfFile: "/proc/self/task/\(thread)/schedstat", encoding: .utf8)
            return sum + (text?.split(separator: " ").first.flatMap { Int64($0) } ?? 0)
        }
    }
}
