import PushLoop
import PushModel

/// The answers to a call of ``Ledger/cancel(_:reply:)`` for the apps of a family. Each comes by itself, when the
/// deliveries of its message are counted.
final class CancelReplies: Sendable {
    private struct State {
        var answers: [Cancellation?]
        var missing: Int
    }

    private let state: Locked<State>
    private let reply: @Sendable ([Cancellation]) -> Void

    init(count: Int, reply: @escaping @Sendable ([Cancellation]) -> Void) {
        state = Locked(State(answers: Array(repeating: nil, count: count), missing: count))
        self.reply = reply
    }

    /// Takes the answer to the request at a place. Each place has one.
    func take(_ answer: Cancellation, at place: Int) {
        let all: [Cancellation]? = state.withLock { state in
            guard state.answers[place] == nil else { return nil }
            state.answers[place] = answer
            state.missing -= 1
            return state.missing == 0 ? state.answers.compactMap(\.self) : nil
        }
        if let all { reply(all) }
    }
}
