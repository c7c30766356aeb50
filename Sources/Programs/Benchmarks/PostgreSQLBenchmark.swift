import FoundationEssentials
import PushLoop
import PushPostgreSQL

enum PostgreSQLBenchmark {
    /// Writes groups to PostgreSQL as a clustered ledger does: each flush is one statement and one commit, with a row
    /// for each partition whose lease has the right epoch. It makes the tables `bench_lease` and `bench_group`.
    ///
    ///   postgresql groups --url URL [--connections 2] [--depth 2] [--partitions 64] [--bytes 77000] [--seconds 10]
    static func run(_ arguments: [String]) async throws -> [Figure] {
        switch arguments.first {
        case "groups": break
        case "ledger": return try await ClusterLedgerBenchmark.run(arguments.dropFirst())
        case "flushes": return try await ClusterLedgerBenchmark.flushes(arguments.dropFirst())
        default: throw Fault(description: "postgresql: name a part: groups, ledger or flushes")
        }
        let settings = try Settings(arguments.dropFirst())
        let loop = EventLoop(name: "groups")
        let done = await withCheckedContinuation { continuation in
            loop.execute {
                let writer = GroupWriter(settings, on: loop) { continuation.resume(returning: $0) }
                writer.start()
            }
        }
        let tally = try done.get()
        await loop.shutDown()
        return tally
    }

    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    struct Settings {
        var options = PostgreSQLOptions(hosts: [], database: "", user: "")
        var connections = 2
        var depth = 2
        var partitions = 64
        var bytes = 77_000
        var seconds = 10

        init(_ arguments: ArraySlice<String>) throws {
            var rest = arguments
            while let name = rest.popFirst() {
                guard let value = rest.popFirst() else { throw Fault(description: "\(name) has no value") }
                let number = Int(value) ?? 0
                switch name {
                case "--url": options = try PostgreSQLURL.parse(value)
                case "--connections": connections = number
                case "--depth": depth = number
                case "--partitions": partitions = number
                case "--bytes": bytes = number
                case "--seconds": seconds = number
                default: throw Fault(description: "unknown option \(name)")
                }
            }
            guard let host = options.hosts.first else { throw Fault(description: "--url is missing") }
            guard connections > 0, depth > 0, (1...1024).contains(partitions), bytes >= partitions, seconds > 0 else {
                throw Fault(description: "a number is not positive")
            }
            options.hosts = [host]
        }
    }
}

/// Opens the connections, and keeps `depth` flushes in flight on each. It belongs to its loop.
private final class GroupWriter {
    private typealias Fault = PostgreSQLBenchmark.Fault

    private static let epoch: Int64 = 7
    private static let write = PostgreSQLStatement(
        "write",
        sql: """
            WITH held AS MATERIALIZED (
              SELECT part FROM bench_lease JOIN unnest($1::int[], $2::bigint[]) AS mine(p, e) ON part = p AND epoch = e
              FOR SHARE OF bench_lease)
             INSERT INTO bench_group(part, first, body)
             SELECT p, $3, b FROM unnest($1::int[], $4::bytea[]) AS groups(p, b) JOIN held ON held.part = p
            """,
        parameters: [.int4Array, .int8Array, .int8, .byteaArray])

    private let settings: PostgreSQLBenchmark.Settings
    private let loop: EventLoop
    private let end: (Result<[Figure], any Error>) -> Void
    private var connections: [PostgreSQLConnection] = []
    private let section = PostgreSQLSection()
    private let partitions: [Int32]
    private let epochs: [Int64]
    private let body: [UInt8]
    private var next: [Int64]
    private var ready = 0
    private var began = MonotonicTime.current()
    private var cpu = Duration.zero
    private var latencies: [Double] = []
    private var inFlight = 0
    private var rows = 0
    private var isOver = false

    init(
        _ settings: PostgreSQLBenchmark.Settings, on loop: EventLoop,
        end: @escaping (Result<[Figure], any Error>) -> Void
    ) {
        self.settings = settings
        self.loop = loop
        self.end = end
        partitions = Array(0..<Int32(settings.partitions))
        epochs = [Int64](repeating: Self.epoch, count: settings.partitions)
        body = (0..<settings.bytes / settings.partitions).map { _ in UInt8.random(in: 0...255) }
        next = (0..<settings.connections).map { Int64($0) << 40 }
    }

