import PushLoop
import PushTransport

enum ZeroMQBenchmark {
    /// Sends messages from PUSH to PULL over TCP loopback, one at a time, with a loop for each end.
    /// `Tools/bench/zeromq` compares this with `Tools/bench/zmq_push_pull.c`. Arguments: `[messages [bytes]]`.
    static func run(_ arguments: [String]) async throws -> [Figure] {
        let messages = arguments.count > 0 ? max(1, Int(arguments[0]) ?? 1) : 1_000_000
        let messageSize = arguments.count > 1 ? max(8, Int(arguments[1]) ?? 8) : 300
        let context = try ZMQContext()
        let receiving = EventLoop(name: "receiver")
        let sending = EventLoop(name: "sender")

        let start = MonotonicTime.current()
        let (receiver, endpoint) = try await receiving.run {
            let receiver = try Receiver(in: context, on: receiving, expecting: messages)
            return (LoopBound(receiver, on: receiving), receiver.endpoint)
        }
        let sender = try await sending.run {
            let sender = try Sender(in: context, on: sending, messages: messages, messageSize: messageSize)
            try sender.start(to: endpoint)
            return LoopBound(sender, on: sending)
        }
        await withCheckedContinuation { continuation in
            receiving.execute { receiver.wrapped.whenDone { continuation.resume() } }
        }
        let elapsed = MonotonicTime.current() - start

        try await receiver.with { receiver throws in try receiver.finish() }
        await sender.with { sender in sender.close() }
        await context.terminate()
        await receiving.shutDown()
        await sending.shutDown()
        return [
            Figure(
                name: "CPU a message, both ends", value: processCPU().inSeconds * 1e6 / Double(messages), unit: "us"),
            Figure(name: "rate", value: Double(messages) / elapsed.inSeconds, unit: "/s"),
        ]
    }
}

private struct OutOfOrder: Error {
    let expected: UInt64
}

/// The receiving end, which counts messages. It belongs to its event loop.
private final class Receiver {
    let endpoint: String
    private let socket: ZMQSocket
    private let expected: UInt64
    private let tally = Tally()
    private var done: (() -> Void)?

    private final class Tally {
        var received: UInt64 = 0
        var isInOrder = true
    }

    init(in context: ZMQContext, on loop: EventLoop, expecting messages: Int) throws {
        expected = UInt64(messages)
        socket = try ZMQSocket(.pull, in: context, on: loop)
        endpoint = try socket.bind("tcp://127.0.0.1:*")
        socket.onMessage = { [tally] message in
            let number = message.withBytes(ofFrame: 0) { $0.loadUnaligned(as: UInt64.self) }
            if number != tally.received { tally.isInOrder = false }
            tally.received += 1
        }
        socket.onBatchEnd = { [unowned self] in finishIfDone() }
    }

    func whenDone(_ action: @escaping () -> Void) {
        done = action
        finishIfDone()
    }

    private func finishIfDone() {
        if tally.received == expected { done.take()?() }
    }

    func finish() throws {
        socket.close()
        guard tally.isInOrder else { throw OutOfOrder(expected: expected) }
    }
}

/// The sending end, which sends as fast as the socket accepts messages. It belongs to its event loop.
private final class Sender: TickEndFlushing {
    /// The number of messages per turn of the loop.
    private static let run = 1000

    private let loop: EventLoop
    private let socket: ZMQSocket
    private let messages: UInt64
    private var next: UInt64 = 0
    private var bytes: [UInt8]

    init(in context: ZMQContext, on loop: EventLoop, messages: Int, messageSize: Int) throws {
        self.loop = loop
        self.messages = UInt64(messages)
        bytes = [UInt8](repeating: 0, count: messageSize)
        socket = try ZMQSocket(.push, in: context, on: loop)
    }

    func start(to endpoint: String) throws {
        socket.onWritable = { [unowned self] in send() }
        try socket.connect(endpoint)
        send()
    }

    func close() {
        socket.close()
    }

    func flushAtTickEnd() {
        send()
    }

    private func send() {
        for _ in 0..<Self.run where next < messages {
            let number = next
            bytes.withUnsafeMutableBytes { $0.storeBytes(of: number, as: UInt64.self) }
            guard socket.send(bytes) == .sent else { return }
            next += 1
        }
        if next < messages { loop.flushAtTickEnd(self) }
    }
}
