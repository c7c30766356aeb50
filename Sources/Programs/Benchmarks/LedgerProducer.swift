import FoundationEssentials
import Glibc
import PushLoop
import PushModel
import PushStore

/// Submits messages and, on a separate thread, records the deliveries of accepted ones.
final class LedgerProducer: LedgerWitness {
    func cancelled(_ orders: [CancelOrder]) {}

    private let ledger: any LedgerEngine
    private let devices: Int
    private let carriesOut: Bool
    private let outstanding: Int
    private let thread = BlockingExecutor(name: "router")
    private let done = Locked(0)
    private let started = Locked(0)
    private static let app = AppID("shop")!
    private static let payload = Array(
        #"{"aps":{"alert":{"title":"Order shipped","body":"Your order 4711 is on its way."},"sound":"default"}}"#.utf8)

    init(_ ledger: any LedgerEngine, devices: Int, carriesOut: Bool, outstanding: Int = 4000) {
        self.ledger = ledger
        self.devices = devices
        self.carriesOut = carriesOut
        self.outstanding = outstanding
    }

    var first: Int { started.withLock { $0 } }
    func name(_ number: Int) -> String { "bench-\(1_000_000_000_000 + number)" }

    func request(_ id: String) -> PushRequest {
        let number = UInt64(bitPattern: Int64(id.hashValue))
        let tokens = (0..<devices).map { Address(words: (number, UInt64($0), 1, 2)) }
        return PushRequest(
            Message(id: MessageID(id)!, app: Self.app, expiry: Expiry(expiresAt: 1_900_000_000), payload: Self.payload),
            to: .tokens(tokens))
    }

    /// Submits messages and waits until they are delivered. Returns the largest size of the write-ahead log, if there is
    /// one.
    func run(_ count: Int, from first: Int, log: String = "") async throws -> Int {
        started.withLock { $0 = first }
        let begun = done.withLock { $0 }
        var made = 0
        var largest = 0
        let group = max(1, min(100, 1000 / devices))
        while made < count {
            while begun + made - done.withLock({ $0 }) > max(10, outstanding / devices) { usleep(200) }
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
                        deliveryID: DeliveryID(high: 7, low: message.seq), attempt: 1, outcome: .sent(providerID: nil)))
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

    func committed(_ segments: [LogSegment]) {}
    func healthChanged(_ fault: LedgerFault?) {}
}

/// Returns the CPU time of the threads with this name, in seconds.
func threadCPU(_ name: String) -> Double {
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
