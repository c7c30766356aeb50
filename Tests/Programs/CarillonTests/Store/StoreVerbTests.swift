import Glibc
import JSON5
import PushLoop
import PushStore
import TestSupport
import TestTraits
import Testing

@testable import carillon

/// Tests of `carillon store` as a process, on real servers.
@Suite(.waits) struct StoreVerbTests {
    private static let password = "s3same-4711"
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// A server that trusts everyone, for all tests of this process.
    private static let shared = Task { try await PostgreSQLServer.start() }
    private static let newest = Locked(0)

    /// Returns the URL of a new database, with a password that the server ignores.
    private func database() async throws -> String {
        let server = try await Self.shared.value
        let name = Self.newest.withLock { number -> String in
            number += 1
            return "store_\(number)"
        }
        try await server.execute("CREATE DATABASE \(name)")
        return "postgres://carillon:\(Self.password)@127.0.0.1:\(server.port)/\(name)"
    }

    private func query(_ sql: String, in url: String) async throws -> String {
        let name = String(url[url.index(after: url.lastIndex(of: "/") ?? url.startIndex)...])
        return try await Self.shared.value.execute("\\connect \(name)", sql)
    }

    private func store(_ arguments: [String], variables: [String] = []) async throws -> ChildProcess.Ended {
        let ended = try await ChildProcess.run(
            "env", variables + [ChildProcess.carillon, "store"] + arguments, directory: directory.path)
        // No command may print a password, or colors without a terminal.
        #expect(!(ended.output + ended.errors).contains("s3same"))
        #expect(!(ended.output + ended.errors).contains("\u{1b}"))
        return ended
    }

    private func json(_ ended: ChildProcess.Ended) throws -> JSONTree {
        #expect(ended.output.filter { $0 == "\n" }.count == 1)
        return try JSON5Reader.read(Array(ended.output.utf8))
    }

    // MARK: Init

    @Test func `A store is made once`() async throws {
        let url = try await database()
        let made = try await store(["init", url, "--partitions", "8"])
        #expect(made.status == 0 && made.errors.isEmpty, "\(made.errors)")
        #expect(made.output.hasPrefix("Made a store with 8 partitions in postgres://carillon@127.0.0.1:"))
        let again = try await store(["init", url])
        #expect(again.status == 1 && again.output.isEmpty)
        #expect(again.errors.hasPrefix("carillon store init: the database store_"))
        #expect(again.errors.contains("version 3 of the tables and 8 partitions"))
        let machine = try await store(["init", url, "--json"])
        #expect(machine.status == 1 && machine.errors.isEmpty)
        let tree = try json(machine)
        #expect(tree["ok"]?.boolean == false && tree["exit_code"]?.integer == 1)
        #expect(again.errors.contains(try #require(tree["faults"]?.elements?.first?.string)))
    }

    @Test func `A store has 64 partitions unless another number is given`() async throws {
        let tree = try json(try await store(["init", try await database(), "--json"]))
        #expect(tree["ok"]?.boolean == true && tree["partitions"]?.integer == 64)
        #expect(tree["schema_version"]?.integer == 3 && tree["incarnation"]?.string?.count == 32)
        #expect((tree["created_at"]?.integer ?? 0) > 1_700_000_000_000)
    }

    @Test func `Mistakes on the command line are explained`() async throws {
        let url = try await database()
        for (arguments, words) in [
            (["init", url, "--partitions", "0"], "whole number from 1 to 256"),
            (["init", url, "--partitions", "257"], "whole number from 1 to 256"),
            (["init", url, url], "unexpected argument 'postgres://carillon@127.0.0.1"),
            (["init", "--partitions", url], "not 'postgres://carillon@127.0.0.1"),
            (["init", "mysql://a:\(Self.password)@b/c"], "must begin with postgres://"),
            (["init", "postgres://a:\(Self.password)@b"], "names no database"),
            ([url], "unknown verb 'postgres://carillon@127.0.0.1"), (["inti"], "did you mean 'init'?"),
            (["check", url, "--durability", "double"], "must be replicated or single"),
            (["restored", url, "--no"], "unknown option"),
        ] as [([String], String)] {
            let ended = try await store(arguments)
            #expect(ended.status == 64 && ended.errors.contains(words), "\(arguments): \(ended.errors)")
        }
    }

