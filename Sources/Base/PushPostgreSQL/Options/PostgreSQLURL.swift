import PushLoop

/// A reader of URLs such as `postgres://user@db1,db2:5433/name?sslmode=verify-full`.
///
/// It checks all parts itself, because libpq reports the first fault only, at each connect, and accepts a connection
/// without verification.
package struct PostgreSQLURL {
    private static let parameters = [
        "application_name", "connect_timeout", "host", "keepalives_count", "keepalives_idle", "keepalives_interval",
        "port", "sslcert", "sslkey", "sslmode", "sslrootcert", "target_session_attrs", "tcp_user_timeout",
    ]

    private var hosts: [PostgreSQLHost] = []

    /// Returns the options. The error never contains the password.
    package static func parse(_ text: String) throws(PostgreSQLError) -> PostgreSQLOptions {
        let schemes = ["postgres://", "postgresql://"]
        guard let scheme = schemes.first(where: { text.hasPrefix($0) }) else {
            throw fault("it must begin with postgres://")
        }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f }) else {
            throw fault("it contains a space or a control character; encode it, as in %20")
        }
        var reader = PostgreSQLURL()
        let rest = text.dropFirst(scheme.count)
        let (beforeQuery, query) = rest.cut(at: "?")
        let (authority, path) = beforeQuery.cut(at: "/")
        // A password may contain "@" if it was not encoded, so the last one counts.
        let userPart = authority.lastIndex(of: "@").map { authority[..<$0] }
        let hostPart = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        let (user, password) = (userPart ?? "").cut(at: ":")
        guard !user.isEmpty else { throw fault("it names no user; write postgres://user@host/database") }
        guard let path, !path.isEmpty else {
            throw fault("it names no database; write postgres://user@host/database")
        }
        let pairs = try Self.pairs(query ?? "")
        try reader.readHosts(hostPart, parameters: pairs)
        var options = PostgreSQLOptions(
            hosts: reader.hosts, database: try decode(path, in: "the database"), user: try decode(user, in: "the user"))
        if let password { options.password = Secret(try decode(password, in: "the password")) }
        try reader.apply(pairs, to: &options)
        return options
    }

    private static func fault(_ reason: String) -> PostgreSQLError {
        PostgreSQLError(message: "the URL of the database is invalid: \(reason)")
    }

    // MARK: Hosts

    private mutating func readHosts(
        _ part: Substring, parameters: [(name: String, value: String)]
    ) throws(PostgreSQLError) {
        let named = parameters.first { $0.name == "host" }?.value
        if !part.isEmpty {
            guard named == nil else { throw Self.fault("it names hosts twice, also in the parameter host") }
            for item in part.split(separator: ",", omittingEmptySubsequences: false) { try readHost(item) }
            guard !parameters.contains(where: { $0.name == "port" }) else {
                throw Self.fault("the parameter port belongs to the parameter host; write host:port")
            }
        } else if let named {
            let port = try parameters.first { $0.name == "port" }.map { pair throws(PostgreSQLError) in
                try Self.port(Substring(pair.value))
            }
            for name in named.split(separator: ",", omittingEmptySubsequences: false) {
                try addHost(String(name), port: port ?? PostgreSQLHost.defaultPort)
            }
        } else {
            throw Self.fault("it names no host; write postgres://user@host/database")
        }
        guard hosts.count <= 16 else { throw Self.fault("it names more than 16 hosts") }
    }

    private mutating func readHost(_ item: Substring) throws(PostgreSQLError) {
        var name = item
        var port = PostgreSQLHost.defaultPort
        if item.hasPrefix("[") {
            guard let end = item.firstIndex(of: "]") else { throw Self.fault("a host has [ without ]") }
            name = item[item.index(after: item.startIndex)..<end]
            let rest = item[item.index(after: end)...]
            guard rest.isEmpty || rest.hasPrefix(":") else { throw Self.fault("a port must follow ] and a colon") }
            if !rest.isEmpty { port = try Self.port(rest.dropFirst()) }
        } else if let colon = item.firstIndex(of: ":") {
            name = item[..<colon]
            port = try Self.port(item[item.index(after: colon)...])
        }
        try addHost(try Self.decode(name, in: "a host"), port: port)
    }

    private mutating func addHost(_ name: String, port: UInt16) throws(PostgreSQLError) {
        guard !name.isEmpty else { throw Self.fault("a host is empty") }
        // libpq takes lists of hosts, and directories that begin with "@".
        guard !name.contains(","), !name.hasPrefix("@") else { throw Self.fault("the host \(name) is invalid") }
        hosts.append(PostgreSQLHost(name: name, port: port))
    }

    private static func port(_ text: Substring) throws(PostgreSQLError) -> UInt16 {
        guard text.utf8.allSatisfy({ (48...57).contains($0) }), let port = UInt16(text), port > 0 else {
            throw fault("a port is not a number from 1 to 65535")
        }
        return port
    }

    // MARK: Parameters

    private static func pairs(_ query: Substring) throws(PostgreSQLError) -> [(name: String, value: String)] {
        var pairs: [(name: String, value: String)] = []
        for item in query.split(separator: "&") {
            let (name, value) = item.cut(at: "=")
            guard let value, !value.isEmpty else { throw fault("the parameter \(name) has no value") }
            guard parameters.contains(String(name)) else {
                throw fault("the parameter \(name) is unknown; allowed are \(parameters.joined(separator: ", "))")
            }
            guard !pairs.contains(where: { $0.name == name }) else { throw fault("the parameter \(name) is repeated") }
            pairs.append((String(name), try decode(value, in: "the parameter \(name)")))
        }
        return pairs
    }

    private func apply(
        _ pairs: [(name: String, value: String)], to options: inout PostgreSQLOptions
    ) throws(PostgreSQLError) {
        for (name, value) in pairs {
            switch name {
            case "application_name": options.applicationName = value
            case "connect_timeout": options.connectTimeout = try Self.duration(value, of: name, unit: .seconds(1))
            case "tcp_user_timeout": options.tcpUserTimeout = try Self.duration(value, of: name, unit: .milliseconds(1))
            case "keepalives_idle": options.keepalivesIdle = try Self.duration(value, of: name, unit: .seconds(1))
            case "keepalives_interval":
                options.keepalivesInterval = try Self.duration(value, of: name, unit: .seconds(1))
            case "keepalives_count": options.keepalivesCount = try Self.number(value, of: name, upTo: 100)
            case "sslrootcert": options.rootCertificates = value
            case "sslcert": options.clientCertificate = value
            case "sslkey": options.clientKey = value
            case "sslmode": options.verification = try verification(value)
            case "target_session_attrs":
                guard ["read-write", "primary"].contains(value) else {
                    throw Self.fault("target_session_attrs must be read-write, because Carillon writes")
                }
            default: break
            }
        }
    }

    private func verification(_ value: String) throws(PostgreSQLError) -> PostgreSQLOptions.Verification {
        guard let mode = PostgreSQLOptions.Verification(rawValue: value) else {
            let known = PostgreSQLOptions.Verification.allCases.map(\.rawValue).joined(separator: ", ")
            throw Self.fault("sslmode must be one of \(known)")
        }
        if mode != .verifyFull, let host = hosts.first(where: { !$0.isLocal }) {
            throw Self.fault(
                "sslmode=\(value) does not verify the server \(host.name); remove the parameter, and name the "
                    + "authority of the server's certificate with sslrootcert if the system does not trust it")
        }
        return mode
    }

    private static func duration(
        _ value: String, of name: String, unit: Duration
    ) throws(PostgreSQLError) -> Duration {
        unit * (try number(value, of: name, upTo: 86_400_000))
    }

    private static func number(_ value: String, of name: String, upTo limit: Int) throws(PostgreSQLError) -> Int {
        guard value.utf8.allSatisfy({ (48...57).contains($0) }), let number = Int(value), (1...limit).contains(number)
        else { throw fault("the parameter \(name) is not a number from 1 to \(limit)") }
        return number
    }

    /// Replaces %XX by bytes.
    private static func decode(_ text: Substring, in place: String) throws(PostgreSQLError) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst(), let low = rest.popFirst(),
                let value = UInt8(String(decoding: [high, low], as: UTF8.self), radix: 16), value != 0,
                high != UInt8(ascii: "+")
            else { throw fault("\(place) has a % that is not followed by two hexadecimal digits; write %25 for %") }
            bytes.append(value)
        }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw fault("\(place) is not UTF-8") }
        return text
    }
}

extension Substring {
    /// Returns the parts before and after the first separator; nil as the second part if there is no separator.
    fileprivate func cut(at separator: Character) -> (Substring, Substring?) {
        guard let index = firstIndex(of: separator) else { return (self, nil) }
        return (self[..<index], self[self.index(after: index)...])
    }
}
