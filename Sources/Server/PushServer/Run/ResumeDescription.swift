/// The log line at a start about the end of the last run: waiting messages, and deliveries that may arrive twice.
struct ResumeDescription: Sendable {
    /// The number of messages that are due.
    let waiting: Int
    /// The number of messages whose `not_before` is ahead.
    let scheduled: Int
    /// The end of the last run; nil if that run ended in order.
    let uncleanEnd: RunRecord.UncleanEnd?

    /// The line; nil if there is nothing to say.
    var sentence: String? {
        guard let uncleanEnd else {
            let parts = [
                waiting > 0 ? "\(Self.messages(waiting)) waiting" : nil,
                scheduled > 0 ? "\(Self.messages(scheduled)) scheduled" : nil,
            ].compactMap { $0 }
            return parts.isEmpty ? nil : parts.joined(separator: ", ")
        }
        let end = uncleanEnd.wasStopped ? "a stop that did not wait for all answers" : "a crash"
        // What was in flight belongs to a message that waits.
        if waiting == 0 {
            let kept = scheduled > 0 ? ", \(Self.messages(scheduled)) scheduled" : ""
            return "recovered after \(end)\(kept): no message was waiting, so no delivery arrives twice"
        }
        return "recovered \(Self.messages(waiting + scheduled)) after \(end), \(Self.twice(uncleanEnd.maxInFlight))"
    }

    private static func twice(_ most: Int?) -> String {
        guard let most else { return "an unknown number of deliveries may arrive twice" }
        return most == 0 ? "no delivery arrives twice" : "up to \(deliveries(most)) may arrive twice"
    }

    private static func messages(_ number: Int) -> String { number == 1 ? "1 message" : "\(number) messages" }

    static func deliveries(_ number: Int) -> String {
        number == 1 ? "1 delivery" : "\(number) deliveries"
    }
}
