import Foundation
import PushLoop
import PushModel
import PushPipeline
import PushTime
import PushTransport
import PushWire
import TestSupport

/// A log in memory, which contains only what the test has appended as synced.
final class MemoryLog: EventLog {
    private struct State {
        var segments: [LogSegment] = []
        var reads = 0
        var holds = false
        var held: [CheckedContinuation<Void, Never>] = []
        var failure: LedgerFault?
        var parts = 1
    }

    private let state = Locked(State())

    /// The number of parts, as in a cluster. Each segment belongs to the part of its numbers.
    var partCount: Int {
        get { state.withLock { $0.parts } }
        set { state.withLock { $0.parts = newValue } }
    }

    func bounds() async throws -> [LogBounds] {
        var bounds: [LogBounds] = []
        for part in 0..<partCount {
            let page = try await read(since: EventNumber.base(of: part), limit: 0)
            bounds.append(LogBounds(oldest: page.oldest, newest: page.newest))
        }
        return bounds
    }

    var reads: Int { state.withLock { $0.reads } }

    func append(_ segment: LogSegment) { state.withLock { $0.segments.append(segment) } }
    func fail(_ fault: LedgerFault?) { state.withLock { $0.failure = fault } }

    /// Removes the oldest segments.
    func drop(_ count: Int) { state.withLock { $0.segments.removeFirst(count) } }

    func replace(_ index: Int, _ segment: LogSegment) { state.withLock { $0.segments[index] = segment } }

    /// Holds all reads until ``letGo()``.
    func hold() { state.withLock { $0.holds = true } }

    func letGo() {
        let held = state.withLock { state in
            state.holds = false
            defer { state.held = [] }
            return state.held
        }
        for continuation in held { continuation.resume() }
    }

    func read(since: UInt64, limit: Int) async throws -> LogPage {
        await withCheckedContinuation { continuation in
            let waits = state.withLock { state in
                state.reads += 1
                if state.holds { state.held.append(continuation) }
                return state.holds
            }
            if !waits { continuation.resume() }
        }
        return try state.withLock { state in
            if let failure = state.failure { throw failure }
            var page: [LogSegment] = []
            var events = 0
            if state.parts > 1 {
                let part = EventNumber.part(of: since)
                let own = state.segments.filter { EventNumber.part(of: $0.first) == part }
                for segment in own where segment.last > since && events < limit {
                    page.append(segment)
                    events += segment.count
                }
                let base = EventNumber.base(of: part)
                return LogPage(
                    segments: page, oldest: own.first?.first ?? base + 1, newest: own.last?.last ?? base)
            }
            for segment in state.segments where segment.last > since && events < limit {
                page.append(segment)
                events += segment.count
            }
            return LogPage(
                segments: page, oldest: state.segments.first?.first ?? 0, newest: state.segments.last?.last ?? 0)
        }
    }

    func trace(_ subject: TraceSubject, limit: Int) async throws -> [LogSegment] { [] }
}

/// A message that a subscriber or requester received.
struct Got: Sendable, Equatable {
    var frames: [[UInt8]]
    var topic: String { String(decoding: frames[0], as: UTF8.self) }
    var texts: [String] { frames.map { String(decoding: $0, as: UTF8.self) } }
}

/// A socket that records the messages it receives, on the peers' loop.
final class BusPeer: Sendable {
    let got = EventRecorder<Got>()
    private let socket: LoopBound<ZMQSocket>
    let loop: EventLoop

    init(
        _ kind: ZMQSocket.Kind, _ scene: BusScene, reads: Bool = true, security: ZMQSecurity = .none,
        change: @escaping @Sendable (inout ZMQSocketOptions) -> Void = { _ in }
    ) async throws {
        let loop = scene.peers
        let context = scene.context
        let got = got
        self.loop = loop
        socket = try await loop.run {
            var options = ZMQSocketOptions()
            options.linger = .zero
            options.handshakeTimeout = .seconds(300)
            options.security = security
            change(&options)
            let socket = try ZMQSocket(kind, in: context, on: loop, options: options)
            if reads {
                socket.onMessage = { message in
                    got.record(Got(frames: (0..<message.count).map { message.copied($0) }))
                }
            }
            return LoopBound(socket, on: loop)
        }
    }

    func connect(_ endpoint: String, _ prefixes: String...) async throws {
        try await socket.with { socket throws in
            for prefix in prefixes { try socket.subscribe(prefix) }
            try socket.connect(endpoint)
        }
    }

    func with(_ body: @escaping @Sendable (ZMQSocket) throws -> Void) async throws {
        try await socket.with { socket throws in try body(socket) }
    }

    func ask(_ frames: String...) async throws {
        try await with { socket in
            _ = socket.send { outbox in for frame in frames { outbox.add(Array(frame.utf8)) } }
        }
    }

    func readFromNow() async throws {
        let got = got
        try await with { socket in
            socket.onMessage = { message in
                got.record(Got(frames: (0..<message.count).map { message.copied($0) }))
            }
        }
    }

    func close() async { try? await with { $0.close() } }
}

