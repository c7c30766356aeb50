import ActiveObject
import PushModel
import PushTime

/// An API key as stored in `registry.db`. Neither blob reveals the secret without the sealing key in another file.
struct APIKeyRow: ActiveRecord {
    var objectId: Int64?
    var keyId: String
    var name: String
    /// The bits of the ``RoleSet``.
    var roles: Int
    /// App ids that are separated by spaces; nil for all apps.
    var apps: String?
    /// Address ranges that are separated by spaces; empty for all addresses.
    var addresses: String
    var createdAt: WallTime
    var expiresAt: WallTime?
    var allowsBearer: Bool
    var rate: Int?
    var rotatedUntil: WallTime?
    var revokedAt: WallTime?
    var bearerDigest: KeyBytes
    var sealedSecret: KeyBytes

    static var columns: [Column<APIKeyRow>] {
        [Column(\.bearerDigest, isPrivate: true), Column(\.sealedSecret, isPrivate: true)]
    }

    static var indexes: [Index<APIKeyRow>] { [.unique(\.keyId)] }

    init(_ stored: StoredKey) {
        let key = stored.key
        keyId = key.id.description
        name = key.name.text
        roles = Int(key.roles.bits)
        apps = key.apps.map { $0.map(\.name).joined(separator: " ") }
        addresses = key.from.map(\.description).joined(separator: " ")
        createdAt = key.createdAt
        expiresAt = key.expiresAt
        allowsBearer = key.allowsBearer
        rate = key.rate
        rotatedUntil = key.rotatedUntil
        revokedAt = key.revokedAt
        bearerDigest = KeyBytes(stored.bearerDigest)
        sealedSecret = KeyBytes(stored.sealedSecret)
    }

    /// Returns the key.
    ///
    /// - Throws: ``RegistryError`` if a column is invalid. A key is never read with fewer limits than it was given.
    func stored() throws(RegistryError) -> StoredKey {
        guard let id = APIKeyID(keyId), let name = APIKeyName(name), let bits = UInt8(exactly: roles),
            let roles = RoleSet(bits: bits)
        else { throw Self.damaged }
        var apps: [AppID]?
        if let text = self.apps {
            let names = text.split(separator: " ").map { AppID(String($0)) }
            guard !names.isEmpty, !names.contains(nil) else { throw Self.damaged }
            apps = names.compactMap { $0 }
        }
        var from: [AddressRange] = []
        for text in addresses.split(separator: " ") {
            guard let range = try? AddressRange(String(text)) else { throw Self.damaged }
            from.append(range)
        }
        var key = APIKey(
            id: id, name: name, roles: roles, apps: apps, from: from, createdAt: createdAt, expiresAt: expiresAt,
            allowsBearer: allowsBearer, rate: rate)
        key.rotatedUntil = rotatedUntil
        key.revokedAt = revokedAt
        return StoredKey(key, bearerDigest: bearerDigest.bytes, sealedSecret: sealedSecret.bytes)
    }

    private static let damaged = RegistryError(
        .damaged, "registry.db is damaged: invalid row of an API key; restore it from a backup")
}

/// Bytes that are stored as a blob.
struct KeyBytes: ColumnBytes, Equatable {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    init?(columnBytes: UnsafeRawBufferPointer) {
        unsafe bytes = Array(columnBytes)
    }

    func withColumnBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        unsafe bytes.withUnsafeBytes(body)
    }
}
