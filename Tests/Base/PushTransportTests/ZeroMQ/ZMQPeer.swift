import PushLoop
import PushTransport
import TestSupport

/// What waits for something that a loop will bring: the next item that fits, or nil when the deadline passes first.
///
/// Confined to its loop.
final class Mailbox<Item: Sendable> {
    private struct Waiter {
        let id: Int
        let fits: (Item) -> Bool
        let continuation: CheckedContinuation<Item?, Never>
        let deadline: TimerID
    }

    private let loop: EventLoop
    private var items: [Item] = []
    private var waiters: [Waiter] = []
    private var nextID = 0

    init(on loop: EventLoop) {
        self.loop = loop
    }

    var count: Int { items.count }

    func put(_ item: Item) {
        if let index = waiters.firstIndex(where: { $0.fits(item) }) {
            let waiter = waiters.remove(at: index)
            loop.cancel(waiter.deadline)
            waiter.continuation.resume(returning: item)
        } else {
            items.append(item)
        }
    }

    /// Generous: it only decides how long a broken test takes to say so.
    static var patience: Duration { .seconds(300) }

    func next(_ fits: @escaping (Item) -> Bool = { _ in true }) async -> Item? {
        if let index = items.firstIndex(where: fits) { return items.remove(at: index) }
        let id = nextID
        nextID += 1
        return await withCheckedContinuation { continuation in
            let deadline = loop.schedule(after: Self.patience) { [unowned self] in
                guard let index = waiters.firstIndex(where: { $0.id == id }) else { return }
                waiters.remove(at: index).continuation.resume(returning: nil)
            }
            waiters.append(Waiter(id: id, fits: fits, continuation: continuation, deadline: deadline))
        }
    }

    func takeAll() -> [Item] {
        defer { items = [] }
        return items
    }
}

/// A message as a test keeps it.
struct Received: Hashable, Sendable {
    var frames: [[UInt8]]
    var userID: String?
    var peerAddress: String?
    /// Above zero for a message that was reported as malformed: the frames it had.
    var malformedFrameCount = 0

    var texts: [String] { frames.map { String(decoding: $0, as: UTF8.self) } }
}

