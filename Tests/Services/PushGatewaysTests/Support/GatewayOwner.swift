import APNs
import PushGateways
import PushLogic
import PushLoop
import PushModel
import TestSupport

/// Submits deliveries to a gateway within its credit, submits those again that need it, and records the outcome of each
/// delivery and how often it may have been sent. Used on the clients' loop.
final class GatewayOwner {
    struct Book: Sendable {
        /// The final outcome of each delivery, by number.
        var terminal: [DeliveryOutcome?]
        /// The number of reports for deliveries that had already ended, which is an error.
        var surplus = 0
        /// How often each delivery was reported as unknown.
        var unknown: [Int]
        var retries = 0
        var events: [GatewayEvent] = []

        var isComplete: Bool { left == 0 }
        fileprivate(set) var left: Int
        var accepted: Int {
            terminal.count { if case .sent? = $0 { true } else { false } }
        }
    }

    private let loop: EventLoop
    private let deliveries: [Delivery]
    private let resendsUnknown: Bool
    private let done: EventRecorder<Book>
    /// Called with the number of ended deliveries, each time that one has ended.
    private let progress: (Int, Gateway) -> Void
    /// The number of connections that must be up before deliveries are submitted.
    private var awaited: Int
    private var book: Book
    private var gateway: Gateway?
    private var ready: [Int]
    private var submitted: UInt64 = 0
    /// The total number of deliveries that may be submitted.
    private var credit: UInt64 = 0

    init(
        on loop: EventLoop, _ deliveries: [Delivery], resendsUnknown: Bool, whenUp awaited: Int,
        done: EventRecorder<Book>, progress: @escaping (Int, Gateway) -> Void = { _, _ in }
    ) {
        self.progress = progress
        self.awaited = awaited
        self.loop = loop
        self.deliveries = deliveries
        self.resendsUnknown = resendsUnknown
        self.done = done
        book = Book(
            terminal: Array(repeating: nil, count: deliveries.count),
            unknown: Array(repeating: 0, count: deliveries.count), left: deliveries.count)
        ready = Array(deliveries.indices.reversed())
    }

    func own(_ gateway: Gateway) {
        self.gateway = gateway
        give()
    }

    func take(_ report: GatewayReport) {
        book.events += report.events
        awaited -= report.events.count { if case .up = $0 { true } else { false } }
        // The gateway cannot continue by itself, so the current record is returned.
        if report.events.contains(where: { if case .credentialFailed = $0 { true } else { false } }) {
            gateway = nil
            done.record(book)
        }
        for one in report.deliveries { take(one) }
        credit = report.taken + UInt64(report.credit)
        give()
    }

    private func give() {
        let room = Int(clamping: Int64(credit) - Int64(submitted))
        guard awaited <= 0, room > 0, !ready.isEmpty, let gateway else { return }
        let count = min(room, ready.count)
        let batch = ready.suffix(count).reversed().map { deliveries[$0] }
        ready.removeLast(count)
        submitted += UInt64(count)
        gateway.submit(batch)
    }

    private func take(_ report: DeliveryReport) {
        let number = Int(report.delivery.ticket)
        guard book.terminal[number] == nil else {
            book.surplus += 1
            return
        }
        switch report.outcome {
        case .sent(let providerID): end(number, .sent(providerID: providerID))
        case .rejected(let refusal, let deactivates): end(number, .rejected(refusal, deactivates: deactivates))
        case .expired: end(number, .expired)
        case .suppressed(let reason): end(number, .suppressed(reason))
        case .superseded, .expiredBecause: preconditionFailure("the router decides this, and no gateway")
        case .unknown(let cause, let isFinal):
            book.unknown[number] += 1
            if resendsUnknown { again(number) } else { end(number, .unknown(cause, isFinal: isFinal)) }
        case .retry(_, let delay):
            book.retries += 1
            // The provider's delay in seconds is tested elsewhere, and would only cost time here.
            loop.schedule(after: min(delay, .milliseconds(20))) { [weak self] in self?.again(number) }
        case nil:
            again(number)
        }
    }

    private func again(_ number: Int) {
        // If no report follows, no other code would submit it. So it is submitted at once; the gateway's queue has
        // room.
        submitted += 1
        gateway?.submit([deliveries[number]])
    }

    private func end(_ number: Int, _ outcome: DeliveryOutcome) {
        book.terminal[number] = outcome
        book.left -= 1
        if let gateway { progress(deliveries.count - book.left, gateway) }
        if book.isComplete {
            // Releasing the gateway breaks the reference cycle.
            gateway = nil
            done.record(book)
        }
    }

    /// Sends the deliveries through a new gateway, and waits until each has its outcome.
    static func send(
        _ deliveries: [Delivery], to apple: SimulatedApple, connections: ClosedRange<Int>, seed: UInt64 = 1,
        resendsUnknown: Bool = true, whenUp awaited: Int = 0, loops: [EventLoop] = [],
        change: (inout GatewaySettings) -> Void = { _ in },
        connection changeConnection: (inout GatewayConnection.Settings) -> Void = { _ in },
        tokens: TokenSource?? = .none, progress: @escaping @Sendable (Int, Gateway) -> Void = { _, _ in }
    ) async throws -> Book {
        let done = EventRecorder<Book>()
        let loop = apple.clientLoop
        let owner = await loop.run {
            LoopBound(
                GatewayOwner(
                    on: loop, deliveries, resendsUnknown: resendsUnknown, whenUp: awaited, done: done,
                    progress: progress), on: loop)
        }
        let connectionSettings = try apple.settings { settings in
            // A PING soon detects a peer that does not answer. A peer that is only slow, as under a sanitizer, gets
            // enough time.
            settings.http2.pingAfter = .milliseconds(100)
            settings.http2.pingTimeout = .milliseconds(400)
            settings.machine.answerTimeout = .seconds(2)
            settings.http2.connectTimeout = .seconds(2)
            changeConnection(&settings)
        }
        var settings = GatewaySettings(
            app: AppID("shop")!, endpoint: apple.provider, reasons: .apns, resolver: apple.resolver,
            connect: { GatewayConnection($0, settings: connectionSettings) })
        settings.serverName = "localhost"
        settings.seed = seed
        settings.policy.minimum = connections.lowerBound
        settings.policy.maximum = connections.upperBound
        settings.policy.connects = .unlimited
        settings.policy.reconnect = Backoff(first: .milliseconds(5), maxDelay: .milliseconds(40))
        settings.policy.quarantine = Backoff(first: .milliseconds(5), maxDelay: .milliseconds(40))
        settings.policy.breaker.pause = Backoff(first: .milliseconds(10), maxDelay: .milliseconds(40))
        settings.policy.breaker.maxAskedPause = .milliseconds(40)
        settings.policy.retry = Backoff(first: .milliseconds(5), maxDelay: .milliseconds(20))
        settings.policy.growAfter = .milliseconds(50)
        change(&settings)
        let gateway = Gateway(
            on: loop, connectionLoops: loops.isEmpty ? [loop] : loops, settings: settings,
            client: GatewayClient(on: loop) { owner.wrapped.take($0) }, tokens: try tokens ?? TestTokens(apple).source
        )
        await owner.with { $0.own(gateway) }
        let book = await done.wait(count: 1)[0]
        await gateway.drain(within: .seconds(5))
        return book
    }
}
