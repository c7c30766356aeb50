package import PushModel
package import PushTime

/// A book of keys that derives each change from all keys. The rules are those of ``KeyChange``, in all engines.
package protocol ChangingKeyStore: APIKeyStore {
    /// Stores the change that `decide` derives from the keys, and returns it. It is decided anew if the keys change
    /// meanwhile.
    func change(_ decide: ([StoredKey]) throws -> KeyChange) async throws -> KeyChange
}

extension ChangingKeyStore {
    package func add(_ key: StoredKey, at now: WallTime) async throws {
        _ = try await change { try KeyChange.adding(key, to: $0, at: now) }
    }

    package func rotate(
        _ name: APIKeyName, until end: WallTime, at now: WallTime,
        make: @escaping @Sendable (APIKey) throws -> StoredKey
    ) async throws -> StoredKey {
        let change = try await change { try KeyChange.rotating(name, until: end, in: $0, at: now, make: make) }
        guard let key = change.added else { throw KeyBookFault.unknownName(name) }
        return key
    }

    package func revoke(_ name: APIKeyName, at now: WallTime) async throws -> [APIKey] {
        try await change { try KeyChange.revoking(name, in: $0, at: now) }.updated.map(\.key)
    }
}
