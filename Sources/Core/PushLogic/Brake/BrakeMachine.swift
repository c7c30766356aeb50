package import PushTime

/// Prevents a configuration mistake from deactivating all devices of an app.
///
/// If pushes go to the wrong environment or have the wrong topic, the provider calls every token bad. A single wrong
/// word in a configuration would deactivate all devices of an app within one broadcast. Each app has a brake before its
/// deactivations. It keeps about the last 200 answers that are at most an hour old. When suspicion exceeds half of
/// them, the brake stops all deactivations until the answers have been normal for a while. Dropped deactivations are
/// not lost: the next push to a dead token gets the same answer.
///
/// Suspicion is counted in quarters of an answer:
/// - An answer that every token gets in the wrong environment counts 4.
/// - An answer that the token is dead counts 1. The provider knew the token in this environment and for this topic, so
///   a wrong configuration does not cause it. A first broadcast to an old list rightly brings many of them. By
///   themselves they reach a quarter of the answers at most and never stop anything, but they count in addition to the
///   others. The ``ReasonTable`` of the service says which answer is which.
///
/// The lists of the feedback service do not pass the brake: they are not answers, they come from one environment, and
/// reading them clears them.
///
/// The brake lets pass fewer than `minSuspicious` suspicious answers an hour, so it does not notice a mistake in an app of a
/// few devices. Of a flood it lets pass what comes before suspicion outweighs the good answers in the window, about
/// half of `answers`, unless the flood comes in one batch. These devices become active again when they register the
/// next time.
package struct BrakeMachine: Sendable {
    package struct Policy: Sendable, Equatable {
        /// The minimum number of suspicious answers in the window that stops deactivations.
        package var minSuspicious = 50
        /// The number of answers in the window.
        package var answers = 200
        /// The time that an answer remains in the window.
        package var age: Duration = .seconds(3600)
        /// The time for which the answers must have been normal before deactivations resume.
        package var calm: Duration = .seconds(600)

        package init() {}
    }

    /// The candidates for deactivation in one batch.
    package struct Candidates: Sendable, Equatable {
        /// Tokens with an answer that every token gets in the wrong environment.
        package var misdirected: Int
        /// Tokens that the provider knows to be dead.
        package var dead: Int

        package init(misdirected: Int = 0, dead: Int = 0) {
            self.misdirected = misdirected
            self.dead = dead
        }

        package var all: Int { misdirected + dead }
        fileprivate var quarters: Int { 4 * misdirected + dead }
    }

    package enum Action: Sendable, Equatable {
        /// Deactivate the candidates.
        case pass
        /// Drop the candidates.
        case hold
        /// Drop the candidates and raise the alarm, with the number of candidates among the answers.
        case trip(candidates: Int, answers: Int)
        /// Deactivate again and report it.
        case release(candidates: Int, answers: Int)
    }

    /// Answers that came at about the same time.
    private struct Bucket {
        var since: MonotonicTime
        var answers = 0
        var candidates = Candidates()

        /// A candidate counts as an answer even if its answer was not counted.
        var size: Int { max(answers, candidates.all) }
    }

    private enum State: Equatable {
        case open
        /// `calm` is the time since which the answers have been normal without a break, and `answers` their number.
        case stopped(calm: MonotonicTime?, answers: Int)
    }

    private let policy: Policy
    private var state = State.open
    /// The buckets, oldest first. Together they hold the answers of the window and less than one bucket more.
    private var buckets: [Bucket] = []

    package init(_ policy: Policy = Policy()) {
        self.policy = policy
    }

    package var isStopped: Bool { state != .open }

    /// The number of answers in the window, and the candidates among them.
    package var window: (answers: Int, candidates: Candidates) {
        buckets.reduce(into: (0, Candidates())) { sum, bucket in
            sum.0 += bucket.size
            sum.1.misdirected += bucket.candidates.misdirected
            sum.1.dead += bucket.candidates.dead
        }
    }

    /// Releases the brake for an operator. The answers so far no longer count, so that they do not trip it again.
    package mutating func release() {
        state = .open
        buckets = []
    }

    /// Stops deactivations because another node of the cluster has noticed a flood.
    package mutating func stop() {
        if state == .open { state = .stopped(calm: nil, answers: 0) }
    }

    /// Takes the answers of the provider and the candidates among them. The answers of one report come together or
    /// before its candidates. Thus a batch that makes a flood is stopped as a whole, and a few candidates among many
    /// answers are not taken for a flood.
    package mutating func answered(
        _ answers: Int, candidates: Candidates = Candidates(), now: MonotonicTime
    ) -> Action {
        add(answers, candidates: candidates, now: now)
        let window = window
        switch state {
        case .open:
            let quarters = window.candidates.quarters
            // Half of the answers is two quarters for each.
            guard quarters >= 4 * policy.minSuspicious, quarters > 2 * window.answers else { return .pass }
            state = .stopped(calm: nil, answers: 0)
            return .trip(candidates: window.candidates.all, answers: window.answers)
        case .stopped(let calm, let seen):
            // Answers are normal if suspicion is at most a quarter of them. Between a quarter and a half the state does
            // not change.
            guard window.answers > 0, window.candidates.quarters <= window.answers else {
                state = .stopped(calm: nil, answers: 0)
                return .hold
            }
            let since = calm ?? now
            guard now >= since + policy.calm, seen + answers >= policy.minSuspicious else {
                state = .stopped(calm: since, answers: seen + answers)
                return .hold
            }
            state = .open
            return .release(candidates: window.candidates.all, answers: window.answers)
        }
    }

    private mutating func add(_ answers: Int, candidates: Candidates, now: MonotonicTime) {
        forget(at: now)
        // A bucket is full with a quarter of the answers of the window or after a sixtieth of its age.
        let isFull = buckets.last.map { $0.size * 4 >= policy.answers || now >= $0.since + policy.age / 60 } ?? true
        // Candidates go to the bucket of their answers if these came first.
        let belongs = buckets.last.map { answers == 0 && $0.answers > $0.candidates.all } ?? false
        if isFull, !belongs, answers + candidates.all > 0 { buckets.append(Bucket(since: now)) }
        guard !buckets.isEmpty else { return }
        buckets[buckets.count - 1].answers += answers
        buckets[buckets.count - 1].candidates.misdirected += candidates.misdirected
        buckets[buckets.count - 1].candidates.dead += candidates.dead
        forget(at: now)
    }

    private mutating func forget(at now: MonotonicTime) {
        var sum = window.answers
        while let first = buckets.first {
            guard sum - first.size >= policy.answers || now >= first.since + policy.age else { return }
            sum -= first.size
            buckets.removeFirst()
        }
    }
}
