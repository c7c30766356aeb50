import FoundationEssentials
import Glibc
import PushLoop
import PushModel
import PushStore

enum LedgerBenchmark {
    /// Measures messages in a ledger: accepted, sent, completed. The CPU time is that of the ledger's threads, without
    /// the threads that produce and deliver the messages.
    ///
    ///   ledger [messages [devices per message [DIRECTORY]]] [--waiting]
    ///
    /// A given directory is kept and opened again by the next run. With `--waiting` no message is delivered.
    static func run(_ arguments: [String]) async throws -> [Figure] {
        let values = arguments.filter { !$0.hasPrefix("--") }
        let messages = values.first.flatMap { Int($0) } ?? 100_000
        let devices = values.dropFirst().first.flatMap { Int($0) } ?? 1
        let directory = values.dropFirst(2).first ?? "/tmp/carillon-ledger-\(getpid())"
        mkdir(directory, 0o700)
        defer { if values.count < 3 { try? FileManager.default.removeItem(atPath: directory) } }
        var figures: [Figure] = []

        let began = MonotonicTime.current()
        let (ledger, backlog) = try await SQLiteLedger.open(SQLiteLedger.Settings(directory: directory))
        figures.append(Figure(name: "open", value: (MonotonicTime.current() - began).inSeconds, unit: "s"))
        figures.append(Figure(name: "CPU to open", value: threadCPU("ledger"), unit: "s"))
        figures.append(Figure(name: "memory when open", value: residentMemory(), unit: "MiB"))
        figures.append(Figure(name: "waiting", value: Double(backlog.lanes.reduce(0) { $0 + $1.seqs.count }), unit: ""))
        let before = await ledger.status()
        let producer = LedgerProducer(ledger, devices: devices, carriesOut: !arguments.contains("--waiting"))
        await ledger.start(producer)

        if messages > 0 {
            let cpu = (threadCPU("ledger"), threadCPU("ledger-read"))
            let start = MonotonicTime.current()
            let log = try await producer.run(messages, from: Int(before.newest), log: directory + "/ledger.db-wal")
            let wall = (MonotonicTime.current() - start).inSeconds
            let count = Double(messages * devices)
            let status = await ledger.status()
            figures.append(
                Figure(
                    name: "writing thread", value: (threadCPU("ledger") - cpu.0) * 1e6 / count, unit: "us a delivery"))
            figures.append(
                Figure(
                    name: "reading thread", value: (threadCPU("ledger-read") - cpu.1) * 1e6 / count,
                    unit: "us a delivery"))
            figures.append(Figure(name: "wall", value: wall * 1e6 / count, unit: "us a delivery"))
            figures.append(Figure(name: "groups", value: Double(status.commits.count - before.commits.count), unit: ""))
            figures.append(Figure(name: "largest write-ahead log", value: Double(log) / 1_048_576, unit: "MiB"))
            figures.append(Figure(name: "memory", value: residentMemory(), unit: "MiB"))
            figures.append(Figure(name: "keys", value: Double(status.keyBytes) / 1_048_576, unit: "MiB"))
        }
        figures += await idleLatency(of: ledger, producer: producer)
        figures += try await traceTime(of: ledger, producer: producer)
        await ledger.close()
        return figures
    }
}

/// Measures one request at a time, as from a producer that waits for each reply.
private func idleLatency(of ledger: SQLiteLedger, producer: LedgerProducer) async -> [Figure] {
    var times: [Double] = []
    for index in 0..<500 {
        let request = producer.request("idle-\(getpid())-\(index)")
        let start = MonotonicTime.current()
        await withCheckedContinuation { continuation in
            ledger.accept([request]) { _ in continuation.resume() }
        }
        times.append((MonotonicTime.current() - start).inSeconds * 1000)
    }
    times.sort()
    return [
        Figure(name: "idle reply, median", value: times[250], unit: "ms"),
        Figure(name: "idle reply, 99 %", value: times[495], unit: "ms"),
    ]
}

private func traceTime(of ledger: SQLiteLedger, producer: LedgerProducer) async throws -> [Figure] {
    var times: [Double] = []
    var found = 0
    for index in 0..<20 {
        let id = MessageID(producer.name(producer.first + index * 997))!
        let start = MonotonicTime.current()
        found += try await ledger.trace(.message(id), limit: 100).count
        times.append((MonotonicTime.current() - start).inSeconds * 1000)
    }
    times.sort()
    return [
        Figure(name: "trace of a message, median", value: times[10], unit: "ms"),
        Figure(name: "trace of a message, longest", value: times[19], unit: "ms"),
        Figure(name: "segments found", value: Double(found), unit: ""),
    ]
}

/// Returns the current resident memory in MiB.
private func residentMemory() -> Double {
    let text = FileManager.default.contents(atPath: "/proc/self/statm").map { String(decoding: $0, as: UTF8.self) }
    return (text?.split(separator: " ").dropFirst().first.flatMap { Double($0) } ?? 0) * 4096 / 1_048_576
}
