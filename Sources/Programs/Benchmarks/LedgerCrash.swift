import Glibc
import PushLoop
import PushModel
import PushStore

/// Returns the request of `LedgerCrash` with this number: to one device, to several devices, or with a start time.
func crashRequest(_ number: Int) -> PushRequest {
    let app = AppID(number % 5 == 0 ? "other" : "shop")!
    let count = number % 7 == 0 ? 20 : 1
    let tokens = (0..<count).map { Address(words: (UInt64(number), UInt64($0), 3, 4)) }
    return PushRequest(
        Message(
            id: MessageID("crash-\(number)")!, app: app, payload: Array("{\"n\":\(number)}".utf8),
            notBefore: number % 11 == 0 ? UnixSeconds(4_000_000_000) : nil), to: .tokens(tokens))
}

enum LedgerCrash {
    /// Submits messages to a ledger and delivers half of them. Prints the number of each accepted message with its
    /// sequence number. A test kills the process at a random moment and checks the ledger.
    ///
    ///   ledger-crash --directory DIRECTORY --from NUMBER
    static func run(_ arguments: [String]) async throws -> [Figure] {
        func value(_ option: String) -> String? {
            arguments.firstIndex(of: option).flatMap { $0 + 1 < arguments.count ? arguments[$0 + 1] : nil }
        }
        guard let directory = value("--directory"), let from = value("--from").flatMap({ Int($0) }) else {
            throw LedgerCrashUsage()
        }
        let (ledger, _) = try await SQLiteLedger.open(SQLiteLedger.Settings(directory: directory))
        await ledger.start(CrashWitness(ledger))
        var next = from
        while next < from + 10_000_000 {
            let numbers = next..<(next + 1 + next % 40)
            next = numbers.upperBound
            let replies = await withCheckedContinuation { continuation in
                ledger.accept(numbers.map { crashRequest($0) }) { continuation.resume(returning: $0) }
            }
            var lines: [UInt8] = []
            for case (let number, .accepted(let seq)) in zip(numbers, replies) {
                lines += Array("\(number) \(seq)\n".utf8)
            }
            guard write(1, lines, lines.count) == lines.count else { break }
        }
        return []
    }
}

/// Records deliveries to every device of every second message.
private final class CrashWitness: LedgerWitness {
    func cancelled(_ orders: [CancelOrder]) {}

    private let ledger: SQLiteLedger

    init(_ ledger: SQLiteLedger) {
        self.ledger = ledger
    }

    func accepted(_ messages: [AcceptedMessage]) {
        var records: [DeliveryRecord] = []
        var completed: [CompletedMessage] = []
        for message in messages where message.seq % 2 == 0 && message.message.notBefore == nil {
            guard case .tokens(let tokens) = message.audience else { continue }
            var counts = OutcomeCounts()
            for token in tokens {
                counts.sent += 1
                records.append(
                    DeliveryRecord(
                        seq: message.seq, fingerprint: message.fingerprint, acceptedAt: message.acceptedAt,
                        message: message.message,
                        device: ledger.identities.device(of: message.message.app, token: token),
                        deliveryID: DeliveryID(high: 1, low: 2), attempt: 1, outcome: .sent(providerID: nil)))
            }
            completed.append(CompletedMessage(seq: message.seq, message: message.message, counts: counts))
        }
        ledger.record(records, completed: completed)
    }

    func committed(_ segments: [LogSegment]) {}
    func healthChanged(_ fault: LedgerFault?) {}
}

private struct LedgerCrashUsage: Error, CustomStringConvertible {
    var description: String { "ledger-crash needs --directory DIRECTORY --from NUMBER" }
}
