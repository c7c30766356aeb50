import PushLoop
import PushModel

/// The answers to one call of ``Ledger/accept(_:reply:)`` whose requests went to several nodes. Each place is answered
/// once; any thread may do so.
final class GroupAnswer: Sendable {
    private struct State: Sendable {
        var results: [Acceptance?]
        var missing: Int
    }

    private let state: Locked<State>
    private let reply: @Sendable ([Acceptance]) -> Void

    init(count: Int, reply: @escaping @Sendable ([Acceptance]) -> Void) {
        state = Locked(State(results: Array(repeating: nil, count: count), missing: count))
        self.reply = reply
    }

    /// Takes the answers to the requests at some places. Answers to a place that has one are ignored.
    func take(_ answers: [Acceptance], at places: [Int]) {
        let complete: [Acceptance]? = state.withLock { state in
            var added = 0
            for (answer, place) in zip(answers, places) where state.results[place] == nil {
                state.results[place] = answer
                added += 1
            }
            state.missing -= added
            return added > 0 && state.missing == 0 ? state.results.compactMap(\.self) : nil
        }
        if let complete { reply(complete) }
    }

    func fail(_ reason: String, at places: [Int]) {
        take(Array(repeating: .failed(reason), count: places.count), at: places)
    }
}