    func start() {
        let host = settings.options.hosts[0]
        let target = PostgreSQLTarget(host: host, address: host.isSocketDirectory ? nil : host.name)
        for _ in 0..<settings.connections {
            let connection = PostgreSQLConnection(on: loop, to: target, options: settings.options)
            connection.onReady = { [self] in
                ready += 1
                if ready == settings.connections { makeTables() }
            }
            connection.onClosed = { [self] in fail(Fault(description: $0)) }
            connections.append(connection)
            connection.open()
        }
    }

    private func makeTables() {
        for sql in [
            "DROP TABLE IF EXISTS bench_lease, bench_group",
            "CREATE TABLE bench_lease(part int PRIMARY KEY, epoch bigint NOT NULL) WITH (fillfactor = 50)",
            "INSERT INTO bench_lease SELECT p, \(Self.epoch) FROM generate_series(0, 1023) p",
            "CREATE TABLE bench_group(part int, first bigint, body bytea, PRIMARY KEY (part, first))",
            "ALTER TABLE bench_group ALTER body SET STORAGE EXTERNAL", "ANALYZE bench_lease",
        ] {
            section.call(.once(sql: sql))
        }
        connections[0].send(section, timeout: .seconds(60)) { [self] reply in
            guard case .done = reply else { return fail(Fault(description: "\(reply)")) }
            began = .current()
            cpu = processCPU()
            for index in connections.indices { fill(index) }
        }
    }

    private func fill(_ index: Int) {
        let connection = connections[index]
        while connection.sectionsInFlight < settings.depth, isRunning { flush(on: connection, index: index) }
        if inFlight == 0 { finish() }
    }

    private var isRunning: Bool { !isOver && MonotonicTime.current() - began < .seconds(settings.seconds) }

    private func flush(on connection: PostgreSQLConnection, index: Int) {
        section.clear()
        section.call(Self.write) { parameters in
            parameters.append(int4Array: partitions)
            parameters.append(int8Array: epochs)
            parameters.append(int8: next[index])
            parameters.appendByteaArray { array in
                body.withUnsafeBytes { bytes in
                    for _ in 0..<settings.partitions { array.append(bytes) }
                }
            }
        }
        next[index] += 1
        inFlight += 1
        let sent = MonotonicTime.current()
        connection.send(section, timeout: .seconds(60)) { [self] reply in
            inFlight -= 1
            guard case .done(let results) = reply else { return fail(Fault(description: "\(reply)")) }
            rows += results[0].affectedRows
            latencies.append((MonotonicTime.current() - sent).inSeconds * 1000)
            fill(index)
        }
    }

    private func finish() {
        guard !isOver else { return }
        let elapsed = (MonotonicTime.current() - began).inSeconds
        let flushes = latencies.count
        let cpuTime = microseconds(since: cpu, for: max(1, flushes))
        close()
        latencies.sort()
        guard flushes > 0 else { return end(.failure(Fault(description: "nothing was written"))) }
        end(
            .success([
                Figure(name: "groups", value: Double(flushes) / elapsed, unit: "/s"),
                Figure(name: "bytes", value: Double(flushes * settings.bytes) / elapsed / 1e6, unit: "MB/s"),
                Figure(name: "reply, median", value: latencies[flushes / 2], unit: "ms"),
                Figure(name: "reply, 99 %", value: latencies[flushes * 99 / 100], unit: "ms"),
                Figure(name: "CPU", value: cpuTime, unit: "us a group"),
                Figure(name: "fenced", value: Double(flushes * settings.partitions - rows), unit: "rows"),
            ]))
    }

    private func fail(_ error: any Error) {
        guard !isOver else { return }
        close()
        end(.failure(error))
    }

    private func close() {
        isOver = true
        for connection in connections { connection.close() }
        connections = []
    }
}
