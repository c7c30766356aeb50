import PushLoop
package import PushModel
import PushPostgreSQL

/// The API keys of a cluster. Each node has all of them in memory, and looks every second whether another node has
/// changed them: a key that was revoked ends on all nodes within two seconds.
package final class PostgreSQLKeys: ChangingKeyStore {
    private struct State {
        var keys: [StoredKey] = []
        /// The number of the change that led to these keys.
        var version: Int64 = 0
        var observer: (@Sendable () async -> Void)?
    }

    private static let patience: Duration = .seconds(15)
    private let sessions: RegistrySessions
    private let turn = WriteTurn(limit: 64)
    private let state = Locked(State())

    package var keys: [StoredKey] { state.withLock { $0.keys } }

    init(_ sessions: RegistrySessions) async throws {
        self.sessions = sessions
        let (version, keys) = try await read()
        state.withLock { state in
            state.version = version
            state.keys = keys
        }
    }

    package func whenChangedElsewhere(_ observer: @escaping @Sendable () async -> Void) {
        state.withLock { $0.observer = observer }
    }

    /// Reads the keys, after the number of their last change: if they are changed in between, they are newer than the
    /// number, and are read again.
    private func read() async throws -> (version: Int64, keys: [StoredKey]) {
        let results = try await sessions.read { section in
            section.call(KeyStatements.version)
            section.call(KeyStatements.keys)
        }
        guard results.count == 2 else { throw sessions.failure("the answer has \(results.count) results; expected 2") }
        let keys = try results[1].rows.map { try APIKeyRow($0).stored() }
        return (try results[0].row().value(0), keys)
    }

    /// Reads the keys if another node has changed them.
    func follow() async throws {
        let observer: (@Sendable () async -> Void)? = try await turn.take {
            let results = try await sessions.read { $0.call(KeyStatements.version) }
            let version: Int64 = try results[0].row().value(0)
            guard version != state.withLock({ $0.version }) else { return nil }
            return try await reread()
        }
        await observer?()
    }

    /// The caller has the turn. Returns the observer of the change.
    private func reread() async throws -> (@Sendable () async -> Void)? {
        let (version, keys) = try await read()
        return state.withLock { state in
            state.version = version
            state.keys = keys
            return state.observer
        }
    }

    // MARK: Changes

    /// Writes a change that `decide` derives from the keys, and then changes memory. If another node has changed the
    /// keys in between, it is decided anew.
    package func change(_ decide: ([StoredKey]) throws -> KeyChange) async throws -> KeyChange {
        try turn.mustHaveRoom()
        return try await turn.take {
            let deadline = RegistrySessions.now + Self.patience
            var mine = Int64.random(in: 1 ... .max)
            var (before, version) = state.withLock { ($0.keys, $0.version) }
            var change = try decide(before)
            // Whether an earlier attempt may have been carried out. Then the same change is sent once more.
            var isDoubtful = false
            while true {
                let reason: String
                switch await write(change, from: version, to: mine) {
                case .done(let results):
                    if results.first?.rowCount == 1 {
                        state.withLock { state in
                            state.keys = change.applied(to: before)
                            state.version = mine
                        }
                        return change
                    }
                    (version, before) = try await read()
                    state.withLock { [version, before] in ($0.version, $0.keys) = (version, before) }
                    // Another node has changed the keys. An earlier attempt of this change may have come before. It is
                    // then written once more, because a commit that is visible need not be on the standby yet.
                    if !isDoubtful || !change.isContained(in: before) { change = try decide(before) }
                    isDoubtful = false
                    mine = .random(in: 1 ... .max)
                    reason = "other nodes change the keys"
                case .unknown(let text):
                    isDoubtful = true
                    reason = text
                case .notSent(let text): reason = text
                case .refused(let failure):
                    guard failure.sqlState.mayPassForRegistry else { throw sessions.failure("\(failure)") }
                    reason = "\(failure)"
                }
                guard RegistrySessions.now < deadline else {
                    throw RegistryError(
                        .unavailable,
                        "the database did not confirm the change of API keys, which may have been carried out: "
                            + "\(reason); list the keys, and repeat it")
                }
                await sessions.pause(.milliseconds(50))
            }
        }
    }

    private func write(_ change: KeyChange, from before: Int64, to version: Int64) async -> PostgreSQLReply {
        await sessions.write(within: .seconds(10)) { section in
            section.call(KeyStatements.begin) { parameters in
                parameters.append(int8: before)
                parameters.append(int8: version)
            }
            if !change.forgotten.isEmpty {
                section.call(KeyStatements.remove) { parameters in
                    parameters.append(textArray: change.forgotten.map(\.description))
                    parameters.append(int8: version)
                }
            }
            for key in change.updated + (change.added.map { [$0] } ?? []) {
                section.call(KeyStatements.store) { parameters in
                    APIKeyRow(key).append(to: &parameters)
                    parameters.append(int8: version)
                }
            }
        }
    }

    // MARK: The sealing key

    /// Returns the key that encrypts the secrets of API keys; nil if there is none yet.
    package func sealingKey() async throws -> [UInt8]? {
        try await sessions.read { $0.call(KeyStatements.sealing) }[0].row().optional(0)
    }

    /// Stores the key that encrypts the secrets of API keys, and returns it; or the one that another node has stored.
    package func keep(sealingKey key: [UInt8]) async throws -> [UInt8] {
        let deadline = RegistrySessions.now + Self.patience
        while true {
            // To store it twice is to store it once.
            let reply = await sessions.write(within: .seconds(10)) { section in
                section.call(KeyStatements.keepSealing) { $0.append(bytea: key) }
            }
            do {
                return try sessions.check(reply)[0].row().value(0)
            } catch let error as RegistryError where error.code == .unavailable {
                if RegistrySessions.now >= deadline { throw error }
                await sessions.pause(.milliseconds(50))
            }
        }
    }
}