/// A socket on a loop with what tests need: an actor pinned to the loop, as its owners in production are.
actor ZMQPeer {
    nonisolated let loop: EventLoop
    private let context: ZMQContext
    private var socket: ZMQSocket?
    private var watcher: ZMQMonitor?
    private let inbox: Mailbox<Received>
    private let events: Mailbox<ZMQMonitorEvent>
    private let signals: Mailbox<String>
    private(set) var batchSizes: [Int] = []
    private var batch = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private init(in context: ZMQContext, on loop: EventLoop) {
        self.context = context
        self.loop = loop
        inbox = Mailbox(on: loop)
        events = Mailbox(on: loop)
        signals = Mailbox(on: loop)
    }

    /// A socket with a monitor that receives into the inbox.
    static func make(
        _ kind: ZMQSocket.Kind, in context: ZMQContext, on loop: EventLoop,
        options: ZMQSocketOptions = ZMQSocketOptions()
    ) async throws -> ZMQPeer {
        let peer = ZMQPeer(in: context, on: loop)
        try await peer.open(kind, options)
        return peer
    }

    private func open(_ kind: ZMQSocket.Kind, _ options: ZMQSocketOptions) throws {
        let socket = try ZMQSocket(kind, in: context, on: loop, options: options)
        self.socket = socket
        do {
            watcher = try socket.monitor { [events] event in events.put(event) }
        } catch {
            socket.close()
            throw error
        }
        socket.onMessage = { [unowned self] message in
            batch += 1
            inbox.put(Self.keep(message))
        }
        socket.onMalformed = { [unowned self] message, count in
            var received = Self.keep(message)
            received.malformedFrameCount = count
            inbox.put(received)
        }
        socket.onBatchEnd = { [unowned self] in
            batchSizes.append(batch)
            batch = 0
        }
        socket.onWritable = { [signals] in signals.put("writable") }
        socket.onTerminated = { [signals] in signals.put("terminated") }
    }

    private static func keep(_ message: borrowing ZMQMessage) -> Received {
        Received(
            frames: (0..<message.count).map { message.copied($0) }, userID: message.userID,
            peerAddress: message.peerAddress)
    }

    // MARK: The socket

    @discardableResult
    func bind(_ endpoint: String = "tcp://127.0.0.1:*") throws -> String { try open().bind(endpoint) }
    func connect(_ endpoint: String) throws { try open().connect(endpoint) }
    func disconnect(_ endpoint: String) throws { try open().disconnect(endpoint) }
    func unbind(_ endpoint: String) throws { try open().unbind(endpoint) }
    func subscribe(_ prefix: String) throws { try open().subscribe(prefix) }
    func unsubscribe(_ prefix: String) throws { try open().unsubscribe(prefix) }
    func pause() throws { try open().pauseReceiving() }
    func resume() throws { try open().resumeReceiving() }

    /// For what the other methods do not cover; runs on the loop.
    func with<Result: Sendable>(_ body: @Sendable (ZMQSocket) throws -> Result) throws -> Result {
        try body(open())
    }

    private struct NoSocket: Error {}

    private func open() throws -> ZMQSocket {
        guard let socket else { throw NoSocket() }
        return socket
    }

    func send(_ frames: [UInt8]...) throws -> ZMQSendResult {
        try send(frames: frames)
    }

    func send(_ texts: String...) throws -> ZMQSendResult {
        try send(frames: texts.map { [UInt8]($0.utf8) })
    }

    func send(frames: [[UInt8]]) throws -> ZMQSendResult {
        if frames.count == 1 { return try open().send(frames[0]) }
        return try open().send { outbox in for frame in frames { outbox.add(frame) } }
    }

    /// Sends, and sends again when the socket says that it is worth a try.
    func sendPatiently(_ frames: [[UInt8]]) async throws -> ZMQSendResult {
        while true {
            let result = try send(frames: frames)
            guard result == .wouldBlock, await signals.next({ $0 == "writable" }) != nil else { return result }
        }
    }

    /// Sends numbered messages until the socket takes no more, or `limit` are sent.
    func fill(upTo limit: Int, size: Int, from first: Int = 0) throws -> (accepted: Int, last: ZMQSendResult) {
        for number in first..<(first + limit) {
            let result = try open().send(Self.numbered(number, size: size))
            if result != .sent { return (number - first, result) }
        }
        return (limit, .sent)
    }

    static func numbered(_ number: Int, size: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: max(size, 8))
        for index in 0..<8 { bytes[index] = UInt8(truncatingIfNeeded: number >> (8 * index)) }
        return bytes
    }

    static func number(_ bytes: [UInt8]) -> Int {
        bytes.prefix(8).enumerated().reduce(0) { $0 | Int($1.element) << (8 * $1.offset) }
    }

    // MARK: What came

    func receive() async -> Received? { await inbox.next() }
    func receive(where fits: @escaping @Sendable (Received) -> Bool) async -> Received? { await inbox.next(fits) }
    var waiting: Int { inbox.count }
    func takeReceived() -> [Received] { inbox.takeAll() }
    func putBack(_ message: Received) { inbox.put(message) }

    /// Receives `total` numbered messages, those included that came before it was asked. Returns how many came in order
    /// before one did not, or before the patience was at its end.
    func receiveNumbered(_ total: Int, size: Int) async throws -> Int {
        var inOrder = 0
        let done = Mailbox<Bool>(on: loop)
        func take(_ bytes: [UInt8]) {
            guard inOrder < total, bytes.count == size, Self.number(bytes) == inOrder else { return done.put(false) }
            inOrder += 1
            if inOrder == total { done.put(true) }
        }
        for early in inbox.takeAll() { take(early.frames[0]) }
        try open().onMessage = { message in take(message.copied(0)) }
        _ = await done.next()
        return inOrder
    }

    /// The next event that fits; those before it stay for others to ask for.
    func event(where fits: @escaping @Sendable (ZMQMonitorEvent.Kind) -> Bool) async -> ZMQMonitorEvent? {
        await events.next { fits($0.kind) }
    }

    func event(_ kind: ZMQMonitorEvent.Kind) async -> ZMQMonitorEvent? { await event { $0 == kind } }
    func takeEvents() -> [ZMQMonitorEvent.Kind] { events.takeAll().map(\.kind) }

    func signal(_ name: String) async -> Bool { await signals.next { $0 == name } != nil }
    func takeSignals() -> [String] { signals.takeAll() }

    var isClosed: Bool { socket?.isClosed ?? true }

    func close() {
        socket?.close()
        watcher?.close()
    }

    /// Another monitor in place of the first; its events come as signals.
    func monitorAgain() throws {
        watcher = try open().monitor { [signals] event in signals.put("\(event.kind)") }
    }

    func closeMonitor() {
        watcher?.close()
    }

    /// Closes the socket and leaves the monitor.
    func closeSocket() {
        socket?.close()
    }
}

/// A context and two loops for a test, and their end.
struct ZMQWorld: Sendable {
    let context: ZMQContext
    let first = EventLoop(name: "first")
    let second = EventLoop(name: "second")
    private let nobody = TakenPort()!
    private let peers = PeerList()

    private actor PeerList {
        var all: [ZMQPeer] = []
        func add(_ peer: ZMQPeer) { all.append(peer) }
    }

    /// Where nobody listens, and nobody comes to listen.
    var deadEndpoint: String { "tcp://127.0.0.1:\(nobody.number)" }

    static func run(_ body: (ZMQWorld) async throws -> Void) async throws {
        let world = ZMQWorld(context: try ZMQContext())
        do {
            try await body(world)
        } catch {
            await world.end()
            throw error
        }
        await world.end()
    }

    private init(context: ZMQContext) {
        self.context = context
    }

    func peer(
        _ kind: ZMQSocket.Kind, on loop: EventLoop? = nil, _ change: (inout ZMQSocketOptions) -> Void = { _ in }
    ) async throws -> ZMQPeer {
        var options = ZMQSocketOptions()
        options.linger = .zero
        options.reconnectInterval = .milliseconds(20)
        options.maxReconnectInterval = .milliseconds(20)
        // A busy machine is no broken peer, unless a test says so.
        options.handshakeTimeout = .seconds(300)
        change(&options)
        let peer = try await ZMQPeer.make(kind, in: context, on: loop ?? first, options: options)
        await peers.add(peer)
        return peer
    }

    private func end() async {
        for peer in await peers.all { await peer.close() }
        await context.terminate()
        await first.shutDown()
        await second.shutDown()
    }
}

/// True when `work` has come to its end, false when the test's time limit came first. Work that hangs is left behind.
func ends(_ work: @escaping @Sendable () async -> Void) async -> Bool {
    let (ended, end) = AsyncStream<Void>.makeStream()
    Task {
        await work()
        end.yield()
    }
    return await ended.first { _ in true } != nil
}
