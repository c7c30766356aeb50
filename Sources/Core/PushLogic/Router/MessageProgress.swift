import PushModel
import PushTime

/// How far a message in memory is: the answer to the question why it has not gone out.
package struct MessageProgress: Sendable, Equatable {
    /// Whether the search for its devices has begun.
    package var hasBegun = false
    /// The deliveries at the gateway, and the time at which the oldest of them was given to it.
    package var unanswered = AppWaits.Wait(count: 0, oldest: nil)
    /// The deliveries that wait for another attempt.
    package var retrying = 0
    /// The first of these attempts.
    package var nextAttempt: Attempt?
    /// Why its devices cannot be looked up.
    package var trouble: String?

    package init() {}

    package struct Attempt: Sendable, Equatable {
        package var number: Int
        /// The time until it is due.
        package var after: Duration

        package init(number: Int, after: Duration) {
            (self.number, self.after) = (number, after)
        }
    }
}

extension RouterMachine {
    /// Returns how far the message with this number is; nil if it is not in memory. It looks at all messages and
    /// deliveries in memory, which are bounded, as a cancellation does.
    package func progress(of seq: UInt64) -> MessageProgress? {
        guard let message = messages.handles(where: { $0.accepted.seq == seq }).first else { return nil }
        var progress = MessageProgress()
        let fanOut = messages[message].fanOut
        progress.hasBegun = fanOut != nil || messages[message].open > 0
        progress.trouble = fanOut?.pageQuery?.retry?.text
        guard messages[message].open > 0 else { return progress }
        var (out, oldest) = (0, WallTime?.none)
        deliveries.forEach { _, delivery in
            guard delivery.message == message else { return }
            if delivery.isOut {
                out += 1
                oldest = min(oldest ?? delivery.givenAt, delivery.givenAt)
            } else {
                progress.retrying += 1
            }
        }
        progress.unanswered = AppWaits.Wait(count: out, oldest: oldest)
        if progress.retrying > 0, let next = retries.first(where: { deliveries[$0.handle].message == message }) {
            progress.nextAttempt = MessageProgress.Attempt(
                number: Int(next.delivery.attempt) + 1, after: max(.zero, next.at - now))
        }
        return progress
    }
}
