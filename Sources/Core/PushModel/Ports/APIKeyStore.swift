package import PushTime

/// The store of API keys.
package protocol APIKeyStore: AnyObject, Sendable {
    /// All keys in the order of their creation, including ended ones that are not forgotten yet. They are in memory.
    var keys: [StoredKey] { get }

    /// Adds a key. Returns after it is on disk.
    ///
    /// - Throws: ``KeyBookFault`` if the name belongs to a valid key or there are too many keys.
    func add(_ key: StoredKey, at now: WallTime) async throws

    /// Replaces the valid key with the name of `key`, which stays valid until the end of the overlap or its own end. A
    /// key that is still in an earlier overlap ends at once. `make` returns the new key. Returns after both are on disk.
    func rotate(
        _ name: APIKeyName, until end: WallTime, at now: WallTime,
        make: @escaping @Sendable (APIKey) throws -> StoredKey
    ) async throws -> StoredKey

    /// Revokes all valid keys of this name and returns them. Returns after that is on disk.
    func revoke(_ name: APIKeyName, at now: WallTime) async throws -> [APIKey]

    /// Sets the function that is called after another node has changed the keys.
    func whenChangedElsewhere(_ observer: @escaping @Sendable () async -> Void)
}

extension APIKeyStore {
    /// Keys in a file are changed by this process alone.
    package func whenChangedElsewhere(_ observer: @escaping @Sendable () async -> Void) {}
}

/// The reason why a change of the keys is refused.
package enum KeyBookFault: Error, Sendable, Equatable, CustomStringConvertible {
    case nameTaken(APIKeyName)
    case unknownName(APIKeyName)
    case tooMany(limit: Int)

    package var description: String {
        switch self {
        case .nameTaken(let name):
            "there is already a key \"\(name)\"; choose another name, or rotate or revoke that key"
        case .unknownName(let name):
            "there is no valid key \"\(name)\"; 'carillon keys api list' lists the keys"
        case .tooMany(let limit):
            "there are already \(limit) keys, which is the limit; revoke those that are not used"
        }
    }
}
