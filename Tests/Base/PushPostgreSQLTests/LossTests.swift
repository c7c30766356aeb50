import PushLoop
import PushPostgreSQL
import TestSupport
import TestTraits
import Testing

/// Servers and networks that fail while sections are in flight.
@Suite(.waits) struct LossTests {
    private static let table = "CREATE TABLE item (number int8 PRIMARY KEY)"
    private static let insertion = "INSERT INTO item VALUES (1)"

    @Test func `A server that stops reading makes a section time out`() async throws {
        let server = try await PostgreSQLServer.start()
        try await server.execute(Self.table)
        let connection = try await TestConnection(server)
        server.pause()
        // It does not fit into the buffers of the kernel.
        let statement = PostgreSQLStatement("length", sql: "SELECT length($1::bytea)", parameters: [.bytea])
        let reply = await connection.send(timeout: .seconds(1)) { section in
            section.call(statement) { $0.append(bytea: [UInt8](repeating: 0, count: 32 << 20)) }
        }
        #expect(reply.unknown?.contains("timed out") == true)
        #expect(await connection.closures.wait(count: 1).first?.contains("timed out") == true)
        server.resume()
        await connection.close()
    }

    @Test func `A timeout ends all sections in flight`() async throws {
        let server = try await PostgreSQLServer.start()
        let connection = try await TestConnection(server)
        let replies = EventRecorder<PostgreSQLReply>()
        await connection.with { connection in
            for (sql, timeout) in [("SELECT pg_sleep(600)", Duration.milliseconds(500)), ("SELECT 1", .seconds(600))] {
                let section = PostgreSQLSection()
                section.call(.once(sql: sql))
                connection.send(section, timeout: timeout) { replies.record($0) }
            }
        }
        for reply in await replies.wait(count: 2) { #expect(reply.unknown?.contains("timed out") == true) }
        await connection.close()
    }

    @Test(arguments: ["pg_terminate_backend", "kill -9"])
    func `A backend that ends leaves the outcome unknown`(way: String) async throws {
        let server = try await PostgreSQLServer.start()
        let connection = try await TestConnection(server)
        let backend = await connection.with { $0.processID }
        async let reply = connection.run("SELECT pg_sleep(600)")
        try await server.wait(
            until: "EXISTS (SELECT FROM pg_stat_activity WHERE pid = \(backend) AND state = 'active')")
        if way == "kill -9" {
            server.killProcess(backend)
            #expect(await reply.unknown?.contains("lost") == true)
        } else {
            try await server.execute("SELECT pg_terminate_backend(\(backend))")
            // The server refused the statement before it ended the connection.
            #expect(await reply.refusal?.sqlState == .adminShutdown)
        }
        #expect(await connection.closures.wait(count: 1).count == 1)
        await connection.close()
    }

    @Test func `An idle connection notices that its backend ended`() async throws {
        let server = try await PostgreSQLServer.start()
        let connection = try await TestConnection(server)
        let backend = await connection.with { $0.processID }
        try await server.execute("SELECT pg_terminate_backend(\(backend))")
        let reason = await connection.closures.wait(count: 1).first
        #expect(reason?.contains("terminating connection due to administrator command") == true)
        await connection.close()
    }

    @Test func `A primary that is killed leaves the outcome unknown`() async throws {
        let server = try await PostgreSQLServer.start()
        let connection = try await TestConnection(server)
        async let reply = connection.run("SELECT pg_sleep(600)")
        try await server.wait(
            until:
                "EXISTS (SELECT FROM pg_stat_activity WHERE query LIKE '%sleep(600)%' AND state = 'active' AND pid <> pg_backend_pid())"
        )
        try await server.kill()
        #expect(await reply.unknown != nil)
        #expect(await connection.closures.wait(count: 1).count == 1)
        await connection.close()
    }

    @Test func `A connection that is cut between commit and answer leaves a row and an unknown outcome`() async throws {
        let server = try await PostgreSQLServer.start()
        try await server.execute(Self.table)
        let proxy = try CuttingProxy(to: server.port)
        let connection = try await TestConnection(server, url: proxy.url)
        #expect(try await connection.run("SELECT 1").results().count == 1)
        proxy.hold(.answers)
        async let reply = connection.run(Self.insertion)
        await proxy.held.wait(count: 1)
        try await server.wait(until: "EXISTS (SELECT FROM item)")
        proxy.cut()
        #expect(await reply.unknown?.contains("lost") == true)
        #expect(try await server.execute("SELECT count(*) FROM item") == "1")
        await connection.close()
    }

    @Test func `A connection that is cut before the commit leaves no row and an unknown outcome`() async throws {
        let server = try await PostgreSQLServer.start()
        try await server.execute(Self.table)
        let proxy = try CuttingProxy(to: server.port)
        let connection = try await TestConnection(server, url: proxy.url)
        let backend = await connection.with { $0.processID }
        proxy.hold(.requests)
        async let reply = connection.run(Self.insertion)
        await proxy.held.wait(count: 1)
        proxy.cut()
        #expect(await reply.unknown != nil)
        try await server.wait(until: "NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = \(backend))")
        #expect(try await server.execute("SELECT count(*) FROM item") == "0")
        await connection.close()
    }

    @Test(arguments: 0..<20) func `Garbage in the middle of a connection ends it`(round: Int) async throws {
        let server = try await SharedServer.shared.server()
        let proxy = try CuttingProxy(to: server.port)
        let connection = try await TestConnection(server, url: proxy.url)
        #expect(try await connection.run("SELECT 1").results().count == 1)
        proxy.spoil(.answers)
        // Garbage may announce a message that never comes, so the timeout is a normal end.
        let reply = await connection.run("SELECT repeat('x', \(round * 1000))", timeout: .seconds(2))
        #expect(reply.unknown != nil || reply.refusal != nil, "round \(round): \(reply)")
        await connection.close()
    }

    @Test func `A server that sends garbage at once is rejected`() async throws {
        let listener = try RawListener()
        let url = "postgres://u@127.0.0.1:\(listener.port)/n?sslmode=disable"
        async let served: Void = listener.serveOnce("HTTP/1.1 400 Bad Request\r\n\r\n", after: "\0\0")
        let closed = await #expect(throws: TestConnection.Closed.self) { try await TestConnection(nil, url: url) }
        #expect(closed?.reason.isEmpty == false)
        try await served
        listener.close()
    }

    @Test func `A server that accepts and never answers is given up in time`() async throws {
        let listener = try RawListener()
        let url = "postgres://u@127.0.0.1:\(listener.port)/n?sslmode=disable"
        let closed = await #expect(throws: TestConnection.Closed.self) {
            try await TestConnection(nil, url: url) { $0.connectTimeout = .milliseconds(300) }
        }
        #expect(closed?.reason.contains("timed out") == true)
        listener.close()
    }

    @Test func `A port without a server is refused`() async throws {
        let taken = try #require(TakenPort())
        let closed = await #expect(throws: TestConnection.Closed.self) {
            try await TestConnection(nil, url: "postgres://u@127.0.0.1:\(taken.number)/n")
        }
        #expect(closed?.reason.contains("Connection refused") == true)
        withExtendedLifetime(taken) {}
    }
}

extension CuttingProxy {
    /// The URL of the server through the proxy. TLS would need its own proxy.
    var url: String {
        "postgres://\(PostgreSQLServer.user)@127.0.0.1:\(port)/\(PostgreSQLServer.database)?sslmode=disable"
    }
}
