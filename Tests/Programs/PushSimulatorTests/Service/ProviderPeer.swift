import PushLoop
import PushTransport
import TestSupport
import Testing

/// The answer as a client saw it.
struct SeenAnswer: Equatable, Sendable {
    var status: Int
    var reason: String?
    var id: String?
    var retryAfter: String?
    var body = ""

    init(_ response: HTTP2Response) {
        status = response.status
        id = response.field("apns-id")
        retryAfter = response.field("retry-after")
        body = String(decoding: response.body, as: UTF8.self)
        let parts = body.split(separator: "\"")
        reason = parts.count > 3 && parts[1] == "reason" ? String(parts[3]) : nil
    }
}

enum SeenOutcome: Equatable, Sendable {
    case answered(SeenAnswer)
    case unanswered(HTTP2StreamFailure)

    var status: Int? {
        if case .answered(let answer) = self { answer.status } else { nil }
    }
    var reason: String? {
        if case .answered(let answer) = self { answer.reason } else { nil }
    }
    var failure: HTTP2StreamFailure? {
        if case .unanswered(let failure) = self { failure } else { nil }
    }
}

enum Seen: Sendable {
    case settings(Int)
    case ended(Int, SeenOutcome)
    case goAway(HTTP2GoAway)
    case closed(HTTP2Closure)
}

/// One request of a test, identified by its number.
struct Push: Sendable {
    var number: Int
    var device: String
    var authorization: String?
    var topic: String? = Credentials.topic
    var body = #"{"aps":{"alert":"Hello"}}"#
    var more: [(String, String)] = []

    init(_ number: Int, device: String? = nil, authorization: String? = nil) {
        self.number = number
        self.device = device ?? Self.device(number)
        self.authorization = authorization
    }

    static func device(_ number: Int) -> String { padded(number, to: 64) }

    static func id(_ number: Int) -> String { "00000000-0000-4000-8000-\(padded(number, to: 12))" }

    private static func padded(_ number: Int, to length: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: length - digits.count) + digits
    }

    func prepared() -> HTTP2PreparedRequest {
        var fields: [HTTP2PreparedRequest.Field] = [
            .init(":method", value: .fixed("POST")), .init(":scheme", value: .fixed("https")),
            .init(":authority", value: .fixed("api.push.apple.com")),
            .init(":path", value: .perRequest, indexed: .once),
            .init("apns-id", value: .perRequest, indexed: .once), .init("apns-push-type", value: .fixed("alert")),
        ]
        if let authorization { fields.append(.init("authorization", value: .fixed("bearer \(authorization)"))) }
        if let topic { fields.append(.init("apns-topic", value: .fixed(topic))) }
        for (name, value) in more { fields.append(.init(name, value: .fixed(value))) }
        return HTTP2PreparedRequest(fields)
    }
}

/// The delegate of a client connection. It belongs to the clients' loop.
final class ProviderPeer: HTTP2ClientConnectionDelegate {
    let events: EventRecorder<Seen>
    fileprivate(set) var connection: HTTP2ClientConnection!

    init(_ events: EventRecorder<Seen>) {
        self.events = events
    }

    func submit(_ push: Push) -> Bool {
        connection.submit(
            push.prepared(), values: [Array("/3/device/\(push.device)".utf8), Array(Push.id(push.number).utf8)],
            body: push.body.isEmpty ? nil : Array(push.body.utf8), tag: UInt64(push.number))
    }

    func http2Settings(streamLimit limit: Int) { events.record(.settings(limit)) }

    func http2Answered(tag: UInt64, with response: HTTP2Response) {
        events.record(.ended(Int(tag), .answered(SeenAnswer(response))))
    }

    func http2Unanswered(tag: UInt64, because failure: HTTP2StreamFailure) {
        events.record(.ended(Int(tag), .unanswered(failure)))
    }

    func http2GoAway(_ goAway: HTTP2GoAway) { events.record(.goAway(goAway)) }

    func http2Closed(_ closure: HTTP2Closure) { events.record(.closed(closure)) }

    func http2BatchEnded() {}
}

