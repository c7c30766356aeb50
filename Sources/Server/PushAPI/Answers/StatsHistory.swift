package import PushTime

/// The rates of the last quarter of an hour, with a bounded number of points. A console that is opened has a past with
/// them.
package struct StatsHistory: Sendable {
    /// The counters and levels of one moment.
    package struct Sample: Sendable {
        package let at: WallTime
        package var accepted: UInt64 = 0
        package var refused: UInt64 = 0
        package var busy: UInt64 = 0
        package var sent: UInt64 = 0
        package var rejected: UInt64 = 0
        package var unknown: UInt64 = 0
        package var deferred: UInt64 = 0
        package var lostAnswers: UInt64 = 0
        package var latency: Latency
        package var waiting: UInt64 = 0
        package var oldestWaitingMilliseconds: Int64 = 0

        package init(at: WallTime, latency: Latency) {
            (self.at, self.latency) = (at, latency)
        }
    }

    package static let interval = Duration.seconds(2)
    package static let maxPoints = 450

    /// What happened in a minute.
    package struct Minute: Sendable {
        package var sent = 0.0
        package var rejected = 0.0
        /// The attempts without an answer.
        package var lostAnswers = 0.0
        /// The attempts that are repeated later, as the push service asked.
        package var deferred = 0.0
        /// The answers that asked producers to come again.
        package var busy = 0.0

        package init() {}
    }

    package private(set) var points: [StatsAnswer.Point] = []
    /// The attempts that were in vain between the samples of the last minute. They are not part of the points.
    private var attempts: [(at: WallTime, deferred: UInt64, lostAnswers: UInt64)] = []
    private var last: Sample?

    package init() {}

    /// Adds a point for the time since the sample before. There is none for the first sample, and for one that is not
    /// later because the clock was set back.
    package mutating func add(_ sample: Sample) {
        defer { last = sample }
        guard let last, sample.at > last.at else { return }
        let seconds = Double(sample.at.milliseconds(since: last.at)) / 1000
        func grown(_ counter: KeyPath<Sample, UInt64>) -> UInt64 {
            let (now, before) = (sample[keyPath: counter], last[keyPath: counter])
            return now > before ? now - before : 0
        }
        let (deferred, lost) = (grown(\.deferred), grown(\.lostAnswers))
        if deferred > 0 || lost > 0 { attempts.append((sample.at, deferred, lost)) }
        attempts.removeAll { sample.at.milliseconds(since: $0.at) >= 60_000 }
        func rate(_ counter: KeyPath<Sample, UInt64>) -> Double {
            Self.rounded(Double(grown(counter)) / seconds)
        }
        let latency = sample.latency.since(last.latency)
        if points.count == Self.maxPoints { points.removeFirst() }
        points.append(
            StatsAnswer.Point(
                at: sample.at, accepted: rate(\.accepted), refused: rate(\.refused), busy: rate(\.busy),
                sent: rate(\.sent), rejected: rate(\.rejected), unknown: rate(\.unknown),
                p50: latency?.quantile(0.5).map { Self.rounded($0.milliseconds) },
                p99: latency?.quantile(0.99).map { Self.rounded($0.milliseconds) }, waiting: sample.waiting,
                oldestWaitingMilliseconds: sample.oldestWaitingMilliseconds))
    }

    package var lastMinute: Minute {
        var minute = Minute()
        guard let newest = points.last?.at else { return minute }
        minute.deferred = Double(attempts.reduce(0) { $0 + $1.deferred })
        minute.lostAnswers = Double(attempts.reduce(0) { $0 + $1.lostAnswers })
        let seconds = Double(Self.interval.components.seconds)
        for point in points.reversed() {
            guard newest.milliseconds(since: point.at) < 60_000 else { break }
            minute.sent += point.sent * seconds
            minute.rejected += point.rejected * seconds
            minute.busy += point.busy * seconds
        }
        return minute
    }

    private static func rounded(_ value: Double) -> Double { (value * 100).rounded() / 100 }
}

extension StatsAnswer {
    /// What happened in the two seconds before a moment, as rates a second, and the levels at that moment.
    package struct Point: Codable, Sendable, Equatable {
        package let at: WallTime
        /// Messages of producers.
        package let accepted: Double
        package let refused: Double
        package let busy: Double
        /// Deliveries.
        package let sent: Double
        package let rejected: Double
        package let unknown: Double
        /// Quantiles of the time from acceptance to the answer; left out if nothing was answered.
        package let p50: Double?
        package let p99: Double?
        package let waiting: UInt64
        package let oldestWaitingMilliseconds: Int64

        package enum CodingKeys: String, CodingKey {
            case waiting
            case at = "taken_at"
            case accepted = "accepted_per_s"
            case refused = "refused_per_s"
            case busy = "busy_per_s"
            case sent = "sent_per_s"
            case rejected = "rejected_per_s"
            case unknown = "unknown_per_s"
            case p50 = "p50_ms"
            case p99 = "p99_ms"
            case oldestWaitingMilliseconds = "oldest_waiting_ms"
        }
    }
}
