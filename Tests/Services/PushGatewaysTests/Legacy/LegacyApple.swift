import PushLoop
import PushTransport
import TestSupport
import Testing

@testable import PushSimulator

/// The simulated legacy gateway and feedback service.
struct LegacyApple: Sendable {
    private let scene: SimulatorScene
    let binary: HostPort
    let feedback: HostPort

    var loop: EventLoop { scene.loop }
    var clientLoop: EventLoop { scene.clientLoop }
    var pool: BlockingPool { scene.pool }
    var resolver: NameResolver { scene.resolver }

    fileprivate init(_ scene: SimulatorScene) async {
        self.scene = scene
        (binary, feedback) = await scene.with { service in
            (
                HostPort(host: "127.0.0.1", port: service.binaryAddress!.port),
                HostPort(host: "127.0.0.1", port: service.feedbackAddress!.port)
            )
        }
    }

    struct Seen: Sendable, Equatable {
        var token: UInt64
        var identifier: UInt32
        var status: Int
        var connection: UInt32
        var priority: Int
    }

    func until(_ condition: @escaping @Sendable (SimulatorService) -> Bool) async {
        await scene.until(condition)
    }

    /// Returns the frames that the legacy gateway has read, in order.
    func seen() async -> [Seen] {
        await scene.with { service in
            let newest = service.machine.log.total
            return newest == 0
                ? []
                : (1...newest).map { number in
                    let record = service.machine.log.ring[number]
                    return Seen(
                        token: UInt64(bigEndian: record.token.0), identifier: record.stream, status: Int(record.status),
                        connection: record.connection, priority: Int(record.priority))
                }
        }
    }

    func untilSeen(_ count: UInt64) async {
        await until { $0.machine.log.total >= count }
    }

    func forbid(_ token: [UInt8]) async {
        let text = PushTransport.Hex.encode(token)
        await scene.with { service in
            let isSet = service.machine.devices.set(
                SimulatedDevices.Device(state: .bad), for: SimulatedDevices.Pattern(text)!)
            #expect(isSet)
        }
    }

    /// Adds dead devices to the feedback list; each token begins with its number.
    func fillFeedback(_ numbers: Range<UInt64>) async {
        await scene.with { service in
            for number in numbers { service.machine.addGone(number) }
        }
    }

    static func clientTLS() throws -> TLSContext {
        let certificates = TestCertificates.shared
        return try .client(
            TLSClientConfiguration(trust: certificates.trust, identity: certificates.clientIdentity))
    }
}

extension SimulatorMachine {
    fileprivate mutating func addGone(_ number: UInt64) {
        var token = [UInt8](repeating: 0x0a, count: 32)
        for index in 0..<8 { token[index] = UInt8(truncatingIfNeeded: number >> UInt64(56 - 8 * index)) }
        feedback.add(token, at: WallTime(milliseconds: Int64(1_700_000_000 + number) * 1000))
    }
}

func withLegacyApple(
    script: String = "{}", clientClock: LoopClock = .monotonic, _ body: (LegacyApple) async throws -> Void
) async throws {
    try await SimulatorScene.run(script: script, clientClock: clientClock) { options in
        options.providerPort = nil
        options.controlPort = nil
        options.settings.records = 50_000
        options.settings.retainedBytes = 1 << 20
    } _: { scene in
        try await body(LegacyApple(scene))
    }
}

/// A TLS server that sends fixed bytes, whatever it receives.
final class TalkingPeer: ChannelHandler {
    private let loop: EventLoop
    private let bytes: [UInt8]
    private let isEndless: Bool
    private let closes: Bool
    private let tls: TLSContext
    private var listener: TCPListener?
    private var channels: [Channel] = []

    /// Must be called on the loop.
    init(on loop: EventLoop, sending bytes: [UInt8], endlessly isEndless: Bool = false, closes: Bool = true) throws {
        self.loop = loop
        self.bytes = bytes
        self.isEndless = isEndless
        self.closes = closes
        tls = try TestCertificates.shared.serverContext()
        listener = try TCPListener(on: loop, at: HostPort(host: "127.0.0.1", port: 0)) { [unowned self] socket in
            guard let engine = try? TLSEngine(context: tls, role: .server) else { return }
            let channel = Channel(socket, on: loop, tls: engine, handler: self)
            channels.append(channel)
            channel.start()
        }
    }

    var endpoint: HostPort { HostPort(host: "127.0.0.1", port: listener?.address.port ?? 0) }

    func stop() {
        listener?.close()
        for channel in channels { channel.abort() }
        channels = []
    }

    func channelOpened(_ channel: Channel) {
        channel.write(bytes)
        if closes, !isEndless { channel.close() }
    }

    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {}

    func channelWantsOutput(_ channel: Channel) {
        if isEndless { channel.write(bytes) }
    }

    func channel(_ channel: Channel, closed reason: ChannelClosure) {}

    /// Runs a test with such a peer.
    static func run(
        sending bytes: [UInt8], endlessly isEndless: Bool = false, closes: Bool = true,
        _ body: (LegacyApple, HostPort) async throws -> Void
    ) async throws {
        try await withLegacyApple { apple in
            let loop = apple.loop
            let (peer, endpoint) = try await loop.run {
                let peer = try TalkingPeer(on: loop, sending: bytes, endlessly: isEndless, closes: closes)
                return (LoopBound(peer, on: loop), peer.endpoint)
            }
            let outcome: Result<Void, any Error>
            do {
                outcome = .success(try await body(apple, endpoint))
            } catch {
                outcome = .failure(error)
            }
            await peer.with { $0.stop() }
            try outcome.get()
        }
    }
}
