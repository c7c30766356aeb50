package import PushTime

/// Keeps a mistake of ours from being taken for a million dead devices.
///
/// A provider that is asked in the wrong environment, or for the wrong topic, calls every token bad: one wrong word in a
/// configuration, and all devices of an app would be deactivated within a broadcast. One of these stands before the
/// deactivations of each app. It looks at the last answers, some 200 of them and none older than an hour, and when
/// suspicion outweighs half of them it stops all deactivations until the answers have been normal for a while. What it
/// drops is not lost: the next push to a dead token is answered as the last one was.
///
/// Suspicion, in quarters of an answer:
/// - `BadDeviceToken` and `DeviceTokenNotForTopic` are 4: they are what every token is told in the wrong environment.
/// - `Unregistered` and `ExpiredToken`, the 410s, are 1. The provider knew the token, in this environment and for this
///   topic, and says since when it is dead, so they do not come from a wrong configuration; a first broadcast to an old
///   list brings many of them, and is right to. By themselves they make a quarter of the answers at most and never stop
///   anything; they do count beside the others.
///
/// The feedback service's lists do not pass here: they are no answers, they come from one environment, and reading them
/// clears them.
///
/// What gets through: less than `fewest` suspicious answers an hour, so that a mistake in an app of a few devices is not
/// seen; and of a flood what came before it outweighed the good answers that are looked at, some half of `answers`, unless
/// it came in one batch. Their devices are active again when they register the next time.
package struct BrakeMachine: Sendable {
    package struct Policy: Sendable, Equatable {
        /// Suspicious answers within the window, below which it is no flood.
        package var fewest = 50
        /// Answers that are looked at.
        package var answers = 200
        /// How long an answer is looked at.
        package var age: Duration = .seconds(3600)
        /// How long the answers must have been normal, before deactivations go on.
        package var calm: Duration = .seconds(600)

        package init() {}
    }

    /// Candidates of one batch.
    package struct Candidates: Sendable, Equatable {
        /// What every token is told in the wrong environment.
        package var misdirected: Int
        /// Known to be dead.
        package var dead: Int

        package init(misdirected: Int = 0, dead: Int = 0) {
            self.misdirected = misdirected
            self.dead = dead
        }

        package var all: Int { misdirected + dead }
        fileprivate var quarters: Int { 4 * misdirected + dead }
    }

    package enum Action: Sendable, Equatable {
        /// Deactivate.
        case pass
        /// Drop the candidates.
        case hold
        /// The same, and raise the alarm: so many of so many answers.
        case trip(candidates: Int, answers: Int)
        /// Deactivate again, and say so.
        case release(candidates: Int, answers: Int)
    }

    /// Answers that came about the same time.
    private struct Bucket {
        var since: MonotonicTime
        var answers = 0
        var candidates = Candidates()

        /// A candidate is an answer, counted or not.
        var size: Int { max(answers, candidates.all) }
    }

    private enum State: Equatable {
        case open
        /// `calm`: since when the answers have been normal without a break, and how many those were.
        case stopped(calm: MonotonicTime?, answers: Int)
    }

    private let policy: Policy
    private var state = State.open
    /// Oldest first; together they hold as many answers as are looked at, and less than one bucket more.
    private var buckets: [Bucket] = []

    package init(_ policy: Policy = Policy()) {
        self.policy = policy
    }

    package var isStopped: Bool { state != .open }

    /// What is looked at: answers, and the candidates among them.
    package var window: (answers: Int, candidates: Candidates) {
        buckets.reduce(into: (0, Candidates())) { sum, bucket in
            sum.0 += bucket.size
            sum.1.misdirected += bucket.candidates.misdirected
            sum.1.dead += bucket.candidates.dead
        }
    }

    /// The provider answered so often, these candidates among them. What one report brought comes as one, or its
    /// answers first: so a batch that makes a flood is stopped as a whole, and a few among many are not taken for one.
    package mutating func answered(
        _ answers: Int, _ candidates: Candidates = Candidates(), now: MonotonicTime
    ) -> Action {
        add(answers, candidates, now)
        let window = window
        switch state {
        case .open:
            let quarters = window.candidates.quarters
            // A half of the answers is two quarters of each.
            guard quarters >= 4 * policy.fewest, quarters > 2 * window.answers else { return .pass }
            state = .stopped(calm: nil, answers: 0)
            return .trip(candidates: window.candidates.all, answers: window.answers)
        case .stopped(let calm, let seen):
            // A quarter of them at most: between that and a half it stays as it is.
            guard window.answers > 0, window.candidates.quarters <= window.answers else {
                state = .stopped(calm: nil, answers: 0)
                return .hold
            }
            let since = calm ?? now
            guard now >= since + policy.calm, seen + answers >= policy.fewest else {
                state = .stopped(calm: since, answers: seen + answers)
                return .hold
            }
            state = .open
            return .release(candidates: window.candidates.all, answers: window.answers)
        }
    }

    private mutating func add(_ answers: Int, _ candidates: Candidates, _ now: MonotonicTime) {
        forget(now)
        // A quarter of the window by number, a sixtieth by time.
        let isFull = buckets.last.map { $0.size * 4 >= policy.answers || now >= $0.since + policy.age / 60 } ?? true
        // Candidates go to their answers, where these came first.
        let belongs = buckets.last.map { answers == 0 && $0.answers > $0.candidates.all } ?? false
        if isFull, !belongs, answers + candidates.all > 0 { buckets.append(Bucket(since: now)) }
        guard !buckets.isEmpty else { return }
        buckets[buckets.count - 1].answers += answers
        buckets[buckets.count - 1].candidates.misdirected += candidates.misdirected
        buckets[buckets.count - 1].candidates.dead += candidates.dead
        forget(now)
    }

    private mutating func forget(_ now: MonotonicTime) {
        var sum = window.answers
        while let first = buckets.first {
            guard sum - first.size >= policy.answers || now >= first.since + policy.age else { return }
            sum -= first.size
            buckets.removeFirst()
        }
    }
}
