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

/// The answers of several parts to a call to cancel. They are joined, as those for the members of a family are.
final class PartCancels: Sendable {
    private let state: Locked<(answers: [[Cancellation]], missing: Int)>
    private let reply: @Sendable ([Cancellation]) -> Void

    init(_ count: Int, parts: Int, reply: @escaping @Sendable ([Cancellation]) -> Void) {
        state = Locked((Array(repeating: [], count: count), parts))
        self.reply = reply
    }

    /// Takes the answers of one part, in the order of the requests.
    func take(_ answers: [Cancellation]) {
        let all: [[Cancellation]]? = state.withLock { state in
            for (place, answer) in answers.enumerated() { state.answers[place].append(answer) }
            state.missing -= 1
            return state.missing == 0 ? state.answers : nil
        }
        if let all { reply(all.map { Cancellation(of: $0) }) }
    }
}
