package import PushLogic
package import PushTime

/// Decides when the feedback service is polled, and when spooled tuples are offered to their sink again
/// (`Documentation/Protocols.md`, "The feedback service").
///
/// While tuples wait in the spool there is no poll: reading clears the list on the server, where it is safer.
package struct FeedbackMachine: Sendable {
    package struct Options: Sendable, Equatable {
        /// The time between two polls. The default is a day.
        package var interval: Duration = .seconds(86_400)
        /// The longest random delay of the first poll, so that many gateways do not poll at once. The default is 60 s.
        package var jitter: Duration = .seconds(60)
        /// The delay after polls that failed.
        package var pollBackoff = Backoff(first: .seconds(60), maxDelay: .seconds(3600))
        /// The delay after attempts of the sink that failed.
        package var sinkBackoff = Backoff(first: .seconds(1), maxDelay: .seconds(300))

        package init() {}
    }

    package enum Step: Sendable, Equatable {
        case poll
        /// Pass the spool to the sink.
        case replay
    }

    private let options: Options
    private var nextPoll: MonotonicTime
    private var nextReplay: MonotonicTime?
    /// The number of failures in a row.
    package private(set) var failedPolls = 0
    package private(set) var failedReplays = 0

    /// Creates the machine. `random` is in 0..<1. The spool is replayed first, because the last run may have left
    /// tuples in it.
    package init(_ options: Options = Options(), now: MonotonicTime, random: Double) {
        self.options = options
        nextPoll = now + options.jitter * random
        nextReplay = now
    }

    package var next: (step: Step, at: MonotonicTime) {
        if let nextReplay { (.replay, nextReplay) } else { (.poll, nextPoll) }
    }

    /// Takes the end of a poll. `random` is in 0..<1. `isBehind` is true if the sink did not take everything that the
    /// poll brought.
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
}
