import PushLoop
import PushTransport
import PushWire

/// The socket of a producer: sends requests, and collects the acks.
actor IntakePeer {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let inbox: Inbox
    private var socket: ZMQSocket?
    private var wantsRoom: [CheckedContinuation<Void, Never>] = []

    private final class Inbox {
        var messages: [[[UInt8]]] = []
        var waiters: [CheckedContinuation<[[UInt8]], Never>] = []

        func put(_ message: [[UInt8]]) {
            if waiters.isEmpty { messages.append(message) } else { waiters.removeFirst().resume(returning: message) }
        }
    }

    init(on loop: EventLoop) {
        self.loop = loop
        inbox = Inbox()
    }

    func open(_ kind: ZMQSocket.Kind, in context: ZMQContext, to endpoint: String, options: ZMQSocketOptions) throws {
        let socket = try ZMQSocket(kind, in: context, on: loop, options: options)
        self.socket = socket
        socket.onMessage = { [inbox] message in inbox.put((0..<message.count).map { message.copied($0) }) }
        socket.onWritable = { [unowned self] in
            for waiter in wantsRoom { waiter.resume() }
            wantsRoom = []
        }
        try socket.connect(endpoint)
    }

    func close() { socket?.close() }
    /// Stops reading, so that messages stay in the queues.
    func stopReading() { socket?.pauseReceiving() }
    func goOnReading() { socket?.resumeReceiving() }

    func send(_ frames: [[UInt8]]) async {
        while true {
            let result =
                frames.count == 1
                ? socket?.send(frames[0]) : socket?.send { outbox in for frame in frames { outbox.add(frame) } }
            guard result == .wouldBlock else { return }
            await withCheckedContinuation { wantsRoom.append($0) }
        }
    }

    /// Tries to send once, and ignores the result. For a message that may never be accepted.
    func offer(_ texts: String...) {
        _ = socket?.send { outbox in for text in texts { outbox.add(Array(text.utf8)) } }
    }

    func send(_ texts: String...) async { await send(texts.map { Array($0.utf8) }) }

    /// Sends all messages before other work runs on the loop, as far as the socket accepts them.
    func sendAll(_ messages: [[String]]) async {
        for message in messages { await send(message.map { Array($0.utf8) }) }
    }

    func receive() async -> [String] {
        await receiveBytes().map { String(decoding: $0, as: UTF8.self) }
    }

    func receiveBytes() async -> [[UInt8]] {
        if inbox.messages.isEmpty { return await withCheckedContinuation { inbox.waiters.append($0) } }
        return inbox.messages.removeFirst()
    }

    /// Returns the status in the next ack.
    func status() async throws -> IntakeStatus { try await statuses()[0] }

    func statuses() async throws -> [IntakeStatus] {
        try IntakeStatus.read(await receive())
    }
}

/// The parsed status of an ack.
struct IntakeStatus: Equatable, Sendable {
    struct NotAnAck: Error {
        let frames: [String]
    }

    var id: String?
    var status: String
    var seq: Int64?
    var reason: String?
    var detail: String?
    var retry: Int64?

    static func read(_ frames: [String]) throws -> [IntakeStatus] {
        guard let text = frames.last, frames.count > 1 else { throw NotAnAck(frames: frames) }
        switch frames[frames.count - 2] {
        case "ack/1": return [try IntakeStatus(text)]
        case "ack-batch/1": return try text.split(separator: "\n").map { try IntakeStatus(String($0)) }
        default: throw NotAnAck(frames: frames)
        }
    }
}

extension IntakeStatus {
    fileprivate init(_ text: String) throws {
        let document = try JSONDocument(Array(text.utf8))
        guard case .object(let members) = document.value(at: document.root),
            case .string(let status)? = members["status"]
        else { throw NotAnAck(frames: [text]) }
        func word(_ name: String) -> String? {
            if case .string(let word)? = members[name] { word } else { nil }
        }
        func number(_ name: String) -> Int64? {
            if case .integer(let number)? = members[name] { number } else { nil }
        }
        self.init(
            id: word("id"), status: status, seq: number("seq"), reason: word("reason"), detail: word("detail"),
            retry: number("retry_after_ms"))
    }
}
