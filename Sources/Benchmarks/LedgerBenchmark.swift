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

/// Submits messages and, on a separate thread, records the deliveries of accepted ones.
private final class LedgerProducer: LedgerWitness {
    func cancelled(_ orders: [CancelOrder]) {}

    private let ledger: SQLiteLedger
    private let devices: Int
    private let carriesOut: Bool
    private let thread = BlockingExecutor(name: "router")
    private let done = Locked(0)
    private let started = Locked(0)
    private static let app = AppID("shop")!
    private static let payload = Array(
        #"{"aps":{"alert":{"title":"Order shipped","body":"Your order 4711 is on its way."},"sound":"default"}}"#.utf8)

    init(_ ledger: SQLiteLedger, devices: Int, carriesOut: Bool) {
        self.ledger = ledger
        self.devices = devices
        self.carriesOut = carriesOut
    }

    var first: Int { started.withLock { $0 } }
    func name(_ number: Int) -> String { "bench-\(1_000_000_000_000 + number)" }

    func request(_ id: String) -> PushRequest {
        let number = UInt64(bitPattern: Int64(id.hashValue))
        let tokens = (0..<devices).map { DeviceToken(words: (number, UInt64($0), 1, 2)) }
        return PushRequest(
            Message(id: MessageID(id)!, app: Self.app, expiry: Expiry(expiresAt: 1_900_000_000), payload: Self.payload),
            to: .tokens(tokens))
    }

    /// Submits messages and waits until they are delivered. Returns the largest size of the write-ahead log.
    func run(_ count: Int, from first: Int, log: String) async throws -> Int {
        started.withLock { $0 = first }
        let begun = done.withLock { $0 }
        var made = 0
        var largest = 0
        let group = max(1, min(100, 1000 / devices))
        while made < count {
            while begun + made - done.withLock({ $0 }) > max(10, 4000 / devices) { usleep(200) }
            let size = min(group, count - made)
            ledger.accept((0..<size).map { request(name(first + made + $0)) }) { _ in }
            made += size
            if made % (100 * group) == 0 {
                var file = stat()
                stat(log, &file)
                largest = max(largest, Int(file.st_size))
            }
        }
        while done.withLock({ $0 }) < begun + count { usleep(500) }
        return largest
    }

    func accepted(_ messages: [AcceptedMessage]) {
        thread.execute { self.carryOut(messages) }
    }

    private func carryOut(_ messages: [AcceptedMessage]) {
        defer { done.withLock { $0 += messages.count } }
        guard carriesOut else { return }
        var records: [DeliveryRecord] = []
        records.reserveCapacity(messages.count * devices)
        var completed: [CompletedMessage] = []
        for message in messages {
            guard case .tokens(let tokens) = message.audience else { continue }
            var counts = message.counts
            for token in tokens {
                records.append(
                    DeliveryRecord(
                        seq: message.seq, fingerprint: message.fingerprint, acceptedAt: message.acceptedAt,
                        message: message.message, device: ledger.identities.device(of: Self.app, token: token),
                        apnsID: APNSID(high: 7, low: message.seq), attempt: 1, outcome: .sent(uniqueID: nil)))
            }
            counts.sent += UInt32(tokens.count)
            if message.needsClaim {
                let devices = records.suffix(tokens.count).map(\.device)
                let page = ClaimPage(seq: message.seq, fingerprint: message.fingerprint, devices: devices)
                ledger.claim([page]) { _ in }
            }
            completed.append(CompletedMessage(seq: message.seq, message: message.message, counts: counts))
        }
        ledger.record(records, completed: completed)
    }

    func committed(_ segment: LogSegment) {}
    func healthChanged(_ fault: LedgerFault?) {}
}

/// Returns the CPU time of the threads with this name, in seconds.
private func threadCPU(_ name: String) -> Double {
    let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
    var ticks = 0.0
    for task in tasks {
        guard let data = FileManager.default.contents(atPath: "/proc/self/task/\(task)/stat") else { continue }
        let text = String(decoding: data, as: UTF8.self)
        guard let end = text.lastIndex(of: ")"), text.contains("(\(name))") else { continue }
        let fields = text[end...].split(separator: " ")
        ticks += (Double(fields[12]) ?? 0) + (Double(fields[13]) ?? 0)
    }
    return ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
}

/// Returns the current resident memory in MiB.
private func residentMemory() -> Double {
    let text = FileManager.default.contents(atPath: "/proc/self/statm").map { String(decoding: $0, as: UTF8.self) }
    return (text?.split(separator: " ").dropFirst().first.flatMap { Double($0) } ?? 0) * 4096 / 1_048_576
}