/// A bus on a loop, with its log and the loop of its peers.
final class BusScene: Sendable {
    /// The time that heartbeats have.
    static let wall = WallTime(milliseconds: 1_800_000_000_123)

    let context: ZMQContext
    let loop: EventLoop
    let peers = EventLoop(name: "peers")
    let log = MemoryLog()
    let bus: EventBus
    private let places = Locked<EventBusEndpoints?>(nil)
    private let all = Locked<[BusPeer]>([])

    var endpoints: (publish: String, replay: String) { places.withLock { ($0?.publish ?? "", $0?.replay ?? "") } }

    private init(
        clock: LoopClock, last: UInt64, heads: [LogWriter.Head],
        change: (inout EventBusSettings, ZMQContext) throws -> Void
    ) throws {
        context = try ZMQContext()
        loop = EventLoop(name: "bus", clock: clock)
        var settings = EventBusSettings(publish: "tcp://127.0.0.1:*", replay: "tcp://127.0.0.1:*")
        // All tests share the process, so its growth is not limited.
        settings.connectionLimits.growth = .max
        // The limits are high, so that peers on a busy machine do not count as slow readers.
        settings.sendHighWater = 100_000
        settings.unacknowledgedTimeout = .seconds(3600)
        settings.wallClock = { Self.wall }
        try change(&settings, context)
        // A context has one handler; this fails if the test has created one.
        _ = try? ZAPHandler(in: context, users: [:])
        bus = EventBus(on: loop, in: context, log: log, settings: settings, last: last, heads: heads)
    }

    static func run(
        clock: LoopClock = .monotonic, last: UInt64 = 0, heads: [LogWriter.Head] = [],
        change: (inout EventBusSettings, ZMQContext) throws -> Void = { _, _ in },
        _ body: (BusScene) async throws -> Void
    ) async throws {
        let scene = try BusScene(clock: clock, last: last, heads: heads, change: change)
        do {
            let endpoints = try await scene.bus.open()
            scene.places.withLock { $0 = endpoints }
            try await body(scene)
        } catch {
            await scene.end()
            throw error
        }
        await scene.end()
    }

    private func end() async {
        log.letGo()
        for peer in all.withLock({ $0 }) { await peer.close() }
        await bus.stop()
        await context.terminate()
        await loop.shutDown()
        await peers.shutDown()
    }

    func subscriber(
        _ prefixes: String..., reads: Bool = true, security: ZMQSecurity = .none,
        change: @escaping @Sendable (inout ZMQSocketOptions) -> Void = { _ in }
    ) async throws -> BusPeer {
        let peer = try await BusPeer(.sub, self, reads: reads, security: security, change: change)
        all.withLock { $0.append(peer) }
        let endpoint = endpoints.publish
        try await peer.with { socket in
            for prefix in prefixes { try socket.subscribe(prefix) }
            try socket.connect(endpoint)
        }
        return peer
    }

    func requester(
        security: ZMQSecurity = .none, reads: Bool = true,
        change: @escaping @Sendable (inout ZMQSocketOptions) -> Void = { _ in }
    ) async throws -> BusPeer {
        let peer = try await BusPeer(.dealer, self, reads: reads, security: security, change: change)
        all.withLock { $0.append(peer) }
        try await peer.connect(endpoints.replay)
        return peer
    }

    /// Returns when the bus has processed all calls made before.
    func settle() async { _ = await bus.status }

    /// Waits until the bus knows exactly these prefixes.
    func until(_ prefixes: [String]) async {
        await wait(while: await bus.status.prefixes != prefixes.sorted())
    }

    func until(_ isMet: (EventBusStatus) -> Bool) async {
        await wait(while: !isMet(await bus.status))
    }

    /// Appends a segment to the log and publishes it.
    func commit(_ writer: inout LogWriter, _ add: (inout LogWriter) -> Void) {
        writer.begin(time: 1000, reserving: 0)
        add(&writer)
        let segment = writer.finish()
        log.append(segment)
        bus.publish([segment])
    }
}

struct ReadLine: Sendable, Equatable {
    var seq: UInt64
    var prev: UInt64
    var topic: String

    static func all(of lines: [UInt8]) throws -> [ReadLine] {
        try lines.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { line in
            let members = try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any] ?? [:]
            func number(_ name: String) -> UInt64 { (members[name] as? NSNumber)?.uint64Value ?? .max }
            func text(_ name: String) -> String { members[name] as? String ?? "?" }
            guard number("v") == 1, number("ts") != .max else { throw CocoaError(.coderReadCorrupt) }
            return ReadLine(
                seq: number("seq"), prev: number("prev"), topic: "\(text("family"))/\(text("app"))/\(text("kind"))")
        }
    }
}

func note(_ kind: EventKind, _ app: String?, into writer: inout LogWriter, padding: Int = 0) {
    var draft = EventDraft(kind, app: app.flatMap { AppID($0) })
    if padding > 0 { draft.add("padding", text: String(repeating: "x", count: padding)) }
    writer.add(draft, at: 1001)
}
