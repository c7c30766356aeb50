import PushLoop
import PushPostgreSQL
import TestSupport
import TestTraits
import Testing

@Suite(.waits) struct SessionTests {
    /// Starts a session that must not come up, and returns the reason.
    private static func reason(
        _ url: String, durability: PostgreSQLDurability = .replicated
    ) async throws -> String {
        let session = try await TestSession(url, durability: durability)
        let changes = await session.changes.wait(count: 1)
        await session.failures.wait(count: 2)
        // Each round fails, and the outage is reported once.
        #expect(session.changes.events.count == 1)
        await session.stop()
        return changes.first?.reason ?? ""
    }

    @Test func `Facts of the server are reported`() async throws {
        let server = try await PostgreSQLServer.start()
        let session = try await TestSession(server.url(), durability: .single)
        let info = try await session.up()
        #expect(info.version >= 150_000 && info.timeline == 1 && info.synchronousStandbys.isEmpty)
        #expect(
            "\(info.systemIdentifier)"
                == (try await server.execute("SELECT system_identifier FROM pg_control_system()")))
        // The clocks are the same, but for a step of the clock during the test.
        #expect(abs(info.clockOffset.inSeconds) < 60 + info.roundTrip.inSeconds)
        let zone = try await session.run("SELECT current_setting('TimeZone')").results()[0].row()
        #expect(try zone.value(0, as: String.self) == "UTC")
        // The server notices a client that has lost its power.
        let probes = try await session.run("SELECT current_setting('tcp_keepalives_idle')").results()[0].row()
        #expect(try probes.value(0, as: String.self) == "5")
        await session.stop()
    }

    @Test func `A user without privileges passes the check`() async throws {
        let server = try await PostgreSQLServer.start()
        try await server.execute("CREATE ROLE plain LOGIN")
        let session = try await TestSession(server.url(user: "plain"), durability: .single)
        #expect(try await session.up().version >= 150_000)
        await session.stop()
    }

    @Test func `A server without a synchronous standby is refused`() async throws {
        let server = try await PostgreSQLServer.start()
        let reason = try await Self.reason(server.url())
        #expect(reason.contains("no synchronous standby") && reason.contains("durability"))
    }

    @Test(
        "Unsafe settings are refused",
        arguments: [("fsync", "off"), ("full_page_writes", "off"), ("synchronous_commit", "local")])
    func unsafeSettings(name: String, value: String) async throws {
        let server = try await PostgreSQLServer.start(settings: [name: value])
        let reason = try await Self.reason(server.url(), durability: .single)
        #expect(reason.contains("\(name) = \(value)"))
    }

    @Test func `A setting of the role is refused, too`() async throws {
        let server = try await PostgreSQLServer.start()
        try await server.execute("ALTER ROLE carillon SET synchronous_commit = off")
        #expect(try await Self.reason(server.url(), durability: .single).contains("synchronous_commit = off"))
    }

    @Test func `Limits that the role has for its sessions do not hold for the session`() async throws {
        let server = try await PostgreSQLServer.start()
        let limits = [
            "statement_timeout", "lock_timeout", "idle_session_timeout", "idle_in_transaction_session_timeout",
        ]
        try await server.execute("CREATE ROLE limited LOGIN")
        for limit in limits { try await server.execute("ALTER ROLE limited SET \(limit) = '1h'") }
        try await server.execute("ALTER ROLE limited SET default_transaction_isolation = 'serializable'")
        let session = try await TestSession(server.url(user: "limited"), durability: .single)
        _ = try await session.up()
        for limit in limits {
            #expect(try await session.run("SHOW \(limit)").results()[0].row().value(0, as: String.self) == "0")
        }
        let level = try await session.run("SHOW transaction_isolation").results()[0].row().value(0, as: String.self)
        #expect(level == "read committed")
        await session.stop()
    }

    @Test func `Commits of a session wait for the disk, whatever the server is told meanwhile`() async throws {
        let server = try await PostgreSQLServer.start()
        let session = try await TestSession(server.url(), durability: .single)
        _ = try await session.up()
        func setting(_ name: String) async throws -> String {
            try await session.run("SHOW \(name)").results()[0].row().value(0)
        }
        try await server.execute(
            "ALTER SYSTEM SET synchronous_commit = off", "ALTER SYSTEM SET work_mem = '5MB'", "SELECT pg_reload_conf()")
        // The other setting shows that the session has read them.
        try await wait(while: try await setting("work_mem") != "5MB")
        #expect(try await setting("synchronous_commit") == "on")
        await session.stop()
        #expect(try await Self.reason(server.url(), durability: .single).contains("synchronous_commit = off"))
    }

    @Test func `A setting that becomes unsafe takes the session down`() async throws {
        let server = try await PostgreSQLServer.start()
        let session = try await TestSession(server.url(), durability: .single, checkInterval: .milliseconds(20))
        _ = try await session.up()
        try await server.execute("ALTER SYSTEM SET full_page_writes = off", "SELECT pg_reload_conf()")
        let changes = await session.changes.wait(count: 2)
        #expect(changes.last?.reason?.contains("full_page_writes = off") == true)
        try await server.execute("ALTER SYSTEM RESET full_page_writes", "SELECT pg_reload_conf()")
        _ = try await session.up(after: 2)
        await session.stop()
    }

    @Test func `A standby is refused, and after its promotion the session follows`() async throws {
        let primary = try await PostgreSQLServer.start()
        let standby = try await primary.standby()
        #expect(try await Self.reason(standby.url()).contains("read-only"))

        try await primary.execute("CREATE TABLE item (number int8)")
        let session = try await TestSession(primary.url(with: [standby]))
        let first = try await session.up()
        #expect(first.target.host.port == primary.port && first.timeline == 1)
        #expect(try await session.run("INSERT INTO item VALUES (1)").results().count == 1)

        async let reply = session.run("SELECT pg_sleep(600)")
        try await primary.wait(
            until:
                "EXISTS (SELECT FROM pg_stat_activity WHERE query LIKE '%sleep(600)%' AND state = 'active' AND pid <> pg_backend_pid())"
        )
        try await primary.kill()
        #expect(await reply.unknown != nil)
        try await standby.promote()
        // The promoted server would acknowledge with one copy, and is refused until its setting is made.
        await session.failures.wait { $0.contains { $0.contains("no synchronous standby") } }
        #expect(session.changes.events.count == 2)
        try await standby.execute("ALTER SYSTEM SET synchronous_standby_names = 'other'", "SELECT pg_reload_conf()")
        let second = try await session.up(after: 2)
        #expect(second.target.host.port == standby.port && second.timeline == 2)
        #expect(second.systemIdentifier == first.systemIdentifier)
        let count = try await session.run("SELECT count(*) FROM item").results()[0].row()
        #expect(try count.value(0, as: Int64.self) == 1)
        await session.stop()
    }

    @Test func `A section waits for the standby, and its outcome is unknown without it`() async throws {
        let primary = try await PostgreSQLServer.start()
        let standby = try await primary.standby()
        try await primary.execute("CREATE TABLE item (number int8)")
        let session = try await TestSession(primary.url())
        _ = try await session.up()
        #expect(try await session.run("INSERT INTO item VALUES (1)").results().count == 1)
        standby.pause()
        let reply = await session.run("INSERT INTO item VALUES (2)", timeout: .seconds(1))
        #expect(reply.unknown?.contains("timed out") == true)
        standby.resume()
        // The server still waited for the standby, and then the row is there.
        try await primary.wait(until: "(SELECT count(*) FROM item) = 2")
        _ = try await session.up(after: 2)
        #expect(try await session.run("INSERT INTO item VALUES (3)").results().count == 1)
        await session.stop()
    }

    @Test func `A commit whose wait for the standby is canceled is not done`() async throws {
        let primary = try await PostgreSQLServer.start()
        let standby = try await primary.standby()
        try await primary.execute("CREATE TABLE item (number int8)")
        let session = try await TestSession(primary.url())
        _ = try await session.up()
        standby.pause()
        async let reply = session.run("INSERT INTO item VALUES (1)")
        try await primary.wait(until: "EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep')")
        try await primary.execute("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
        #expect(await reply.unknown?.contains("synchronous replication") == true)
        #expect(try await primary.execute("SELECT count(*) FROM item") == "1")
        standby.resume()
        #expect(try await session.run("INSERT INTO item VALUES (2)").results().count == 1)
        await session.stop()
    }

    @Test func `A backend that is ended while it waits for the standby leaves the outcome unknown`() async throws {
        let primary = try await PostgreSQLServer.start()
        let standby = try await primary.standby()
        try await primary.execute("CREATE TABLE item (number int8)")
        let session = try await TestSession(primary.url())
        _ = try await session.up()
        standby.pause()
        async let reply = session.run("INSERT INTO item VALUES (1)")
        try await primary.wait(until: "EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep')")
        try await primary.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
        #expect(await reply.unknown != nil)
        #expect(try await primary.execute("SELECT count(*) FROM item") == "1")
        standby.resume()
        await session.stop()
    }

    @Test func `Names are looked up, and hosts without an address are passed over`() async throws {
        let server = try await PostgreSQLServer.start()
        let url = "postgres://carillon@gone.localhost.invalid,localhost:\(server.port)/postgres?sslmode=verify-full"
        // Names of other machines must be verified, and this server has no certificate.
        let strict = try await TestSession(url) { host in
            if host.name == "localhost" { return ["127.0.0.1"] }
            throw PostgreSQLError(message: "cannot look up \(host.name)")
        }
        let reason = try #require(await strict.changes.wait(count: 1).first?.reason)
        #expect(reason.contains("cannot look up gone.localhost.invalid") && reason.contains("SSL"))
        await strict.stop()

        let session = try await TestSession(
            "postgres://carillon@localhost:\(server.port)/postgres", durability: .single
        ) {
            _ in ["::1", "127.0.0.1"]
        }
        #expect(try await session.up().target.address == "127.0.0.1")
        await session.stop()

        let foreign = try await TestSession("postgres://carillon@localhost:\(server.port)/postgres") { _ in ["10.0.0.1"]
        }
        let other = try #require(await foreign.changes.wait(count: 1).first?.reason)
        #expect(other.contains("not an address of this machine"))
        await foreign.stop()
    }

    @Test func `A host that does not answer is passed over in time`() async throws {
        let server = try await PostgreSQLServer.start()
        let silent = try RawListener()
        let url = "postgres://carillon@127.0.0.1:\(silent.port),127.0.0.1:\(server.port)/postgres?sslmode=disable"
        let session = try await TestSession(url, durability: .single, connectTimeout: .seconds(2))
        #expect(try await session.up().target.host.port == server.port)
        await session.stop()
        silent.close()
    }

    @Test func `Without a free descriptor the session is down, and it comes up with one`() async throws {
        let server = try await PostgreSQLServer.start()
        let session = try await TestSession(server.url(), durability: .single, before: { await $0.takeDescriptors() })
        let reason = await session.changes.wait(count: 1).first?.reason
        #expect(reason?.contains("Too many open files") == true, "\(reason ?? "")")
        await session.loop.releaseDescriptors()
        _ = try await session.up(after: 1)
        await session.stop()
    }

    @Test func `A Unix socket is reached by its directory`() async throws {
        let server = try await PostgreSQLServer.start()
        let url = "postgres://carillon@/postgres?host=\(server.socketDirectory)&port=\(server.port)"
        let session = try await TestSession(url, durability: .single)
        #expect(try await session.up().target.address == nil)
        await session.stop()
    }

    @Test func `A stopped session reports nothing, and sends nothing`() async throws {
        let server = try await PostgreSQLServer.start()
        let session = try await TestSession(server.url(), durability: .single)
        _ = try await session.up()
        async let reply = session.run("SELECT pg_sleep(600)")
        try await server.wait(
            until:
                "EXISTS (SELECT FROM pg_stat_activity WHERE query LIKE '%sleep(600)%' AND state = 'active' AND pid <> pg_backend_pid())"
        )
        await session.stop()
        #expect(await reply.unknown == "the connection was closed")
        #expect(session.changes.events.count == 1)
    }
}
