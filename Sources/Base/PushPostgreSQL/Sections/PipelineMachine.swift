import PushTime

/// The order of sections and answers on one connection: it assigns each answer to its section, and decides the outcome
/// of each.
///
/// libpq delivers one answer for each call, in order, and one at the end of a section. The generic result allows tests
/// without a server.
struct PipelineMachine<Result> {
    enum Kind: Equatable {
        /// A section of the owner.
        case section
        /// A statement that is prepared in a section of its own, so that no failure of another statement affects it.
        case preparation(Int)
    }

    enum Answer {
        case result(Result)
        case failed(PostgreSQLFailure)
        /// The server skipped a call because an earlier one of the section failed.
        case skipped
        /// The end of a section.
        case synchronized
    }

    enum Outcome {
        case done([Result])
        case refused(PostgreSQLFailure)
        case unknown(String)
    }

    enum Action {
        /// More answers of the section must come.
        case wait
        case end(Kind, Outcome)
        /// The server breaks the protocol: the connection cannot be used any more.
        case disconnect(String)
    }

    private struct Entry {
        let kind: Kind
        let statements: [Int]
        let byteCount: Int
        let deadline: MonotonicTime
        var left: Int
        var results: [Result] = []
        var failure: PostgreSQLFailure?
        var doubt: String?
    }

    /// The sections in flight. Their number is bounded by the connection.
    private var entries: [Entry] = []
    /// The errors of statements whose preparation failed. Sections behind it fail because the statement is unknown,
    /// which is not the reason that their owner must see.
    private var failedPreparations: [Int: PostgreSQLFailure] = [:]
    private(set) var sectionCount = 0
    private(set) var byteCount = 0

    /// Whether answers must come.
    var isWaiting: Bool { !entries.isEmpty }

    /// The earliest deadline of all sections in flight.
    var deadline: MonotonicTime? { entries.lazy.map(\.deadline).min() }

    mutating func sent(
        _ kind: Kind, calls: Int, statements: [Int], byteCount: Int, deadline: MonotonicTime
    ) {
        if kind == .section {
            sectionCount += 1
        } else {
            for statement in statements { failedPreparations[statement] = nil }
        }
        self.byteCount += byteCount
        entries.append(
            Entry(kind: kind, statements: statements, byteCount: byteCount, deadline: deadline, left: calls))
    }

    /// Notes a warning that the server sent with the answers of the first section in flight.
    mutating func doubted(_ warning: String) {
        guard !entries.isEmpty else { return }
        entries[0].doubt = warning
    }

    mutating func received(_ answer: Answer) -> Action {
        guard let first = entries.first else {
            return .disconnect("the server sent an answer without a question")
        }
        switch answer {
        case .result(let result):
            guard first.left > 0 else { return .disconnect("the server sent more results than statements ran") }
            entries[0].left -= 1
            entries[0].results.append(result)
        case .failed(let failure):
            // An error after the last call is one of the commit, and may come after it.
            if first.left > 0 || failure.undoesCommit {
                entries[0].failure = first.failure ?? failure
            } else {
                entries[0].doubt = failure.description
            }
            entries[0].left = max(0, first.left - 1)
        case .skipped:
            guard first.left > 0, first.failure != nil else {
                return .disconnect("the server skipped a statement without an error")
            }
            entries[0].left -= 1
        case .synchronized:
            guard first.left == 0 else { return .disconnect("the server ended a section before its last statement") }
            remove()
            return .end(first.kind, outcome(of: first))
        }
        return .wait
    }

    /// Ends all sections in flight. Those that the server has already refused did not happen; the fate of the others is
    /// unknown.
    mutating func lost(_ reason: String) -> [(kind: Kind, outcome: Outcome)] {
        let outcomes = entries.map { entry in
            (kind: entry.kind, outcome: entry.failure.map { Outcome.refused($0) } ?? .unknown(reason))
        }
        entries = []
        sectionCount = 0
        byteCount = 0
        return outcomes
    }

    private mutating func remove() {
        let entry = entries.removeFirst()
        byteCount -= entry.byteCount
        if entry.kind == .section { sectionCount -= 1 }
    }

    private mutating func outcome(of entry: Entry) -> Outcome {
        if let failure = entry.failure {
            if case .preparation(let statement) = entry.kind { failedPreparations[statement] = failure }
            guard failure.sqlState == .unknownStatement, entry.kind == .section else { return .refused(failure) }
            let causes = entry.statements.compactMap { failedPreparations[$0] }
            return .refused(causes.first ?? failure)
        }
        if let doubt = entry.doubt { return .unknown(doubt) }
        return .done(entry.results)
    }
}
