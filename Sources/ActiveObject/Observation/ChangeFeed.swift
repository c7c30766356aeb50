import PushThread

/// Who observes a database, and where what the writer commits is handed on.
final class ChangeFeed: Sendable {
    /// Of which tables note is taken, by their names in lower case.
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

    /// What one transaction did, to the tables of which note was taken.
    struct Commit {
        let scope: Scope
        let changes: [String: ChangeSet]
    }

    private struct Observer {
        /// Nil: all tables.
        let table: String?
        let receive: @Sendable (Commit) -> Void
        let end: @Sendable () -> Void
    }

    private struct State {
        var observers: [UInt64: Observer] = [:]
        var lastNumber: UInt64 = 0
        var hasFinished = false
    }

    /// Keys that wait for one observer, and changes that one transaction keeps.
    static let keyLimit = 100_000

    private let state = Locked(State())

    /// What has to be noted down so that every observer learns what it asked for.
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

    /// Does not wait for observers: each has a buffer.
    func publish(_ commit: Commit) {
        let observers = state.withLock { Array($0.observers.values) }
        for observer in observers { observer.receive(commit) }
    }

    /// Every observer ends, and every later one at once.
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
        of table: String?, buffering limit: Int, _ part: @escaping @Sendable (Commit) -> Element?
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
