import PushModel
import PushTime

@testable import WebPush

/// A pool machine whose time and peers the test plays.
final class MachinePlay {
    struct Ended {
        let ticket: Int
        let result: AttemptResult

        private var refusal: Refusal? {
            if case .refused(let refusal) = result { return refusal }
            return nil
        }

        var reason: ProviderReason? { refusal?.reason }
        var retryAfter: Int? { refusal?.retryAfter }
        var isBusy: Bool { refusal?.reason == .originBusy && refusal?.status == 0 }
        var isUnavailable: Bool {
            [.originUnavailable, .originNameNotFound].contains(refusal?.reason) && refusal?.status == 0
        }
    }

    var machine: OriginMachine
    var now = MonotonicTime(nanoseconds: 1_000_000_000)
    var wall = WallTime(milliseconds: 1_700_000_000_000)
    /// What the connections have.
    private(set) var given: [ConnectionID: [Int: Delivery]] = [:]

    init(
        keys: [VAPIDKeyID] = [], limits change: (inout OriginMachine.Limits) -> Void = { _ in },
        rules: (inout OriginRules) -> Void = { _ in }
    ) {
        var limits = OriginMachine.Limits()
        change(&limits)
        var allowed = OriginRules()
        allowed.patterns = ["*.test", "*.test:8443"]
        rules(&allowed)
        machine = OriginMachine(rules: allowed, keys: keys, limits: limits, seed: 7)
    }

    func pass(_ time: Duration) {
        now = now + time
        wall = wall.adding(milliseconds: Int64(time / .milliseconds(1)))
    }

    func deliver(_ tickets: Range<Int>, to origin: String, of message: Message = OriginDeliveries.message()) {
        machine.deliver(OriginDeliveries.make(tickets, to: origin, of: message), now: now)
    }

    /// Returns the actions as text.
    func turn() -> [String] {
        machine.turn(now: now, at: wall).map { action in
            switch action {
            case .lookUp(let number, let origin): return "look up \(number) \(origin)"
            case .connect(let id, let origin, let address, let isHTTP1):
                return "connect \(id) \(origin) \(address)\(isHTTP1 ? " HTTP/1.1" : "")"
            case .drain(let id): return "drain \(id)"
            case .close(let id): return "close \(id)"
            case .announce(let origin, _):
                return "failing \(origin.name) \(origin.fault.map { "\($0.code.rawValue) \($0)" } ?? "-")"
            case .deliver(let id, let deliveries):
                for delivery in deliveries { given[id, default: [:]][Int(delivery.ticket)] = delivery }
                return "deliver \(id) \(deliveries.map { Int($0.ticket) })"
            }
        }
    }

    func end(_ kind: ConnectionEnd.Kind) -> ConnectionEnd { ConnectionEnd(kind, message: "it has ended") }

    /// Ends deliveries that a connection has.
    func end(_ tickets: [Int], on id: UInt32, _ result: AttemptResult) {
        let id = ConnectionID(id)
        let reports = tickets.map { ticket in
            AttemptReport(of: given[id, default: [:]].removeValue(forKey: ticket)!, result, latency: .zero)
        }
        machine.ended(reports, on: id, now: now)
    }

    func ended() -> [Ended] { machine.takeEnded().map { Ended(ticket: Int($0.delivery.ticket), result: $0.result) } }

    /// Opens the first connection to an origin, whose id and look-up have this number, and leaves it idle.
    func open(_ origin: String, limit: Int, connection: UInt32) {
        deliver(1_000_000..<1_000_001, to: origin)
        _ = turn()
        machine.lookedUp(connection, ["8.8.8.8"], now: now)
        machine.giveBack()
        _ = ended()
        _ = turn()
        machine.ready(ConnectionID(connection), limit: limit, now: now)
    }
}
