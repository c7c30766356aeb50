package import PushTime

/// Decides when the feedback service is asked, and when what it said is offered to its sink again (PROTOCOLS B3).
///
/// While tuples wait in the spool nobody asks for more: reading clears the list on the server, where it is safer.
package struct FeedbackMachine: Sendable {
    package struct Options: Sendable, Equatable {
        /// From poll to poll. Default a day.
        package var interval: Duration = .seconds(86_400)
        /// The first poll is up to this much after the start, so that many gateways do not poll at once. Default 60 s.
        package var jitter: Duration = .seconds(60)
        /// After polls that failed.
        package var pollBackoff = Backoff(first: .seconds(60), longest: .seconds(3600))
        /// After a sink that failed.
        package var sinkBackoff = Backoff(first: .seconds(1), longest: .seconds(300))

        package init() {}
    }

    package enum Step: Sendable, Equatable {
        case poll
        /// Hands the spool to the sink.
        case replay
    }

    private let options: Options
    private var nextPoll: MonotonicTime
    private var nextReplay: MonotonicTime?
    /// In a row.
    package private(set) var failedPolls = 0
    package private(set) var failedReplays = 0

    /// `random` in 0..<1. The spool is looked at first: the last run may have left something in it.
    package init(_ options: Options = Options(), now: MonotonicTime, random: Double) {
        self.options = options
        nextPoll = now + options.jitter * random
        nextReplay = now
    }

    package var next: (step: Step, at: MonotonicTime) {
        if let nextReplay { (.replay, nextReplay) } else { (.poll, nextPoll) }
    }

    /// `random` in 0..<1. `isBehind`: the sink did not take all that the poll brought.
    package mutating func pollEnded(failed: Bool, isBehind: Bool, now: MonotonicTime, random: Double) {
        failedPolls = failed ? failedPolls + 1 : 0
        nextPoll =
            now + (failed ? options.pollBackoff.delay(afterFailures: failedPolls, random: random) : options.interval)
        if isBehind { replayFailed(now: now, random: random) }
    }

    package mutating func replayed() {
        failedReplays = 0
        nextReplay = nil
    }

    package mutating func replayFailed(now: MonotonicTime, random: Double) {
        failedReplays += 1
        nextReplay = now + options.sinkBackoff.delay(afterFailures: failedReplays, random: random)
    }

    /// Somebody wants to know now.
    package mutating func pollRequested(now: MonotonicTime) {
        nextPoll = min(nextPoll, now)
    }
}
