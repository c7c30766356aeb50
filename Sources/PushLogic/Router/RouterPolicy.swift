import PushTime

/// The numbers that the router decides by.
package struct RouterPolicy: Sendable, Equatable {
    /// Messages held whole, of all apps, and the bytes of their payloads and audiences.
    package var loadedMessages = 20_000
    package var loadedBytes = 48 << 20
    /// Deliveries of one app that are with its gateway or wait for another attempt.
    package var underWay = 50_000
    /// What each lane may hold beyond the pool while its app's gateway takes deliveries, so that no number of lanes that
    /// cannot send keeps one that can from sending. One message is allowed whatever its size.
    package var laneFloor = 256
    package var laneFloorBytes = 256 << 10
    /// A lane that has sent nothing and ended nothing for this long holds no more unsent messages than one load.
    package var stalledAfter: Duration = .seconds(1)

    /// Devices that are asked for, claimed and prepared together.
    package var page = 1000
    /// Numbers of messages that are read back together, and how few must be left before that.
    package var load = 256
    package var loadBelow = 512
    /// Of one app in one tick: the others come in between.
    package var appQuantum = 4096
    /// Of one lane in one turn.
    package var laneQuantum = 128
    /// Messages of one lane whose devices are being looked up or sent to: of a brief one and of a broad one. Broad ones
    /// that turn out to be small make room for more.
    package var begunBrief = 512
    package var begunBroad = 32
    package var begunSmall = 256
    /// Devices that a broad lane has prepared when it begins no more than `begunBroad`.
    package var preparedBroad = 16_384

    /// A message without `expires_at` ends when it has waited so long since it was accepted, or since its `not_before`.
    package var oldest: Duration = .seconds(7 * 86400)
    /// How long a message with `expires_at` 0 may wait for its one attempt, counted in the same way.
    package var once: Duration = .seconds(10)
    /// After something could not be read.
    package var trouble = Backoff()
    /// How often what waits without hope of being sent is looked through for what has expired.
    package var sweep: Duration = .seconds(5)
    /// Messages that are read back together to see which of them have expired; fewer where they are large.
    package var look = 1024

    package init() {}
}

/// Something that failed and is tried again later.
struct Trouble {
    private(set) var until: MonotonicTime?
    private(set) var text: String?
    private var failures = 0

    /// What fails together counts once.
    mutating func failed(_ what: String, now: MonotonicTime, _ backoff: Backoff) {
        text = what
        if let until, until > now { return }
        failures += 1
        until = now + backoff.delay(afterFailures: failures, random: 0)
    }

    mutating func succeeded(now: MonotonicTime) {
        // An answer to what was asked before the failure says nothing.
        if let until, until > now { return }
        if failures > 0 { self = Trouble() }
    }

    func holds(at now: MonotonicTime) -> Bool { until.map { $0 > now } ?? false }
}