/// A client connection of a test.
struct ProviderClient: Sendable {
    let peer: LoopBound<ProviderPeer>
    let events: EventRecorder<Seen>

    /// Submits requests in one tick; returns false if one was not accepted.
    @discardableResult
    func send(_ pushes: [Push]) async -> Bool {
        await peer.with { peer in pushes.allSatisfy { peer.submit($0) } }
    }

    /// Submits requests with the same authorization, and waits for their outcomes.
    func outcomes(of numbers: ClosedRange<Int>, authorization: String? = nil) async -> [Int: SeenOutcome] {
        let isTaken = await send(numbers.map { Push($0, authorization: authorization) })
        #expect(isTaken)
        return await ends(of: numbers)
    }

    func outcome(of push: Push) async -> SeenOutcome? {
        let isTaken = await send([push])
        #expect(isTaken)
        return await ends(of: push.number...push.number)[push.number]
    }

    /// Waits until each of the requests has ended.
    func ends(of numbers: ClosedRange<Int>) async -> [Int: SeenOutcome] {
        let all = await events.wait { seen in Self.ended(seen).count { numbers.contains($0.0) } >= numbers.count }
        let pairs = Self.ended(all).filter { numbers.contains($0.0) }
        #expect(Set(pairs.map(\.0)).count == pairs.count, "a request ended twice")
        return Dictionary(pairs, uniquingKeysWith: { first, _ in first })
    }

    private static func ended(_ seen: [Seen]) -> [(Int, SeenOutcome)] {
        seen.compactMap { if case .ended(let number, let outcome) = $0 { (number, outcome) } else { nil } }
    }

    /// The stream limits that the server has announced so far.
    var limits: [Int] {
        events.events.compactMap { if case .settings(let limit) = $0 { limit } else { nil } }
    }

    func untilLimit(_ limit: Int) async {
        await events.wait { seen in
            if case .settings(limit)? = seen.last(where: { if case .settings = $0 { true } else { false } }) {
                true
            } else {
                false
            }
        }
    }

    var goAway: HTTP2GoAway? {
        for case .goAway(let goAway) in events.events { return goAway }
        return nil
    }

    func closure() async -> HTTP2Closure? {
        let all = await events.wait { $0.contains { if case .closed = $0 { true } else { false } } }
        for case .closed(let closure) in all { return closure }
        return nil
    }

    func close() async {
        await peer.with { $0.connection.close() }
        _ = await closure()
    }
}

extension Apple {
    /// Starts a connection to the HTTP/2 service. Its events report the result.
    func connect(
        identity: TLSIdentity? = nil, options: HTTP2ClientConnection.Options = .init(), tls: TLSContext? = nil
    ) async throws -> ProviderClient {
        let tls =
            try tls
            ?? .client(TLSClientConfiguration(trust: TestCertificates.shared.trust, identity: identity, alpn: ["h2"]))
        let events = EventRecorder<Seen>()
        let peer = try await onClientLoop { [provider] loop, resolver in
            let peer = ProviderPeer(events)
            let connection = HTTP2ClientConnection(
                on: loop, to: provider, tls: tls, resolver: resolver, options: options, delegate: peer)
            peer.connection = connection
            return (peer, { connection.close() })
        }
        return ProviderClient(peer: peer, events: events)
    }

    /// Returns a connection after its first SETTINGS frame.
    func open(identity: TLSIdentity? = nil, options: HTTP2ClientConnection.Options = .init()) async throws
        -> ProviderClient
    {
        let client = try await connect(identity: identity, options: options)
        await client.events.wait(count: 1)
        return client
    }

    /// Returns a connection with a push certificate and the full stream limit, for tests that are not about tokens.
    func openWithCertificate(options: HTTP2ClientConnection.Options = .init()) async throws -> ProviderClient {
        let client = try await open(identity: Credentials.shared.push, options: options)
        await client.untilLimit(1000)
        return client
    }
}

extension ProviderClient {
    var endedCount: Int {
        events.events.count { if case .ended = $0 { true } else { false } }
    }
}
