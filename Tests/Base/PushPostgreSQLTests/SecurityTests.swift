import PushLoop
import PushPostgreSQL
import PushTransport
import TestSupport
import TestTraits
import Testing

@Suite(.waits) struct SecurityTests {
    private static let certificates = TestCertificates.shared

    @Test func `The right certificate is accepted, and the connection is encrypted`() async throws {
        let server = try await PostgreSQLServer.start(
            certificate: Self.certificates.server, rules: ["hostssl all all 127.0.0.1/32 trust"])
        let directory = try TemporaryDirectory()
        let roots = try directory.write("ca.pem", containing: Self.certificates.authority.certificatePEM)
        for host in ["localhost", "127.0.0.1"] {
            let url = "postgres://carillon@\(host):\(server.port)/postgres?sslmode=verify-full&sslrootcert=\(roots)"
            let connection = try await TestConnection(server, url: url)
            #expect(await connection.with { $0.isEncrypted })
            // Records of TLS do not end where messages end.
            for size in [1, 8191, 16_384, 16_385, 1_000_000, 5_000_001] {
                let row = try await connection.run("SELECT repeat('x', \(size))").results()[0].row()
                #expect(try row.withBytes(0) { $0.count } == size)
            }
            await connection.close()
        }
    }

    @Test func `A certificate of another authority is rejected`() async throws {
        let server = try await PostgreSQLServer.start(certificate: Self.certificates.server)
        let other = try CertificateAuthority(commonName: "Other Root")
        let directory = try TemporaryDirectory()
        let roots = try directory.write("ca.pem", containing: other.certificatePEM)
        let url = "postgres://carillon@localhost:\(server.port)/postgres?sslmode=verify-full&sslrootcert=\(roots)"
        let closed = await #expect(throws: TestConnection.Closed.self) { try await TestConnection(server, url: url) }
        #expect(closed?.reason.contains("certificate verify failed") == true)
    }

    @Test func `A certificate without the system's trust is rejected`() async throws {
        let server = try await PostgreSQLServer.start(certificate: Self.certificates.server)
        let url = "postgres://carillon@localhost:\(server.port)/postgres?sslmode=verify-full"
        let closed = await #expect(throws: TestConnection.Closed.self) { try await TestConnection(server, url: url) }
        #expect(closed?.reason.contains("certificate") == true)
    }

    @Test func `A certificate with another name is rejected`() async throws {
        let issued = try Self.certificates.authority.issue(
            CertificateRequest(commonName: "db1.example", usage: .server, dnsNames: ["db1.example"]))
        let server = try await PostgreSQLServer.start(certificate: issued)
        let directory = try TemporaryDirectory()
        let roots = try directory.write("ca.pem", containing: Self.certificates.authority.certificatePEM)
        let url = "postgres://carillon@localhost:\(server.port)/postgres?sslmode=verify-full&sslrootcert=\(roots)"
        let closed = await #expect(throws: TestConnection.Closed.self) { try await TestConnection(server, url: url) }
        #expect(closed?.reason.contains("does not match host name") == true)
    }

    @Test func `A server without TLS is rejected if it must be verified`() async throws {
        let server = try await PostgreSQLServer.start()
        let url = "postgres://carillon@localhost:\(server.port)/postgres?sslmode=verify-full"
        let closed = await #expect(throws: TestConnection.Closed.self) { try await TestConnection(server, url: url) }
        #expect(closed?.reason.contains("does not support SSL") == true)
    }

    @Test func `The password of SCRAM is verified, and not shown`() async throws {
        let server = try await PostgreSQLServer.start(rules: [
            "host all carillon 127.0.0.1/32 trust", "host all guest 127.0.0.1/32 scram-sha-256",
        ])
        try await server.execute("CREATE ROLE guest LOGIN PASSWORD 'open sesame'")
        let right = "postgres://guest:open%20sesame@127.0.0.1:\(server.port)/postgres"
        let connection = try await TestConnection(server, url: right)
        #expect(try await connection.run("SELECT 1").results().count == 1)
        await connection.close()

        let wrong = "postgres://guest:geheim@127.0.0.1:\(server.port)/postgres"
        let closed = await #expect(throws: TestConnection.Closed.self) { try await TestConnection(server, url: wrong) }
        #expect(closed?.reason.contains("password authentication failed") == true)
        #expect(closed?.reason.contains("geheim") == false)

        let none = "postgres://guest@127.0.0.1:\(server.port)/postgres"
        let missing = await #expect(throws: TestConnection.Closed.self) { try await TestConnection(server, url: none) }
        #expect(missing?.reason.contains("no password supplied") == true)
    }
}