    @Test func `A server that cannot be reached is exit code 69`() async throws {
        let url = "postgres://carillon:\(Self.password)@127.0.0.1:1/none"
        for verb in ["init", "migrate", "check"] {
            let ended = try await store([verb, url])
            #expect(ended.status == 69, "\(ended.output)\(ended.errors)")
            #expect((ended.output + ended.errors).contains("127.0.0.1:1"))
        }
    }

    // MARK: Configuration

    @Test func `The database comes from a configuration, whatever else is wrong with it`() async throws {
        let url = try await database()
        _ = try directory.write(
            "carillon.json5",
            containing: "{ apps: { shop: { topic: 17 } }, store: \"\(url)\", cluster: { durability: \"single\" } }")
        #expect(try await store(["init", "--config", "carillon.json5", "--partitions", "2"]).status == 0)
        // The usual place.
        let check = try await store(["check"])
        #expect(check.status == 0, "\(check.output)\(check.errors)")
        // The durability of the configuration holds for a URL, too, and the option for both.
        #expect(try await store(["check", url, "--config", "carillon.json5"]).status == 0)
        #expect(try await store(["check", url]).status == 1)
        #expect(try await store(["check", "--durability", "replicated"]).status == 1)
        _ = try directory.write("other.json5", containing: "{}")
        let without = try await store(["check", "--config", "other.json5"])
        #expect(without.status == 78 && without.errors.contains("other.json5 has no store; add store:"))
        let variable = try await store(["migrate"], variables: ["-C", "/", "CARILLON_STORE=\(url)"])
        #expect(variable.status == 0, "\(variable.errors)")
        let none = try await store(["migrate"], variables: ["-C", "/"])
        #expect(none.status == 78 && none.errors.contains("or name the database with its URL"), "\(none.errors)")
        let missing = try await store(["check", "--config", "none.json5", "--json"])
        #expect(missing.status == 78)
        #expect(try json(missing)["exit_code"]?.integer == 78)
    }

    // MARK: Check

