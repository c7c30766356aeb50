package import PushLoop

/// What is needed to connect: hosts, database, user, and how to verify the server.
package struct PostgreSQLOptions: Sendable, CustomStringConvertible {
    /// How the server is verified, as in libpq.
    package enum Verification: String, Sendable, CaseIterable {
        case disable, allow, prefer, require
        case verifyAuthority = "verify-ca"
        case verifyFull = "verify-full"
    }

    package var hosts: [PostgreSQLHost]
    package var database: String
    package var user: String
    package var password: Secret<String>?
    package var verification: Verification
    /// The file with the certificates of trusted authorities. Nil means those of the system.
    package var rootCertificates: String?
    package var clientCertificate: String?
    package var clientKey: String?
    package var applicationName = "carillon"
    /// Whether libpq passes over servers that accept no writes. A command that reports about each server connects to
    /// them, too.
    package var requiresPrimary = true
    /// The time for one address to connect and to authenticate.
    package var connectTimeout: Duration = .seconds(5)
    /// The time after which the kernel gives up sent bytes that are not acknowledged.
    package var tcpUserTimeout: Duration = .seconds(10)
    package var keepalivesIdle: Duration = .seconds(5)
    package var keepalivesInterval: Duration = .seconds(2)
    package var keepalivesCount = 3

    package init(
        hosts: [PostgreSQLHost], database: String, user: String, password: Secret<String>? = nil,
        verification: Verification? = nil
    ) {
        self.hosts = hosts
        self.database = database
        self.user = user
        self.password = password
        self.verification = verification ?? Self.verification(for: hosts)
    }

    /// Without TLS, or without verification, only this machine is reached.
    static func verification(for hosts: [PostgreSQLHost]) -> Verification {
        hosts.allSatisfy(\.isLocal) ? .prefer : .verifyFull
    }

    /// The URL without its password.
    package var description: String {
        let list = hosts.map { $0.isSocketDirectory ? $0.name : "\($0)" }.joined(separator: ",")
        return "postgres://\(user)@\(list)/\(database)"
    }
}
