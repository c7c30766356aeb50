import PushModel

/// The answers to one call of ``Ledger/accept(_:reply:)`` whose requests belong to several parts. Confined to the
/// ledger's loop.
final class SplitReply {
    private var results: [Acceptance]
    private var missing: Int
    private let reply: @Sendable ([Acceptance]) -> Void

    init(count: Int, reply: @escaping @Sendable ([Acceptance]) -> Void) {
        results = Array(repeating: .expired, count: count)
        missing = count
        self.reply = reply
    }

    func take(_ answers: ArraySlice<Acceptance>, at places: ArraySlice<Int>) {
        for (answer, place) in zip(answers, places) { results[place] = answer }
        missing -= places.count
        if missing == 0 { reply(results) }
    }
}
