import FoundationEssentials
import Glibc
import PushLoop
import PushModel
import PushPostgreSQL
import PushStore
import TestSupport

enum ClusterLedgerBenchmark {
    /// Measures messages through the ledger in PostgreSQL and through that in SQLite, one after the other: accepted, sent,
    /// completed. The CPU time is that of the ledger's threads.
    ///
    ///   postgresql ledger [--url URL] [--messages 100000] [--rounds 3] [--partitions 64]
    ///
    /// Without a URL, a server and a synchronous standby are started. With one, the tables are made in that database.
    static func run(_ arguments: ArraySlice<String>) async throws -> [Figure] {
        let settings = try Settings(arguments)
        let store = try await store(settings)
        var (sqlite, postgresql, walls): ([Double], [Double], [Double]) = ([], [], [])
        for round in 0..<settings.rounds {
            sqlite.append(try await inFiles(settings.messages))
            let (cpu, wall) = try await inDatabase(store, settings.messages, round: round)
            postgresql.append(cpu)
            walls.append(wall)
        }
        let ratios = zip(postgresql, sqlite).map { $0 / $1 }
        return [
            Figure(name: "SQLite, CPU", value: median(sqlite), unit: "us a message"),
            Figure(name: "PostgreSQL, CPU", value: median(postgresql), unit: "us a message"),
            Figure(name: "ratio", value: median(ratios), unit: ""),
            Figure(name: "least ratio", value: ratios.min() ?? 0, unit: ""),
            Figure(name: "largest ratio", value: ratios.max() ?? 0, unit: ""),
            Figure(name: "PostgreSQL, wall", value: median(walls), unit: "us a message"),
        ]
    }

    /// Measures how fast waiting messages are stored in PostgreSQL.
    ///
    ///   postgresql flushes --url URL [--messages 200000] [--outstanding 4000] [--writers 2]
    static func flushes(_ arguments: ArraySlice<String>) async throws -> [Figure] {
        let settings = try Settings(arguments)
        let store = try await store(settings)
        let (ledger, _) = try await PostgreSQLLedger.openTakingAll(store)
        let producer = LedgerProducer(ledger, devices: 1, carriesOut: false, outstanding: settings.outstanding)
        await ledger.start(producer)
        let cpu = threadCPU("ledger")
        let before = await ledger.status().commits
        let start = MonotonicTime.current()
        _ = try await producer.run(settings.messages, from: 0)
        let wall = (MonotonicTime.current() - start).inSeconds
        let commits = await ledger.status().commits
        let count = Double(commits.count - before.count)
        let used = threadCPU("ledger") - cpu
        await ledger.close()
        return [
            Figure(name: "flushes", value: count / wall, unit: "/s"),
            Figure(name: "messages", value: Double(settings.messages) / wall, unit: "/s"),
            Figure(name: "messages a flush", value: Double(settings.messages) / count, unit: ""),
            Figure(name: "flush", value: (commits.total - before.total).inSeconds * 1000 / count, unit: "ms"),
            Figure(name: "CPU", value: used * 1e6 / Double(settings.messages), unit: "us a message"),
        ]
    }

    private struct Settings {
        var url: String?
        var messages = 100_000
        var rounds = 3
        var partitions = 64
        var outstanding = 4000
        var writers = 2

        init(_ arguments: ArraySlice<String>) throws {
            var rest = arguments
            while let name = rest.popFirst() {
                guard let value = rest.popFirst() else {
                    throw PostgreSQLBenchmark.Fault(description: "\(name) has no value")
                }
                let number = Int(value) ?? 0
                switch name {
                case "--url": url = value
                case "--messages": messages = number
                case "--rounds": rounds = number
                case "--partitions": partitions = number
                case "--outstanding": outstanding = number
                case "--writers": writers = number
                default: throw PostgreSQLBenchmark.Fault(description: "unknown option \(name)")
                }
            }
            guard messages > 0, rounds > 0 else {
                throw PostgreSQLBenchmark.Fault(description: "a number is not positive")
            }
        }
    }

    private static func store(_ settings: Settings) async throws -> PostgreSQLLedger.Settings {
        let url: String
        if let given = settings.url {
            url = given
        } else {
            let server = try await PostgreSQLServer.start(isOnDisk: true)
            let standby = try await server.standby()
            servers.withLock { $0 = [server, standby] }
            url = server.url()
        }
        var store = PostgreSQLLedger.Settings(try PostgreSQLURL.parse(url), resolver: { [$0.name] })
        store.writers = settings.writers
        try await PostgreSQLLedger.create(store, parts: settings.partitions)
        return store
    }

    /// The servers of this process, which end when they are released.
    private static let servers = Locked<[PostgreSQLServer]>([])

    private static func inFiles(_ messages: Int) async throws -> Double {
        let directory = "/tmp/carillon-ledger-\(getpid())"
        mkdir(directory, 0o700)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let (ledger, _) = try await SQLiteLedger.open(SQLiteLedger.Settings(directory: directory))
        return try await measure(ledger, messages, from: 0).cpu
    }

    private static func inDatabase(
        _ store: PostgreSQLLedger.Settings, _ messages: Int, round: Int
    ) async throws -> (cpu: Double, wall: Double) {
        let (ledger, _) = try await PostgreSQLLedger.openTakingAll(store)
        return try await measure(ledger, messages, from: round * messages)
    }

    /// Returns the CPU time of the ledger's threads and the time that passed, in microseconds a message.
    private static func measure(
        _ ledger: any LedgerEngine, _ messages: Int, from first: Int
    ) async throws -> (cpu: Double, wall: Double) {
        let producer = LedgerProducer(ledger, devices: 1, carriesOut: true)
        await ledger.start(producer)
        let cpu = threadCPU("ledger") + threadCPU("ledger-read")
        let start = MonotonicTime.current()
        _ = try await producer.run(messages, from: first)
        await ledger.flush()
        let wall = (MonotonicTime.current() - start).inSeconds
        let used = threadCPU("ledger") + threadCPU("ledger-read") - cpu
        await ledger.close()
        return (used * 1e6 / Double(messages), wall * 1e6 / Double(messages))
    }

    private static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
    }
}
