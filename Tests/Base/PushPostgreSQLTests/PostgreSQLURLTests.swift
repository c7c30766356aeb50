import PushLoop
import Testing

@testable import PushPostgreSQL

@Suite struct PostgreSQLURLTests {
    @Test func `All parts are read`() throws {
        let options = try PostgreSQLURL.parse(
            "postgres://car%20illon:pass%40w%25rd@db1,db2:5433,[fd00::1]:5434/name?connect_timeout=7&sslrootcert=/ca.pem"
                + "&application_name=node-a&tcp_user_timeout=2500&keepalives_count=4&target_session_attrs=read-write")
        #expect(
            options.hosts == [
                PostgreSQLHost(name: "db1"), PostgreSQLHost(name: "db2", port: 5433),
                PostgreSQLHost(name: "fd00::1", port: 5434),
            ])
        #expect(options.user == "car illon" && options.database == "name")
        #expect(options.password?.withRevealed { $0 } == "pass@w%rd")
        #expect(options.verification == .verifyFull && options.rootCertificates == "/ca.pem")
        #expect(options.connectTimeout == .seconds(7) && options.tcpUserTimeout == .milliseconds(2500))
        #expect(options.applicationName == "node-a" && options.keepalivesCount == 4)
    }

    @Test(
        "Invalid URLs are rejected with the reason",
        arguments: [
            ("mysql://a@b/c", "postgres://"), ("postgres://db/name", "no user"), ("postgres://:p@db/name", "no user"),
            ("postgres://u@db", "no database"), ("postgres://u@db/", "no database"), ("postgres://u@/name", "no host"),
            ("postgres://u@db,,db2/name", "host is empty"), ("postgres://u@db:0/name", "port"),
            ("postgres://u@db:65536/name", "port"), ("postgres://u@db:x/name", "port"),
            ("postgres://u@[::1/name", "[ without ]"), ("postgres://u@db/name?sslmode", "no value"),
            ("postgres://u@db/name?sslmode=sometimes", "one of"), ("postgres://u@db/name?options=-cfsync", "unknown"),
            ("postgres://u@db/name?connect_timeout=1&connect_timeout=2", "repeated"),
            ("postgres://u@db/name?connect_timeout=0", "number"), ("postgres://u@db/na%zzme", "hexadecimal"),
            ("postgres://u@db/na%+1me", "hexadecimal"), ("postgres://u@db/na%ffme", "UTF-8"),
            ("postgres://u@db/na me", "space"), ("postgres://u@db/name?host=/tmp", "twice"),
            ("postgres://u@db/name?port=5", "host:port"), ("postgres://u@db/n%00ame", "hexadecimal"),
            ("postgres://u@db/name?target_session_attrs=any", "read-write"), ("postgres://u@%40x/name", "invalid"),
        ])
    func faults(url: String, reason: String) {
        let error = #expect(throws: PostgreSQLError.self) { try PostgreSQLURL.parse(url) }
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
    }

    @Test(
        "The server of another machine is always verified",
        arguments: ["disable", "allow", "prefer", "require", "verify-ca"])
    func verification(mode: String) throws {
        let error = #expect(throws: PostgreSQLError.self) {
            try PostgreSQLURL.parse("postgres://u@localhost,db1/name?sslmode=\(mode)")
        }
        #expect(error?.message.contains("db1") == true)
        let local = try PostgreSQLURL.parse("postgres://u@localhost,127.1.2.3,[::1]/name?sslmode=\(mode)")
        #expect(local.verification.rawValue == mode)
        #expect(throws: PostgreSQLError.self) {
            try PostgreSQLURL.parse("postgres://u@127.0.0.1.evil.org/n?sslmode=\(mode)")
        }
    }

    @Test func `A server of this machine is verified if asked`() throws {
        #expect(try PostgreSQLURL.parse("postgres://u@localhost/n").verification == .prefer)
        #expect(try PostgreSQLURL.parse("postgres://u@localhost/n?sslmode=verify-full").verification == .verifyFull)
        #expect(try PostgreSQLURL.parse("postgres://u@10.0.0.1/n").verification == .verifyFull)
    }

    @Test func `Sockets are named by their directory`() throws {
        for url in ["postgres://u@%2Frun%2Fpg/n", "postgres://u@/n?host=/run/pg"] {
            let options = try PostgreSQLURL.parse(url)
            #expect(options.hosts == [PostgreSQLHost(name: "/run/pg")])
            let parameters = options.parameters(for: PostgreSQLTarget(host: options.hosts[0], address: nil))
            #expect(!parameters.contains { $0.name == "hostaddr" })
        }
    }

    @Test func `Failures that an operator can mend have an advice`() {
        let standby = ConnectionAttempt.advice(on: "session is read-only")
        #expect(standby.hasPrefix("session is read-only; the server is a standby"))
        let pooler = ConnectionAttempt.advice(on: "FATAL:  unsupported startup parameter: options")
        #expect(pooler.hasSuffix("options; this is a pooler of connections: connect to PostgreSQL itself"))
        #expect(ConnectionAttempt.advice(on: "other") == "other")
    }

    @Test func `The password is not shown`() throws {
        let options = try PostgreSQLURL.parse("postgres://u:geheim@db/n")
        var dumped = ""
        dump(options, to: &dumped)
        #expect(!"\(options)\(dumped)".contains("geheim"))
        #expect("\(options)" == "postgres://u@db:5432/n")
        let error = #expect(throws: PostgreSQLError.self) { try PostgreSQLURL.parse("postgres://u:geheim@db") }
        #expect(error?.message.contains("geheim") == false)
    }

    @Test func `Writing is asked for, and times are limited`() throws {
        let options = try PostgreSQLURL.parse("postgres://u:p@db/n")
        let target = PostgreSQLTarget(host: options.hosts[0], address: "10.0.0.1")
        let parameters = Dictionary(
            options.parameters(for: target).map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        #expect(parameters["target_session_attrs"] == "read-write")
        #expect(parameters["sslmode"] == "verify-full" && parameters["sslrootcert"] != nil)
        #expect(parameters["host"] == "db" && parameters["hostaddr"] == "10.0.0.1")
        #expect(parameters["tcp_user_timeout"] == "10000" && parameters["keepalives_idle"] == "5")
        #expect(parameters["gssencmode"] == "disable" && parameters["client_encoding"] == "UTF8")
    }
}
