import FoundationEssentials
import Glibc
import PushLoop
import PushTransport

/// The certificates and keys of the simulator. They are created on the first start and reused afterwards, so that clients
/// have to be configured only once.
struct SimulatorFiles {
    /// The ids have the form of Apple's.
    static let keyID = "SIMULATOR1"
    static let teamID = "CARILLON01"
    static let clientTopic = "com.example.shop"

    /// All files in the directory.
    static let names = ["ca.key", "ca.pem", "server.pem", "push.pem", providerKeyName]
    private static let providerKeyName = "AuthKey_\(keyID).p8"

    let directory: String
    let authority: CertificateAuthority
    let server: TLSIdentity
    let expired: TLSIdentity
    let providerKey: ES256PrivateKey
    /// The names of the files that were created by this start.
    var made: [String]

    var authorityPath: String { "\(directory)/ca.pem" }
    var providerKeyPath: String { "\(directory)/\(Self.providerKeyName)" }
    var clientPath: String { "\(directory)/push.pem" }

    init(directory: String) throws {
        self.directory = directory
        let store = Store(directory: directory)
        try store.prepare()
        store.removeDrafts()
        var made: [String] = []

        authority = try Self.authority(in: store, made: &made)
        if !store.has("server.pem") {
            let issued = try authority.issue(
                CertificateRequest(
                    commonName: "localhost", usage: .server, dnsNames: ["localhost"], ipAddresses: ["127.0.0.1", "::1"])
            )
            try store.write("server.pem", text: issued.certificatePEM + issued.privateKeyPEM)
            made += ["server.pem"]
        }
        server = try TLSIdentity(combined: .file("\(directory)/server.pem"))
        // The expired certificate exists only for tests of clients, which must reject it; it is not stored.
        expired = try authority.issue(
            CertificateRequest(
                commonName: "localhost", usage: .server, dnsNames: ["localhost"], ipAddresses: ["127.0.0.1", "::1"],
                validity: CertificateValidity(
                    notBefore: WallTime(milliseconds: WallTime.current().milliseconds - 60 * 86_400_000),
                    notAfter: WallTime(milliseconds: WallTime.current().milliseconds - 86_400_000)))
        ).identity
        if !store.has("push.pem") {
            let issued = try authority.issue(
                CertificateRequest(
                    commonName: "Apple Push Services: \(Self.clientTopic)", usage: .client, userID: Self.clientTopic))
            try store.write("push.pem", text: issued.certificatePEM + issued.privateKeyPEM)
            made += ["push.pem"]
        }
        providerKey = try Self.providerKey(in: store, made: &made)
        self.made = made
    }

    private static func authority(in store: Store, made: inout [String]) throws -> CertificateAuthority {
        if store.has("ca.pem"), store.has("ca.key") {
            return try CertificateAuthority(
                certificate: .file("\(store.directory)/ca.pem"), key: .file("\(store.directory)/ca.key"))
        }
        let authority = try CertificateAuthority(commonName: "Carillon Simulator Root")
        try store.write("ca.key", text: authority.privateKeyPEM)
        try store.write("ca.pem", text: authority.certificatePEM, isSecret: false)
        made += ["ca.key", "ca.pem"]
        // Certificates of an earlier root are no longer valid.
        for name in ["server.pem", "push.pem"] { store.remove(name) }
        return authority
    }

    private static func providerKey(in store: Store, made: inout [String]) throws -> ES256PrivateKey {
        if store.has(providerKeyName) {
            return try ES256PrivateKey(pem: .file("\(store.directory)/\(providerKeyName)"))
        }
        let key = try ES256PrivateKey.generate()
        try store.write(providerKeyName, text: key.pem)
        made += [providerKeyName]
        return key
    }
}

/// The files in the directory of a simulator.
private struct Store {
    let directory: String

    func prepare() throws {
        do {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw Failure(
                .notPermitted,
                "cannot create the directory \(directory) for certificates and keys: \(error); choose another with --data"
            )
        }
    }

    func has(_ name: String) -> Bool {
        FileManager.default.fileExists(atPath: "\(directory)/\(name)")
    }

    func remove(_ name: String) {
        unlink("\(directory)/\(name)")
    }

    /// Removes the drafts of files that an interrupted start left, including those of files that exist.
    func removeDrafts() {
        for name in SimulatorFiles.names { unlink(WholeFile.draft(of: "\(directory)/\(name)")) }
    }

    /// Writes a file atomically, so that an interrupted start does not leave a part of a key.
    func write(_ name: String, text: String, isSecret: Bool = true) throws {
        let path = "\(directory)/\(name)"
        do throws(SystemError) {
            try WholeFile.write(Array(text.utf8), to: path, isSecret: isSecret, until: .content)
        } catch {
            let isRefused = [EACCES, EPERM, EROFS].contains(error.number)
            throw Failure(
                isRefused ? .notPermitted : .failed,
                "cannot write \(path): \(error); check the disk, or choose another directory with --data")
        }
    }
}
