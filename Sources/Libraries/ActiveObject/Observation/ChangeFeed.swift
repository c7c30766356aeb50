import PushThread

/// The observers of a database. The writer publishes each commit here.
final class ChangeFeed: Sendable {
    /// The tables whose changes are recorded, by their names in lower case.
    enum Scope: Equatable {
        case nothing
        case tables(Set<String>)
        case everything

        func covers(_ table: String) -> Bool {
            switch self {
            case .nothing: false
            case .tables(let names): names.contains(table)
            case .everything: true
            }
        }
    }

    /// The changes of one transaction in the recorded tables.
    struct Commit {
        let scope: Scope
        let changes: [String: ChangeSet]
    }

    private struct Observer {
        /// The table that is observed; nil for all tables.
        let table: String?
        let receive: @Sendable (Commit) -> Void
        let end: @Sendable () -> Void
    }

    private struct State {
        var observers: [UInt64: Observer] = [:]
        var lastNumber: UInt64 = 0
        var hasFinished = false
    }

    /// The maximum number of keys that wait for one observer, and of changes that are recorded in one transaction.
    static let keyLimit = 100_000

    private let state = Locked(State())

    /// The tables that must be recorded so that every observer gets what it asked for.
    var scope: Scope {
        state.withLock { state in
            if state.observers.isEmpty { return .nothing }
            var tables: Set<String> = []
            for observer in state.observers.values {
                guard let table = observer.table else { return .everything }
                tables.insert(table)
            }
            return .tables(tables)
        }
    }

    /// Sends a commit to all observers. It never waits, because each observer has a buffer.
    func publish(_ commit: Commit) {
        let observers = state.withLock { Array($0.observers.values) }
        for observer in observers { observer.receive(commit) }
    }

    /// Ends all observers. Later observers end at once.
    func finish() {
        let observers = state.withLock { state in
            state.hasFinished = true
            defer { state.observers = [:] }
            return Array(state.observers.values)
        }
        for observer in observers { observer.end() }
    }

    func remove(_ number: UInt64) {
        _ = state.withLock { $0.observers.removeValue(forKey: number) }
    }

    func changes(ofTable name: String, buffering limit: Int) -> Changes<ChangeSet> {
        let table = name.lowercased()
        return changes(of: table, buffering: limit) { commit in
            guard commit.scope.covers(table) else { return .unknown }
            return commit.changes.first { $0.key.lowercased() == table }?.value
        }
    }

    func changes(buffering limit: Int) -> Changes<DatabaseChanges> {
        changes(of: nil, buffering: limit) { commit in
            guard commit.scope == .everything else { return .unknown }
            return commit.changes.isEmpty ? nil : DatabaseChanges(commit.changes)
        }
    }

    private func changes<Element: ObservedChange>(
        of table: String?, buffering limit: Int, part: @escaping @Sendable (Commit) -> Element?
    ) -> Changes<Element> {
        let buffer = ChangeBuffer<Element>(limit: limit, keyLimit: Self.keyLimit)
        let observer = Observer(
            table: table, receive: { commit in if let part = part(commit) { buffer.send(part) } },
            end: buffer.end)
        let (number, hasFinished) = state.withLock { state in
            state.lastNumber += 1
            if !state.hasFinished { state.observers[state.lastNumber] = observer }
            return (state.lastNumber, state.hasFinished)
        }
        if hasFinished { buffer.end() }
        return Changes(subscription: Subscription(feed: self, number: number), buffer: buffer)
    }
}
