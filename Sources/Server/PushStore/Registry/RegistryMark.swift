import Glibc
import PushModel

/// What `registry.db` tells about the ledger that belongs to it.
package struct RegistryMark: Sendable {
    /// The number of the last event that the registry has applied.
    package private(set) var applied: UInt64 = 0
    package private(set) var hasDevices = false
    /// The key of the ids of the devices; nil if an earlier version wrote the file.
    private var secret: [UInt8]?
    /// The newest device whose token is known.
    private var newest: (id: DeviceID, app: AppID, token: Address)?

    init() {}

    init(_ connection: SQLiteConnection) throws(StoreError) {
        if try connection.has("applied_marks") {
            let mark = try connection.prepare("SELECT coalesce(max(number), 0) FROM applied_marks")
            defer { mark.reset() }
            if try mark.step() { applied = mark.word(0) }
        }
        if try connection.has("device_secrets") {
            let find = try connection.prepare("SELECT secret FROM device_secrets")
            defer { find.reset() }
            if try find.step() {
                guard Identities(secret: find.blob(0)) != nil else {
                    throw StoreError(
                        .damaged, "\(connection.path) is damaged: its secret is invalid; restore it from a backup")
                }
                secret = find.blob(0)
            }
        }
        guard try connection.has("devices") else { return }
        let any = try connection.prepare("SELECT 1 FROM devices LIMIT 1")
        defer { any.reset() }
        hasDevices = try any.step()
        guard secret == nil else { return }
        let find = try connection.prepare(
            "SELECT deviceId, app, token FROM devices WHERE length(token) > 0 ORDER BY objectId DESC LIMIT 1")
        defer { find.reset() }
        guard try find.step(), let app = AppID(find.text(1)) else { return }
        newest = unsafe find.withBlob(0) { id in
            unsafe find.withBlob(2) { token in
                guard let id = unsafe DeviceID(columnBytes: id), let token = unsafe KeptToken(columnBytes: token)?.token
                else { return nil }
                return (id, app, token)
            }
        }
    }

    /// Reads a file that no process uses; an empty mark if there is none.
    static func read(ofStopped path: String) throws(StoreError) -> RegistryMark {
        guard unsafe access(path, F_OK) == 0 else { return RegistryMark() }
        return try SQLiteConnection.reading(stopped: path) { (connection) throws(StoreError) in
            try RegistryMark(connection)
        }
    }

    /// Reads a file that another process may write, without its write-ahead log; an empty mark if it cannot be read.
    package static func glance(at path: String) -> RegistryMark {
        guard unsafe access(path, R_OK) == 0, let connection = try? SQLiteConnection(path, mode: .immutable),
            let mark = try? RegistryMark(connection)
        else { return RegistryMark() }
        return mark
    }

    // MARK: The ledger that belongs to it

    /// A number that the ledger had reached, if this is known.
    ///
    /// - Parameter isNew: Whether the ledger is new, so that the one which had the devices is lost.
    func reached(besideNew isNew: Bool) -> UInt64 { isNew && hasDevices ? max(1, applied) : applied }

    /// Returns the key for a ledger that is made beside the registry; nil if it may be a new one.
    ///
    /// - Throws: ``StoreError`` if there are devices and their key is not known: they would be registered a second time.
    func secretOfNewLedger(in directory: String) throws(StoreError) -> [UInt8]? {
        if secret == nil, newest != nil { throw StoreMismatch(hasSecret: false).error(in: directory) }
        return secret
    }

    /// Returns what is wrong if the ids of the devices are not those of the ledger.
    func mismatch(with identities: Identities) -> StoreMismatch? {
        let isOwn =
            if let secret {
                secret == identities.secret
            } else {
                newest.map { identities.device(of: $0.app, token: $0.token) == $0.id } ?? true
            }
        return isOwn ? nil : StoreMismatch(hasSecret: secret != nil)
    }

    /// Throws an error if the ids of the devices are not those of the ledger.
    func check(_ identities: Identities, in directory: String) throws(StoreError) {
        if let mismatch = mismatch(with: identities) { throw mismatch.error(in: directory) }
    }
}

/// A ledger and a registry that do not belong together.
package struct StoreMismatch: Sendable, Equatable {
    package let what =
        "ledger.db and registry.db are not of one installation: the ids of the devices were made with another key"
    package let remedy: String

    /// - Parameter hasSecret: Whether the registry has the key, so that a new ledger can have it, too.
    init(hasSecret: Bool) {
        let rest =
            hasSecret
            ? "move ledger.db* away: devices and API keys stay, and messages that wait and known ids are lost"
            : "move registry.db* away: devices have to register again, and API keys to be made again"
        remedy = "put back the file that belongs to the other one, or restore a backup of both; without these, \(rest)"
    }

    func error(in directory: String) -> StoreError {
        StoreError(.unsuitable, "\(directory): \(what); \(remedy)")
    }
}
