import Glibc
import PushLoop
import TestSupport

@testable import PushTransport

/// Frames of the legacy binary interface, built by hand (Documentation/Protocols.md, "Frames").
enum LegacyFrame {
    static let payload = Array(#"{"aps":{"alert":"Hello"}}"#.utf8)

    static func simple(device: String, payload: [UInt8] = payload) -> [UInt8] {
        let token = bytes(device)
        return [0] + short(token.count) + token + short(payload.count) + payload
    }

    static func enhanced(_ identifier: UInt32, device: String, payload: [UInt8] = payload) -> [UInt8] {
        let token = bytes(device)
        return [1] + long(identifier) + long(0x7000_0000) + short(token.count) + token + short(payload.count) + payload
    }

    static func items(_ identifier: UInt32, device: String, payload: [UInt8] = payload) -> [UInt8] {
        let item = { (number: UInt8, content: [UInt8]) in [number] + short(content.count) + content }
        let all =
            item(5, [10]) + item(2, payload) + item(3, long(identifier)) + item(4, long(0)) + item(1, bytes(device))
        return [2] + long(UInt32(all.count)) + all
    }

    static func errorPacket(_ status: UInt8, _ identifier: UInt32) -> [UInt8] { [8, status] + long(identifier) }

    private static func bytes(_ device: String) -> [UInt8] { PushTransport.Hex.decode(device) ?? [] }

    private static func short(_ value: Int) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 255)] }

    private static func long(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { (shift: UInt32) in UInt8(truncatingIfNeeded: value >> shift) }
    }
}

/// The first bytes of an HTTP/2 client that does not wait for the server's SETTINGS.
enum EagerProvider {
    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    static let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]

    static var firstFlight: [UInt8] { preface + settings + headers(stream: 1) }

    /// Returns a HEADERS frame with `:method: GET`, `:scheme: https`, `:path: /` and `:authority: x`.
    static func headers(stream: UInt32, filler: Bool = false) -> [UInt8] {
        var block: [UInt8] = [0x82, 0x87, 0x84, 0x41, 1, 0x78]
        // The header `x` with 200 bytes is not added to the dynamic table.
        if filler { block += [0, 1, 0x78, 0x7f, 73] + Array(repeating: 0x61, count: 200) }
        let id = [24, 16, 8, 0].map { (shift: UInt32) in UInt8(truncatingIfNeeded: stream >> shift) }
        return [0, 0, UInt8(block.count), 1, 5] + id + block
    }
}

enum LegacySeen: Sendable {
    case opened
    case received([UInt8])
    case closed(ChannelClosure)
}

/// A TLS client on the clients' loop that sends given bytes.
final class LegacyPeer: ChannelHandler {
    let events: EventRecorder<LegacySeen>
    /// The bytes that are sent with the last flight of the handshake.
    let greeting: [UInt8]
    var channel: Channel?
    var connector: TCPConnector?

    init(_ events: EventRecorder<LegacySeen>, greeting: [UInt8]) {
        self.events = events
        self.greeting = greeting
    }

    func close() {
        connector?.cancel()
        channel?.abort()
    }

    func channelOpened(_ channel: Channel) {
        events.record(.opened)
        channel.write(greeting)
    }

    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        events.record(.received(Array(bytes)))
    }

    func channelWantsOutput(_ channel: Channel) {}

    func channel(_ channel: Channel, closed reason: ChannelClosure) {
        events.record(.closed(reason))
    }
}

struct LegacyClient: Sendable {
    let peer: LoopBound<LegacyPeer>
    let events: EventRecorder<LegacySeen>

    func write(_ bytes: [UInt8]) async {
        await peer.with { $0.channel?.write(bytes) }
    }

    func untilOpen() async {
        await events.wait { $0.contains { if case .opened = $0 { true } else { false } } }
    }

    @discardableResult
    func untilClosed() async -> ChannelClosure {
        let all = await events.wait { $0.contains { if case .closed = $0 { true } else { false } } }
        for case .closed(let reason) in all { return reason }
        return .byUs
    }

    var received: [UInt8] {
        var all: [UInt8] = []
        for case .received(let bytes) in events.events { all += bytes }
        return all
    }

    func close() async {
        await peer.with { $0.close() }
        await untilClosed()
    }
}

extension Apple {
    /// Opens a TLS connection that sends its first bytes as soon as possible.
    func hasty(
        to place: HostPort, alpn: String?, _ greeting: [UInt8], identity: TLSIdentity? = Credentials.shared.push,
        receiveBuffer: CInt? = nil
    ) async throws -> LegacyClient {
        let tls = try TLSContext.client(
            TLSClientConfiguration(
                trust: TestCertificates.shared.trust, identity: identity, alpn: alpn.map { [$0] } ?? []))
        let events = EventRecorder<LegacySeen>()
        let peer = try await onClientLoop { loop, resolver in
            let peer = LegacyPeer(events, greeting: greeting)
            peer.connector = TCPConnector(on: loop, to: place, resolver: resolver, deadline: loop.now + .seconds(300)) {
                [unowned peer] result in
                switch consume result {
                case .connected(let socket, _):
                    guard let engine = try? TLSEngine(context: tls, role: .client(serverName: "127.0.0.1")) else {
                        return
                    }
                    if let receiveBuffer { socket.setOption(SO_RCVBUF, at: SOL_SOCKET, to: receiveBuffer) }
                    let channel = Channel(socket, on: loop, tls: engine, handler: peer)
                    peer.channel = channel
                    channel.start()
                case .failed:
                    events.record(.closed(.lost(nil)))
                }
            }
            return (peer, { peer.close() })
        }
        return LegacyClient(peer: peer, events: events)
    }

    func legacy(_ greeting: [UInt8] = [], identity: TLSIdentity? = Credentials.shared.push) async throws
        -> LegacyClient
    {
        try await hasty(to: binary, alpn: nil, greeting, identity: identity)
    }

    /// Returns everything that the feedback service sends on one connection.
    func readFeedback() async throws -> (bytes: [UInt8], closure: ChannelClosure) {
        let client = try await hasty(to: feedback, alpn: nil, [])
        let closure = await client.untilClosed()
        return (client.received, closure)
    }
}
