import PushLoop
import PushTransport
import PushWire
import TestSupport

/// A ROUTER that a test scripts, on a loop of its own.
final class FakeIntake: Sendable {
    /// A request with the lines of its envelopes.
    struct Request: Sendable {
        let peer: [UInt8]
        let kind: String
        let envelopes: [String]

        /// The ids of the envelopes.
        var ids: [String] {
            envelopes.map { envelope in
                guard let json = try? JSONDocument(Array(envelope.utf8)), let id = json.value("id", in: json.root)
                else {
                    return "?"
                }
                return json.string(id) ?? "?"
            }
        }
    }

    let loop: EventLoop
    let endpoint: String
    let requests = EventRecorder<Request>()
    private let context: ZMQContext
    private let socket: LoopBound<ZMQSocket>

    /// Answers a request with frames; none with nil.
    typealias Script = @Sendable (Request) -> [[UInt8]]?

    /// - Parameter endpoint: Where to listen; by default on any free port.
    init(at endpoint: String = "tcp://127.0.0.1:*", script: @escaping Script) async throws {
        let loop = EventLoop(name: "fake")
        let context = try ZMQContext()
        let requests = requests
        self.loop = loop
        self.context = context
        (socket, self.endpoint) = try await loop.run { () throws(ZMQError) in
            var options = ZMQSocketOptions()
            options.linger = .zero
            options.routerMandatory = false
            // A message that a slow client has no room for would be dropped.
            options.sendHighWaterMark = 0
            let router = try ZMQSocket(.router, in: context, on: loop, options: options)
            let bound: String
            do throws(ZMQError) {
                bound = try router.bind(endpoint)
            } catch {
                router.close()
                throw error
            }
            router.onMessage = { [unowned router] message in
                guard message.count >= 3 else { return }
                let request = Request(
                    peer: message.copied(0), kind: String(decoding: message.copied(1), as: UTF8.self),
                    envelopes: message.copied(2).split(separator: UInt8(ascii: "\n")).map {
                        String(decoding: $0, as: UTF8.self)
                    })
                requests.record(request)
                guard let frames = script(request) else { return }
                _ = router.send { outbox in
                    outbox.add(request.peer)
                    for frame in frames { outbox.add(frame) }
                }
            }
            return (LoopBound(router, on: loop), bound)
        }
    }

    func send(_ frames: [[UInt8]], to peer: [UInt8]) async {
        await socket.with { router in
            _ = router.send { outbox in
                outbox.add(peer)
                for frame in frames { outbox.add(frame) }
            }
        }
    }

    func stop() async {
        await socket.with { $0.close() }
        await context.terminate()
        await loop.shutDown()
    }

    /// Accepts every request.
    static let accepting: Script = { request in
        answer(to: request) { "{\"id\":\"\($0)\",\"status\":\"accepted\",\"seq\":7}" }
    }

    static func answer(to request: Request, status: (String) -> String) -> [[UInt8]] {
        let kind = request.kind == "push-batch/1" ? "ack-batch/1" : "ack/1"
        return [Array(kind.utf8), Array(request.ids.map(status).joined(separator: "\n").utf8)]
    }
}

extension TakenPort {
    /// The endpoint of the port, which refuses connections until a ``FakeIntake`` listens there.
    var endpoint: String { "tcp://127.0.0.1:\(number)" }
}
