import PushModel
import PushTime

/// A change of the API keys, and the rules by which it is decided. They are the same in all engines.
package struct KeyChange: Sendable {
    var forgotten: Set<APIKeyID> = []
    var updated: [StoredKey] = []
    var added: StoredKey?

    static func adding(_ key: StoredKey, to keys: [StoredKey], at now: WallTime) throws(KeyBookFault) -> KeyChange {
        guard !keys.contains(where: { $0.key.name == key.key.name && $0.key.isValid(at: now) }) else {
            throw KeyBookFault.nameTaken(key.key.name)
        }
        try mustHaveRoom(keys, at: now)
        return KeyChange(forgotten: forgotten(keys, at: now), added: key)
    }

    static func rotating(
        _ name: APIKeyName, until end: WallTime, in keys: [StoredKey], at now: WallTime,
        make: (APIKey) throws -> StoredKey
    ) throws -> KeyChange {
        guard let current = keys.first(where: { $0.key.name == name && $0.key.state(at: now) == .active }) else {
            throw KeyBookFault.unknownName(name)
        }
        try mustHaveRoom(keys, at: now)
        var change = KeyChange(forgotten: forgotten(keys, at: now), added: try make(current.key))
        for var old in keys where old.key.name == name && old.key.isValid(at: now) {
            old.key.rotatedUntil = old.key.id == current.key.id ? end : now
            change.updated.append(old)
        }
        return change
    }

    static func revoking(
        _ name: APIKeyName, in keys: [StoredKey], at now: WallTime
    ) throws(KeyBookFault) -> KeyChange {
        var change = KeyChange(forgotten: forgotten(keys, at: now))
        for var old in keys where old.key.name == name && old.key.isValid(at: now) {
            old.key.revokedAt = now
            change.updated.append(old)
        }
        guard !change.updated.isEmpty else { throw KeyBookFault.unknownName(name) }
        return change
    }

    private static func mustHaveRoom(_ keys: [StoredKey], at now: WallTime) throws(KeyBookFault) {
        let limit = RegistryKeys.maxKeys
        guard keys.count(where: { $0.key.isValid(at: now) }) < limit else { throw .tooMany(limit: limit) }
    }

    /// Returns the keys that ended long ago.
    private static func forgotten(_ keys: [StoredKey], at now: WallTime) -> Set<APIKeyID> {
        let before = now - RegistryKeys.keepsEnded
        return Set(keys.filter { !$0.key.isValid(at: now) && ($0.key.endsAt ?? now) < before }.map(\.key.id))
    }

    /// Returns the keys after the change.
    func applied(to keys: [StoredKey]) -> [StoredKey] {
        var updated: [APIKeyID: StoredKey] = [:]
        for key in self.updated { updated[key.key.id] = key }
        return keys.filter { !forgotten.contains($0.key.id) }.map { updated[$0.key.id] ?? $0 }
            + (added.map { [$0] } ?? [])
    }

    /// Whether keys are as the change left them.
    func isContained(in keys: [StoredKey]) -> Bool {
        let stored = Dictionary(keys.map { ($0.key.id, $0.key) }) { first, _ in first }
        return (updated + (added.map { [$0] } ?? [])).allSatisfy { key in
            let found = stored[key.key.id]
            return found != nil && found?.rotatedUntil == key.key.rotatedUntil && found?.revokedAt == key.key.revokedAt
        }
    }
}
