import PushModel

/// The event of a change of a brake, as a row that exists until the event is published.
///
/// The row is stored with the change, and removed with the event. So a node that dies between the two loses nothing,
/// and no event is published twice.
struct BrakeEvent: Hashable {
    let app: AppID
    let isOn: Bool
    /// The generation that the change began in. Each brake is set and released once in it.
    let generation: Int64
    let candidates: Int64
    let answers: Int64

    /// The column that tells the rows of one app apart.
    var name: String { "\(generation) \(isOn ? "on" : "off")" }

    var numbers: [Int64] { [isOn ? 1 : 0, candidates, answers] }

    init(of decision: BrakeDecision) {
        (app, isOn, generation) = (decision.app, decision.isOn, decision.generation)
        (candidates, answers) = (Int64(clamping: decision.candidates), Int64(clamping: decision.answers))
    }

    /// Returns nil if this version does not understand the row.
    init?(_ app: AppID, name: String, generation: Int64, numbers: [Int64]) {
        guard numbers.count == 3 else { return nil }
        (self.app, self.generation) = (app, generation)
        (isOn, candidates, answers) = (numbers[0] == 1, numbers[1], numbers[2])
        if self.name != name { return nil }
    }

    /// The event for monitors.
    var draft: EventDraft {
        .brake(isOn ? "on" : "off", of: app, candidates: candidates, answers: answers)
    }

    /// Whether the change came before another one of the same app.
    func precedes(_ other: BrakeEvent) -> Bool {
        generation == other.generation ? isOn && !other.isOn : generation < other.generation
    }
}