    @Test func `A sound store passes, and its parts are shown`() async throws {
        let url = try await database()
        _ = try await store(["init", url, "--partitions", "4"])
        let ended = try await store(["check", url, "--durability", "single"])
        #expect(ended.status == 0 && ended.errors.isEmpty, "\(ended.output)\(ended.errors)")
        for words in [
            "primary", "version 3", "4, 4 without owner", "No node has joined yet", "groups", "KiB",
            "passed: nodes can use this store\n",
        ] { #expect(ended.output.contains(words), "\(words): \(ended.output)") }
        _ = try await query(
            """
            INSERT INTO carillon.nodes (id, incarnation, address, public_key, state, until, lease, version, started)
            VALUES ('a', 1, 'tcp://a:1', 'k', 'live', now() + interval '1 hour', 5000000, '0.1', now());
            UPDATE carillon.leases SET node = 'a'
            """, in: url)
        let tree = try json(try await store(["check", url, "--durability", "single", "--json"]))
        #expect(tree["ok"]?.boolean == true && tree["exit_code"]?.integer == 0)
        #expect(tree["partitions"]?.integer == 4 && tree["partitions_without_owner"]?.integer == 0)
        let node = try #require(tree["nodes"]?.elements?.first)
        #expect(node["node"]?.string == "a" && node["state"]?.string == "live" && node["partitions"]?.integer == 4)
        #expect(node["lease_ms"]?.integer == 5000 && node["address"]?.string == "tcp://a:1")
        #expect((node["lease_ends_at"]?.integer ?? 0) > (node["started_at"]?.integer ?? .max))
        let server = try #require(tree["servers"]?.elements?.first)
        #expect(server["role"]?.string == "primary" && server["reachable"]?.boolean == true)
        #expect(server["timeline"]?.integer == 1 && server["clock_offset_ms"] != nil)
        let tables = tree["tables"]?.elements ?? []
        #expect(tables.contains { $0["table"]?.string == "devices" && ($0["size_bytes"]?.integer ?? 0) > 0 })
        #expect(tables.contains { $0["table"]?.string == "bodies" && ($0["parts"]?.integer ?? 0) > 24 })
    }

    @Test func `Faults are listed with remedies`() async throws {
        let url = try await database()
        let ended = try await store(["check", url])
        #expect(ended.status == 1)
        #expect(ended.output.contains("fault: the server 127.0.0.1"), "\(ended.output)")
        #expect(ended.output.contains("no synchronous standby"))
        #expect(ended.output.contains("has no store; make one with 'carillon store init'"))
        #expect(!ended.output.contains("passed"))
        let tree = try json(try await store(["check", url, "--json"]))
        #expect(tree["ok"]?.boolean == false && tree["exit_code"]?.integer == 1)
        #expect(tree["faults"]?.elements?.count == 2 && tree["partitions"] == nil)
    }

    // MARK: Migrate and restored

    @Test func `A store of this version is not migrated, and a newer one is refused`() async throws {
        let url = try await database()
        #expect(try await store(["migrate", url]).errors.contains("has no store"))
        _ = try await store(["init", url, "--partitions", "1"])
        let same = try await store(["migrate", url])
        #expect(same.status == 0 && same.output.hasSuffix("which is that of this program; there is nothing to do.\n"))
        let tree = try json(try await store(["migrate", url, "--json"]))
        #expect(tree["earlier_schema_version"]?.integer == 3 && tree["schema_version"]?.integer == 3)
        _ = try await query("UPDATE carillon.store SET version = 4", in: url)
        for verb in ["migrate", "restored"] {
            let newer = try await store([verb, url] + (verb == "restored" ? ["--yes"] : []))
            #expect(newer.status == 1 && newer.errors.contains("has version 4 of the tables"), "\(newer.errors)")
        }
    }

    @Test func `A restore is declared only with --yes`() async throws {
        let url = try await database()
        _ = try await store(["init", url, "--partitions", "2"])
        _ = try await query(
            """
            INSERT INTO carillon.nodes (id, incarnation, address, public_key, state, until, lease, version, started)
            VALUES ('a', 1, 'tcp://a:1', 'k', 'live', now() + interval '1 hour', 5000000, '0.1', now())
            """, in: url)
        let before = try await query("SELECT encode(incarnation, 'hex') FROM carillon.store", in: url)
        let asked = try await store(["restored", url])
        #expect(asked.status == 64 && asked.errors.contains("stop: a. Nothing was changed; add --yes"))
        #expect(try await query("SELECT encode(incarnation, 'hex') FROM carillon.store", in: url) == before)
        let done = try await store(["restored", url, "--yes"])
        let after = try await query("SELECT encode(incarnation, 'hex') FROM carillon.store", in: url)
        #expect(done.status == 0 && after != before && done.output.contains("has the incarnation \(after) now"))
        #expect(done.output.contains("start them again: a\n"))
        let tree = try json(try await store(["restored", url, "--yes", "--json"]))
        #expect(tree["nodes"]?.elements?.map(\.string) == ["a"] && tree["incarnation"]?.string != after)
    }

    // MARK: Import

    @Test func `The directory of a node that was stopped is imported, and the node does not start again`() async throws
    {
        let url = try await database()
        _ = try await store(["init", url, "--partitions", "4"])
        let scene = try await ServeScene()
        let file = try scene.configure(scene.app("shop"))
        let serve = try await RunningServe(file)
        let data = "\(scene.directory.path)/data"
        let running = try await store(["import", data, url, "--durability", "single"])
        #expect(running.status == 75 && running.errors.contains("another Carillon"), "\(running.errors)")
        #expect(try await serve.stop().status == 0)
        let added = try await ChildProcess.run(
            ChildProcess.carillon, ["keys", "api", "add", "orders", "--role", "push", "--data", data])
        #expect(added.status == 0)
        _ = try scene.directory.write("data/webhook-billing.json", containing: "{}")
        let damaged = try await store(["import", data, url, "--durability", "single"])
        #expect(damaged.status != 0 && damaged.errors.contains("webhook-billing.json"), "\(damaged.errors)")
        _ = try scene.directory.write(
            "data/webhook-billing.json", containing: #"{"position":3,"standing":"disabled","v":1}"#)
        let wrong = try await store(["import", "\(data)/none", url, "--durability", "single"])
        #expect(wrong.status == 65 && wrong.errors.contains("cannot open the data directory"))
        let strict = try await store(["import", data, url])
        #expect(strict.status == 69 && strict.errors.contains("no synchronous standby"), "\(strict.errors)")
        let done = try await store(["import", data, url, "--durability", "single"])
        #expect(done.status == 0, "\(done.errors)")
        #expect(
            try await query("SELECT author FROM carillon.app_marks WHERE app = 'billing' AND kind = 'webhook'", in: url)
                == "disabled")
        #expect(done.output.contains("API keys") && done.output.contains("Start nodes with this store."))
        #expect(
            try await query("SELECT name, length(sealing) FROM carillon.api_keys, carillon.store", in: url)
                == "orders|32")
        let again = try await store(["import", data, url, "--durability", "single", "--json"])
        #expect(again.status == 1)
        #expect(try json(again)["faults"]?.elements?.first?.string?.contains("was imported into") == true)
        let alone = try await ChildProcess.run(ChildProcess.carillon, ["serve", "--config", file])
        #expect(
            alone.status != 0 && alone.errors.contains("was imported into the store of a cluster"), "\(alone.errors)")
        #expect(try await store(["check", url, "--durability", "single"]).status == 0)
    }

    @Test func `An import that was killed is repeated`() async throws {
        let url = try await database()
        let server = try await Self.shared.value
        let data = "\(directory.path)/data"
        _ = try await store(["init", url, "--partitions", "2"])
        _ = try await ChildProcess.run(
            ChildProcess.carillon, ["keys", "api", "add", "orders", "--role", "push", "--data", data])
        let (ledger, _) = try await SQLiteLedger.open(SQLiteLedger.Settings(directory: data))
        await ledger.close()
        // The import waits for a lock when it stores the API keys.
        _ = try await query(
            """
            CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                PERFORM pg_advisory_xact_lock(4711); RETURN new; END $$;
            CREATE TRIGGER hold BEFORE UPDATE ON carillon.key_book FOR EACH ROW EXECUTE FUNCTION hold()
            """, in: url)
        let name = String(url[url.index(after: url.lastIndex(of: "/") ?? url.startIndex)...])
        let holder = try ChildProcess(
            "psql",
            [
                "-X", "-h", "127.0.0.1", "-p", "\(server.port)", "-U", "carillon", "-d", name, "-c",
                "SELECT pg_advisory_lock(4711), pg_sleep(600)",
            ])
        func locks(_ isGranted: Bool) -> String {
            "EXISTS (SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = database WHERE datname = '\(name)' AND "
                + "locktype = 'advisory' AND objid = 4711 AND granted = \(isGranted))"
        }
        try await server.wait(until: locks(true))
        let command = ["store", "import", data, url, "--durability", "single"]
        let killed = try ChildProcess(ChildProcess.carillon, command)
        try await server.wait(until: locks(false))
        let second = try await store(["import", data, url, "--durability", "single"])
        #expect(second.status == 75 && second.errors.contains("another Carillon"), "\(second.errors)")
        killed.send(SIGKILL)
        _ = try await killed.end()
        #expect(try await query("SELECT version FROM carillon.store", in: url) == "0")
        let unfinished = try await store(["check", url, "--durability", "single"])
        #expect(unfinished.status == 1 && unfinished.output.contains("has not ended"), "\(unfinished.output)")
        // The server has not noticed yet that its client is gone.
        let early = try await store(["import", data, url, "--durability", "single"])
        #expect(early.status == 1 && early.errors.contains("another import"), "\(early.errors)")
        holder.send(SIGKILL)
        _ = try await holder.end()
        try await server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(name)' AND query LIKE '%pg_sleep%' "
                + "AND pid <> pg_backend_pid()")
        try await server.wait(
            until:
                "NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = '\(name)' AND backend_type = 'client backend')"
        )
        let repeated = try await store(["import", data, url, "--durability", "single"])
        #expect(repeated.status == 0, "\(repeated.errors)")
        #expect(try await query("SELECT name FROM carillon.api_keys", in: url) == "orders")
        #expect(try await store(["check", url, "--durability", "single"]).status == 0)
    }

    @Test(
        "Passwords are removed from URLs in any text",
        arguments: [
            ("at postgres://u:s3same@h/d now", "at postgres://u@h/d now"), ("postgres://u@h/d", "postgres://u@h/d"),
            ("'postgres://u:a@b/c@h/d' and 'http://x:y@z'", "'postgres://u@h/d' and 'http://x@z'"),
            ("tcp://10.0.0.1:5580", "tcp://10.0.0.1:5580"), ("", ""), ("://", "://"), ("a: b@c", "a: b@c"),
        ])
    func hiddenPasswords(_ text: String, _ shown: String) {
        #expect(HiddenPassword.line(text) == shown)
    }
}
