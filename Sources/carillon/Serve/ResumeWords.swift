/// The line at a start that says what the run before it left: messages, and deliveries that may arrive twice.
struct ResumeWords: Sendable {
    /// Messages whose time has come.
    let waiting: Int
    /// Messages whose time has not come.
    let scheduled: Int
    /// The mark of that run; nil if it ended in order.
    let remains: RunMark.Remains?

    /// Nil if there is nothing to say.
    var sentence: String? {
        guard let remains else {
            let parts = [
                waiting > 0 ? "\(Self.messages(waiting)) waited for this start" : nil,
                scheduled > 0 ? "\(Self.messages(scheduled)) \(scheduled == 1 ? "has" : "have") a time to come" : nil,
            ].compactMap { $0 }
            return parts.isEmpty ? nil : parts.joined(separator: ", ")
        }
        let end = remains.wasStopped ? "a stop that did not wait for all answers" : "a crash"
        return "recovered \(Self.messages(waiting + scheduled)) after \(end), \(Self.twice(remains.mostInFlight))"
    }

    private static func twice(_ most: Int?) -> String {
        guard let most else { return "an unknown number of deliveries may arrive twice" }
        return most == 0 ? "no delivery arrives twice" : "up to \(deliveries(most)) may arrive twice"
    }

    private static func messages(_ number: Int) -> String { EventWords.count(Int64(number), "message") }

    static func deliveries(_ number: Int) -> String {
        number == 1 ? "1 delivery" : "\(number) deliveries"
    }
}
