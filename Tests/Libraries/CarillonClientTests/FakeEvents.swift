import PushLoop
import PushTransport
import PushWire
import TestSupport

/// A publisher and a replay socket with a log that a test writes, on a loop of their own.
final class FakeEvents: Sendable {
    let loop: EventLoop
    let publish: String
    let replay: String
    /// The `since` of each replay request.
    let requests = EventRecorder<Int64>()
    /// The prefixes that somebody subscribed to.
    let subscriptions = EventRecorder<String>()
    private let context: ZMQContext
    private let sockets: LoopBound<Sockets>

    private final class Sockets {
        let publisher: ZMQSocket
        let router: ZMQSocket
        var log: [(number: Int64, topic: String, line: String)] = []
        var last: [String: Int64] = [:]
        var garbage: [[UInt8]] = []
        /// The number of the oldest event that is kept.
        var oldest: Int64 = 1
        var beats: TimerHandle?

        init(_ publisher: ZMQSocket, _ router: ZMQSocket) {
            self.publisher = publisher
            self.router = router
        }

        func send(_ frames: [[UInt8]], on socket: ZMQSocket) {
            _ = socket.send { outbox in
                for frame in frames { outbox.add(frame) }
            }
        }

        func beat() {
            let topics = last.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",")
            let line = "{\"seq\":\(log.last?.number ?? 0),\"ts\":1,\"topics\":{\(topics)}}"
            send([Array("heartbeat".utf8), Array(line.utf8)], on: publisher)
        }

        func answer(to peer: [UInt8], since: Int64, limit: Int, prefix: String) {
            for frame in garbage { send([peer, frame], on: router) }
            let page = log.filter { $0.number > since && $0.number >= oldest }.prefix(limit)
            for event in page where event.topic.hasPrefix(prefix) {
                send([peer, Array("event/1".utf8), Array(event.topic.utf8), Array(event.line.utf8)], on: router)
            }
            let end = "{\"next\":\(page.last?.number ?? since),\"oldest\":\(oldest)}"
            send([peer, Array("replay-end/1".utf8), Array(end.utf8)], on: router)
        }
    }

    init() async throws {
        let loop = EventLoop(name: "fake")
        let context = try ZMQContext()
        let (requests, subscriptions) = (requests, subscriptions)
        self.loop = loop
        self.context = context
        (sockets, publish, replay) = try await loop.run { () throws(ZMQError) in
            var options = ZMQSocketOptions()
            options.linger = .zero
            options.routerMandatory = false
            options.sendHighWaterMark = 100
            var unbounded = options
            unbounded.sendHighWaterMark = 0
            let made = Sockets(
                try ZMQSocket(.xpub, in: context, on: loop, options: options),
                try ZMQSocket(.router, in: context, on: loop, options: unbounded))
            made.publisher.onMessage = { message in
                if case .added(let prefix) = message.subscription {
                    subscriptions.record(String(decoding: prefix, as: UTF8.self))
                }
            }
            made.router.onMessage = { [unowned made] message in
                guard message.count == 3, let json = try? JSONDocument(message.copied(2)) else { return }
                func integer(_ name: StaticString) -> Int64 {
                    json.value(name, in: json.root).flatMap { json.integer($0) } ?? 0
                }
                let prefix = json.value("prefix", in: json.root).flatMap { json.string($0) } ?? ""
                requests.record(integer("since"))
                made.answer(
                    to: message.copied(0), since: integer("since"), limit: Int(integer("limit")), prefix: prefix)
            }
            return (
                LoopBound(made, on: loop), try made.publisher.bind("tcp://127.0.0.1:*"),
                try made.router.bind("tcp://127.0.0.1:*")
            )
        }
    }

    /// Adds events to the log, and publishes them as one message unless `isLost`.
    func happen(_ count: Int, _ topic: String = "delivery/shop/sent", isLost: Bool = false, size: Int = 0) async {
        await sockets.with { sockets in
            var lines: [String] = []
            for _ in 0..<count {
                let number = (sockets.log.last?.number ?? 0) + 1
                let line =
                    "{\"v\":1,\"seq\":\(number),\"prev\":\(sockets.last[topic] ?? 0),\"ts\":5,\"message_id\":\"m-\(number)\","
                    + "\"counts\":{\"sent\":1},\"x\":\"\(String(repeating: "x", count: size))\"}"
                sockets.log.append((number, topic, line))
                sockets.last[topic] = number
                lines.append(line)
            }
            guard !isLost else { return }
            sockets.send([Array(topic.utf8), Array(lines.joined(separator: "\n").utf8)], on: sockets.publisher)
        }
    }

    /// Drops the events before a number, as the retention of Carillon does.
    func forget(before number: Int64) async {
        await sockets.with { $0.oldest = number }
    }

    func heartbeat() async {
        await sockets.with { $0.beat() }
    }

    /// Sends heartbeats as Carillon does, by its clock, until ``stop()``.
    func beat() async {
        let loop = loop
        await sockets.with { sockets in
            sockets.beats = loop.scheduleRepeating(every: .milliseconds(5)) { [unowned sockets] in sockets.beat() }
        }
    }

    func publish(_ frames: [[UInt8]]) async {
        await sockets.with { $0.send(frames, on: $0.publisher) }
    }

    /// Sends these frames before each answer to a replay.
    func spoilReplays(with garbage: [[UInt8]]) async {
        await sockets.with { $0.garbage = garbage }
    }

    func stop() async {
        let loop = loop
        await sockets.with {
            if let beats = $0.beats.take() { loop.cancel(beats) }
            $0.publisher.close()
            $0.router.close()
        }
        await context.terminate()
        await loop.shutDown()
    }
}
