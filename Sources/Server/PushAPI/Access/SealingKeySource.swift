import PushLoop
import PushTransport

/// The place of the key with which the secrets of API keys are encrypted: a file in the data directory, or, in a cluster,
/// the database, where all nodes find the same one.
package struct SealingKeySource: Sendable {
    /// The place, as an error names it.
    let name: String
    /// Returns the key; nil if there is none yet.
    let read: @Sendable () async throws -> SealingKey?
    /// Makes a key and returns it when it is durable. If another one was made at the same time, returns that one.
    let create: @Sendable () async throws -> SealingKey

    /// Runs what blocks on the file.
    private static let pool = BlockingPool(name: "keys", threadCount: 1, queueLimit: 64)

    package static func file(_ path: String) -> SealingKeySource {
        SealingKeySource(
            name: path, read: { try await pool.run { try SealingKeyFile.read(path) } },
            create: { try await pool.run { try SealingKeyFile.create(path) } })
    }

    /// - Parameters:
    ///   - name: the place, as an error names it.
    ///   - read: Returns the bytes of the key; nil if there is none yet.
    ///   - keep: Stores the bytes of a key unless there is one, and returns those that are stored.
    package static func stored(
        in name: String, read: @escaping @Sendable () async throws -> [UInt8]?,
        keep: @escaping @Sendable ([UInt8]) async throws -> [UInt8]
    ) -> SealingKeySource {
        @Sendable func key(_ bytes: [UInt8]) throws -> SealingKey {
            guard let key = SealingKey(bytes) else {
                throw KeyRegistrar.Fault(description: "\(name) is damaged: restore it from a backup")
            }
            return key
        }
        return SealingKeySource(
            name: name, read: { try await read().map(key) },
            create: { try await key(keep(SecureRandom.bytes(SealingKey.length))) })
    }
}
