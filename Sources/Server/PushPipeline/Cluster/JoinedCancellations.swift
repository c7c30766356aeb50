import PushLoop
import PushModel

/// The answers of several parts to one call of ``Ledger/cancel(_:reply:)``.
final class JoinedCancellations: Sendable {
    private struct State {
        var answers: [Cancellation]
        var missing: Int
    }

    private let state: Locked<State>
    private let reply: @Sendable ([Cancellation]) -> Void

    /// - Parameters:
    ///   - answers: The answers of the part of the id.
    ///   - calls: The number of calls whose answers follow. There is at least one, because a ledger has several parts.
    init(_ answers: [Cancellation], calls: Int, reply: @escaping @Sendable ([Cancellation]) -> Void) {
        state = Locked(State(answers: answers, missing: calls))
        self.reply = reply
    }

    /// Takes the answers of other parts, in the order of the requests.
    func take(_ others: [Cancellation]) {
        let all: [Cancellation]? = state.withLock { state in
            for (place, other) in others.enumerated() where place < state.answers.count {
                state.answers[place] = Cancellation(of: [state.answers[place], other])
            }
            state.missing -= 1
            return state.missing == 0 ? state.answers : nil
        }
        if let all { reply(all) }
    }
}

extension Cancellation {
    var isFailure: Bool { if case .failed = self { true } else { false } }
}
