package import PushLoop
package import PushModel
package import PushTime
import PushTransport

/// Makes, rotates and revokes API keys.
///
/// The secret of a key is in no file: `registry.db` has it encrypted with the sealing key in `api.key`, because the
/// secret is the key of HMAC, and for bearer keys also its SHA-256 digest. Either file alone reveals no secret. In a
/// cluster, both are in the database (``SealingKeySource``).
package final class KeyRegistrar: Sendable {
    package static let sealingFileName = "api.key"
    package static let maxOverlap = Duration.seconds(366 * 86_400)

    /// A new key with its secret, which cannot be read again.
    package struct Made: Sendable {
        package let key: APIKey
        /// The 32 bytes in Base64URL.
        package let secret: Secret<String>
    }

    /// A change that cannot be carried out.
    package struct Fault: Error, Sendable, CustomStringConvertible {
        /// The event and the remedy, as a text for operators.
        package let description: String
    }

    private let book: any APIKeyStore
    private let source: SealingKeySource
    private let log: Logger?
    /// Returns the current time.
    let now: @Sendable () -> WallTime
    private let sealing = Locked<SealingKey?>(nil)
    private let observers = Locked<[@Sendable () async -> Void]>([])

    /// Reads the sealing key, if there is one. If it cannot be read, signatures of stored keys cannot be checked; this is
    /// logged, and bearer secrets still work.
    package static func open(
        _ book: any APIKeyStore, directory: String, log: Logger? = nil,
        now: @escaping @Sendable () -> WallTime = { .current() }
    ) async -> KeyRegistrar {
        await open(book, sealing: .file("\(directory)/\(sealingFileName)"), log: log, now: now)
    }

    package static func open(
        _ book: any APIKeyStore, sealing source: SealingKeySource, log: Logger? = nil,
        now: @escaping @Sendable () -> WallTime = { .current() }
    ) async -> KeyRegistrar {
        let registrar = KeyRegistrar(book, source, log: log, now: now)
        do {
            try await registrar.readSealingKey()
        } catch {
            log?.error("API keys cannot check signatures: the sealing key is unusable", [.error: "\(error)"])
        }
        return registrar
    }

    private init(
        _ book: any APIKeyStore, _ source: SealingKeySource, log: Logger?, now: @escaping @Sendable () -> WallTime
    ) {
        self.book = book
        self.source = source
        self.log = log
        self.now = now
        book.whenChangedElsewhere { [weak self] in await self?.changedElsewhere() }
    }

    /// All keys in the order of their creation, including ended ones.
    package var keys: [APIKey] { book.keys.map(\.key) }

    /// The keys of a name that are valid now.
    func valid(_ name: APIKeyName) -> [APIKey] { keys.filter { $0.name == name && $0.isValid(at: now()) } }

    // MARK: Changes

    package func add(_ draft: KeyDraft) async throws -> Made {
        let (sealing, now) = (try await sealingKey(), now())
        let (stored, made) = make(draft, sealing, at: now)
        try await book.add(stored, at: now)
        await changed("API key created", made.key)
        return made
    }

    /// Replaces the key of this name. The earlier secret stays valid for the time of the overlap.
    package func rotate(_ name: APIKeyName, overlap: Duration) async throws -> Made {
        let (sealing, now) = (try await sealingKey(), now())
        let secret = Locked<Made?>(nil)
        _ = try await book.rotate(name, until: now + min(max(.zero, overlap), Self.maxOverlap), at: now) { current in
            let (stored, made) = self.make(KeyDraft(replacing: current), sealing, at: now)
            secret.withLock { $0 = made }
            return stored
        }
        guard let made = secret.withLock({ $0 }) else { throw KeyBookFault.unknownName(name) }
        await changed("API key rotated", made.key)
        return made
    }

    /// Revokes all valid keys of this name. When it returns, their rights have ended everywhere.
    package func revoke(_ name: APIKeyName) async throws -> [APIKey] {
        let revoked = try await book.revoke(name, at: now())
        for key in revoked { log?.notice("API key revoked", [.key: key.id.description, .keyName: key.name.text]) }
        await notify()
        return revoked
    }

    private func changed(_ event: LogMessage, _ key: APIKey) async {
        log?.notice(event, [.key: key.id.description, .keyName: key.name.text, .roles: key.roles.description])
        await notify()
    }

    private func make(_ draft: KeyDraft, _ sealing: SealingKey, at now: WallTime) -> (StoredKey, Made) {
        let taken = Set(keys.map(\.id))
        var id = APIKeyID(random: SecureRandom.bytes(APIKeyID.length))
        while taken.contains(id) { id = APIKeyID(random: SecureRandom.bytes(APIKeyID.length)) }
        let key = APIKey(
            id: id, name: draft.name, roles: draft.roles, apps: draft.apps, from: draft.from, createdAt: now,
            expiresAt: draft.lifetime.map { now + $0 }, allowsBearer: draft.allowsBearer, rate: draft.rate)
        var secret = SecureRandom.bytes(KeySecret.length)
        defer { wipe(&secret) }
        let stored = StoredKey(
            key, bearerDigest: draft.allowsBearer ? SHA256.hash(secret).bytes : [],
            sealedSecret: sealing.seal(secret, for: Self.context(of: id)))
        return (stored, Made(key: key, secret: Secret(Base64URL.encode(secret))))
    }

    /// The text to which a sealed secret is bound, so that a row cannot take the secret of another one.
    static func context(of id: APIKeyID) -> String { "carillon api key \(id)" }

    // MARK: Observers

    /// Adds a function that is called, and waited for, after each change and before the change is answered.
    package func whenChanged(_ observer: @escaping @Sendable () async -> Void) {
        observers.withLock { $0.append(observer) }
    }

    /// Another node has changed the keys. With the first one it has also made the sealing key.
    private func changedElsewhere() async {
        if sealing.withLock({ $0 == nil }) {
            do {
                try await readSealingKey()
            } catch {
                log?.error("API keys cannot check signatures: the sealing key is unusable", [.error: "\(error)"])
            }
        }
        await notify()
    }

    private func notify() async {
        for observer in observers.withLock({ $0 }) { await observer() }
    }

    // MARK: Secrets

    /// Returns the secrets of the valid keys that `known` does not contain, ready for checks.
    func secrets(without known: Set<APIKeyID>, at now: WallTime) -> [APIKeyID: KeySecret] {
        let sealing = sealing.withLock { $0 }
        var secrets: [APIKeyID: KeySecret] = [:]
        for stored in book.keys where stored.key.isValid(at: now) && !known.contains(stored.key.id) {
            let id = stored.key.id
            var secret = sealing.flatMap { try? $0.open(stored.sealedSecret, for: Self.context(of: id)) }
            if secret == nil {
                log?.error(
                    """
                    an API key cannot check signatures: its secret cannot be decrypted; restore \(source.name), \
                    or rotate the key
                    """, [.key: id.description, .keyName: stored.key.name.text])
            }
            secrets[id] = KeySecret(secret, bearerDigest: Digest256(stored.bearerDigest))
            if secret != nil { wipe(&secret!) }
        }
        return secrets
    }

    private func readSealingKey() async throws {
        let key = try await source.read()
        sealing.withLock { $0 = key }
    }

    /// Returns the sealing key, which is created with the first API key.
    private func sealingKey() async throws -> SealingKey {
        if let key = sealing.withLock({ $0 }) { return key }
        try await readSealingKey()
        if let key = sealing.withLock({ $0 }) { return key }
        // A new sealing key would make the loss of the earlier one final.
        let orphans = book.keys.filter { $0.key.isValid(at: now()) }.map(\.key.name.text)
        guard orphans.isEmpty else {
            throw Fault(
                description:
                    "\(source.name) is missing, with which the secrets of the API keys are encrypted; restore it "
                    + "from a backup, or revoke these keys first: "
                    + Set(orphans).sorted().prefix(20).joined(separator: ", "))
        }
        let key = try await source.create()
        sealing.withLock { $0 = key }
        return key
    }
}

extension LogKey {
    static let key = LogKey("key")
    static let keyName = LogKey("key_name")
    static let roles = LogKey("roles")
    static let status = LogKey("status")
}
