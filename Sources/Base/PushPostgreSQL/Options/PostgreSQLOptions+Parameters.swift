import Glibc
import PushLoop

extension PostgreSQLOptions {
    /// The files in which systems keep the certificates of the authorities that they trust.
    private static let systemRoots = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem",
    ]

    /// Returns the parameters of libpq for one address. Each that libpq would otherwise read from the environment or
    /// from a file of the user is given where that could change the meaning of the others.
    func parameters(for target: PostgreSQLTarget) -> [(name: String, value: String)] {
        var list: [(name: String, value: String)] = [
            ("host", target.host.name), ("port", "\(target.host.port)"), ("dbname", database), ("user", user),
            ("application_name", applicationName), ("client_encoding", "UTF8"), ("options", serverSettings),
            ("target_session_attrs", requiresPrimary ? "read-write" : "any"), ("sslmode", verification.rawValue),
            // GSS would look up names and read files while the loop waits.
            ("gssencmode", "disable"),
            // This file cannot exist. libpq would read the passwords of the user otherwise.
            ("passfile", "/dev/null/none"),
            ("connect_timeout", Self.seconds(connectTimeout)), ("tcp_user_timeout", Self.milliseconds(tcpUserTimeout)),
            ("keepalives", "1"), ("keepalives_idle", Self.seconds(keepalivesIdle)),
            ("keepalives_interval", Self.seconds(keepalivesInterval)), ("keepalives_count", "\(keepalivesCount)"),
        ]
        if let address = target.address { list.append(("hostaddr", address)) }
        password?.withRevealed { list.append(("password", $0)) }
        if verification != .disable, let roots = rootCertificates ?? systemRootsIfNeeded {
            list.append(("sslrootcert", roots))
        }
        if let clientCertificate { list.append(("sslcert", clientCertificate)) }
        if let clientKey { list.append(("sslkey", clientKey)) }
        return list
    }

    /// The settings of the server for the connection. A server that does not notice that its client has lost power keeps
    /// the locks of an unfinished section, and the node that takes a partition over would wait for them for hours.
    ///
    /// Each section has a time limit of its own. Limits that the server, the database or the role has for all sessions
    /// would end long readings again and again, or connections that are idle until the next message.
    private var serverSettings: String {
        [
            "TimeZone=UTC", "statement_timeout=0", "lock_timeout=0", "idle_session_timeout=0",
            "idle_in_transaction_session_timeout=0", #"default_transaction_isolation=read\ committed"#,
            "tcp_user_timeout=\(Self.milliseconds(tcpUserTimeout))",
            "tcp_keepalives_idle=\(Self.seconds(keepalivesIdle))",
            "tcp_keepalives_interval=\(Self.seconds(keepalivesInterval))", "tcp_keepalives_count=\(keepalivesCount)",
        ].map { "-c \($0)" }.joined(separator: " ")
    }

    /// With a weaker mode, libpq would verify the certificate as soon as there is such a file.
    private var systemRootsIfNeeded: String? {
        guard verification == .verifyFull || verification == .verifyAuthority else { return nil }
        return Self.systemRoots.first { unsafe access($0, R_OK) == 0 }
    }

    private static func seconds(_ duration: Duration) -> String {
        "\(max(1, (duration.wholeMilliseconds + 999) / 1000))"
    }

    private static func milliseconds(_ duration: Duration) -> String {
        "\(max(1, min(duration.wholeMilliseconds, Int64(CInt.max))))"
    }
}
