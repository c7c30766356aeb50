import JSON5
import PushLoop
import PushTransport
import TestSupport
import Testing

@testable import PushSimulator

/// A simulated push service on sockets beside the simulated Apple, with an application server.
struct WebPushScene {
    let apple: Apple
    let sender: Sender
    let address: HostPort
    var origin: String { "https://\(address)" }

    /// A message with the fields that are not the same for all.
    struct Message: Sendable {
        var path: String
        var fields: [(String, String)]
        var body: [UInt8]
    }

    init(_ apple: Apple, faults: String = "{}") async throws {
        self.apple = apple
        sender = try Sender()
        let port = await apple.with { service in
            Result { () throws -> UInt16 in
                let push = try WebPushService(
                    on: service.loop, options: .init(identity: TestCertificates.shared.serverIdentity))
                let rules = ControlRequest(method: "PUT", path: "/webpush/faults", body: Array(faults.utf8))
                #expect(push.machine.control(rules).status == 200)
                service.webPush = push
                return push.port
            }
        }
        address = HostPort(host: "127.0.0.1", port: try port.get())
    }

    /// Makes a subscription at the control port.
    func subscribe() throws -> Sender.Subscription {
        let answer = try apple.control.ask("POST", "/subscriptions")
        return try Sender.Subscription(String(decoding: answer.body, as: UTF8.self))
    }

    /// Makes a subscription without the control port, whose connections need a clock that goes.
    func subscribeAdvancing() async throws -> Sender.Subscription {
        let line = await apple.with { service in
            service.webPush.map { $0.machine.control(ControlRequest(method: "POST", path: "/subscriptions")).body }
                ?? []
        }
        return try Sender.Subscription(String(decoding: line, as: UTF8.self))
    }

    func message(_ text: String, to subscription: Sender.Subscription, topic: String? = nil) throws -> Message {
        let claims = Sender.claims(origin: origin, expiresAt: WallTime.current().seconds + 43_200)
        var fields: [(String, String)] = [
            ("authorization", try sender.authorization(claims: claims)), ("ttl", "60"),
            ("content-encoding", "aes128gcm"),
        ]
        if let topic { fields.append(("topic", topic)) }
        return Message(
            path: subscription.path, fields: fields,
            body: try Sender.encrypt(Array(text.utf8), for: subscription.point, secret: subscription.secret))
    }

    func accepted() throws -> Int {
        let body = try apple.control.ask("GET", "/webpush/counts").body
        let counts = try #require(ByteView.lending(Array(body)) { JSONTree.strict($0) })
        return Int(counts["accepted"]?.integer ?? -1)
    }

    func connect() async throws -> WebPushClient {
        let events = EventRecorder<WebPushClient.Seen>()
        let tls = try TLSContext.client(TLSClientConfiguration(trust: TestCertificates.shared.trust, alpn: ["h2"]))
        let peer = try await apple.onClientLoop { [address] loop, resolver in
            let peer = WebPushClient.Peer(events)
            let connection = HTTP2ClientConnection(
                on: loop, to: address, tls: tls, resolver: resolver, options: .init(), delegate: peer)
            peer.connection = connection
            return (peer, { connection.close() })
        }
        await events.wait(count: 1)
        return WebPushClient(peer: peer, events: events)
    }
}

/// A connection of an application server.
struct WebPushClient {
    struct Answer: Sendable {
        let status: Int
        let location: String?
        let ttl: String?
        let type: String?
        let body: String
    }

    enum Outcome: Sendable {
        case answered(Answer)
        case unanswered(HTTP2StreamFailure)

        var answer: Answer? { if case .answered(let answer) = self { answer } else { nil } }
        var failure: HTTP2StreamFailure? { if case .unanswered(let failure) = self { failure } else { nil } }
    }

    enum Seen: Sendable {
        case settings
        case ended(UInt64, Outcome)
        case closed
    }

    final class Peer: HTTP2ClientConnectionDelegate {
        let events: EventRecorder<Seen>
        fileprivate(set) var connection: HTTP2ClientConnection!
        private var tag: UInt64 = 0

        init(_ events: EventRecorder<Seen>) {
            self.events = events
        }

        /// Submits a message and returns its number.
        func submit(_ message: WebPushScene.Message) -> UInt64 {
            tag += 1
            let fixed: [(String, String)] =
                [(":method", "POST"), (":scheme", "https"), (":authority", "127.0.0.1"), (":path", message.path)]
                + message.fields
            let request = HTTP2PreparedRequest(fixed.map { .init($0.0, value: .fixed($0.1)) })
            #expect(connection.submit(request, values: [], body: message.body, tag: tag))
            return tag
        }

        func http2Settings(streamLimit limit: Int) { events.record(.settings) }

        func http2Answered(tag: UInt64, with response: HTTP2Response) {
            let answer = Answer(
                status: response.status, location: response.field("location"), ttl: response.field("ttl"),
                type: response.field("content-type"), body: unsafe String(decoding: response.body, as: UTF8.self))
            events.record(.ended(tag, .answered(answer)))
        }

        func http2Unanswered(tag: UInt64, because failure: HTTP2StreamFailure) {
            events.record(.ended(tag, .unanswered(failure)))
        }

        func http2GoAway(_ goAway: HTTP2GoAway) {}
        func http2Closed(_ closure: HTTP2Closure) { events.record(.closed) }
        func http2BatchEnded() {}
    }

    let peer: LoopBound<Peer>
    let events: EventRecorder<Seen>

    /// Sends messages in one tick, and returns their numbers.
    func send(_ messages: [WebPushScene.Message]) async -> [UInt64] {
        await peer.with { peer in messages.map { peer.submit($0) } }
    }

    func send(_ message: WebPushScene.Message) async -> UInt64 { await send([message])[0] }

    func outcome(of message: WebPushScene.Message) async -> Outcome { await end(of: send(message)) }

    func end(of number: UInt64) async -> Outcome {
        let find = { @Sendable (seen: [Seen]) -> Outcome? in
            for case .ended(number, let outcome) in seen { return outcome }
            return nil
        }
        let seen = await events.wait { find($0) != nil }
        guard let outcome = find(seen) else { preconditionFailure("a wait ended without its event") }
        return outcome
    }

    /// The number of messages that have ended.
    var count: Int { events.events.count { if case .ended = $0 { true } else { false } } }

    func close() async { await peer.with { $0.connection.close() } }
}
