import Foundation
import PushLoop
import PushModel
import PushPipeline

enum RouterBenchmark {
    /// Measures the cost of the router per delivery, with a gateway, a ledger and a registry that cost nothing: from
    /// accept to submit, and from report to record, for messages to one, ten and a thousand devices.
    static func run(_ arguments: [String]) async throws -> [Figure] {
        let rounds = arguments.first.flatMap(Int.init) ?? 50
        // This runs first, while no freed memory is available for reuse.
        var figures = await spilled(1_000_000)
        figures += await RouterRun(tokens: 1, messages: 10_000).measure("one device", rounds: rounds)
        figures += await RouterRun(tokens: 1000, messages: 10).measure("a thousand devices", rounds: rounds)
        figures += await RouterRun(tokens: 10, messages: 1000).measure("ten devices", rounds: rounds)
        return figures
    }
}

/// Measures the resident memory per message that waits on disk.
private func spilled(_ count: UInt64) async -> [Figure] {
    let loop = EventLoop(name: "router")
    let app = AppID("shop")!
    let router = Router(
        on: loop, ledger: IdleLedger(), registry: IdleRegistry(),
        identities: Identities(secret: (0..<32).map { UInt8($0) })!)
    let message = Message(id: MessageID("one")!, app: app, payload: [1])
    var before = 0.0
    for first in stride(from: UInt64(0), to: count, by: 1000) {
        if first == 100_000 { before = residentMemory() }
        router.accepted(
            (0..<1000).map {
                AcceptedMessage(
                    seq: first + $0, acceptedAt: WallTime(milliseconds: 0), fingerprint: MessageFingerprint($0),
                    message: message,
                    audience: .everyone, needsClaim: true)
            })
        await loop.run {}
    }
    // The second turn of the loop starts after the tick that processed the last messages has ended.
    await loop.run {}
    let bytes = (residentMemory() - before) * 1024 * 1024 / Double(count - 100_000)
    precondition(router.unfinished == Int(count))
    await loop.shutDown()
    return [Figure(name: "a message that waits on disk", value: bytes, unit: "bytes resident")]
}

/// Returns the resident memory in MiB.
private func residentMemory() -> Double {
    guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else { return 0 }
    for line in status.split(separator: "\n") where line.hasPrefix("VmRSS:") {
        return (Double(line.split(separator: " ", omittingEmptySubsequences: true).dropLast().last ?? "0") ?? 0) / 1024
    }
    return 0
}

private struct RouterRun {
    let tokens: Int
    let messages: Int

    func measure(_ name: String, rounds: Int) async -> [Figure] {
        let loop = EventLoop(name: "router")
        let ledger = IdleLedger()
        let gate = IdleGate()
        let app = AppID("shop")!
        let router = Router(
            on: loop, ledger: ledger, registry: IdleRegistry(), identities: Identities(secret: secret)!)
        router.appChanged(app, gate: gate)
        var taken: UInt64 = 0
        router.report(GatewayReport(app: app, credit: 40_000, taken: taken))
        var out: Duration = .zero
        var back: Duration = .zero
        for round in 0..<rounds {
            let batches = makeBatches(app, round: UInt64(round))
            await settle(loop)
            var began = processCPU()
            for batch in batches { router.accepted(batch) }
            await settle(loop)
            out += processCPU() - began

            var reports: [GatewayReport] = []
            for batch in gate.take() {
                taken += UInt64(batch.count)
                reports.append(
                    GatewayReport(
                        app: app,
                        deliveries: batch.map {
                            DeliveryReport(of: $0, .sent(providerID: nil), latency: .milliseconds(1))
                        }, credit: 40_000, taken: taken))
            }
            await settle(loop)
            began = processCPU()
            for report in reports { router.report(report) }
            await settle(loop)
            back += processCPU() - began
        }
        let count = rounds * messages * tokens
        precondition(Int(taken) == count && ledger.ended == count, "router: \(taken) of \(count) went out")
        await loop.shutDown()
        return [
            Figure(
                name: "\(name): accept to submit", value: out.inSeconds * 1e9 / Double(count), unit: "ns a delivery"),
            Figure(
                name: "\(name): report to record", value: back.inSeconds * 1e9 / Double(count), unit: "ns a delivery"),
        ]
    }

    private var secret: [UInt8] { (0..<32).map { UInt8($0) } }

    private func settle(_ loop: EventLoop) async {
        // Replies arrive in the next tick, and their effects in the tick after that.
        for _ in 0..<20 { await loop.run {} }
    }

    private func makeBatches(_ app: AppID, round: UInt64) -> [[AcceptedMessage]] {
        let payload = Array(#"{"aps":{"alert":{"title":"Order 4711","body":"On its way"}}}"#.utf8)
        let perBatch = min(messages, 500)
        return (0..<messages / perBatch).map { batch in
            (0..<perBatch).map { index in
                let number = round * UInt64(messages) + UInt64(batch * perBatch + index)
                let audience = (0..<UInt64(tokens)).map { Address(words: (number, $0, 7, 9)) }
                return AcceptedMessage(
                    seq: number + 1, acceptedAt: .current(),
                    fingerprint: MessageFingerprint(number),
                    message: Message(id: MessageID("order-\(number)-shipped")!, app: app, payload: payload),
                    audience: .tokens(audience), needsClaim: tokens > 1)
            }
        }
    }
}

private final class IdleGate: DeliveryGate {
    func recall(_ number: UInt64) {}

    private let batches = Locked<[[Delivery]]>([])

    func submit(_ batch: [Delivery]) { batches.withLock { $0.append(batch) } }

    func take() -> [[Delivery]] {
        batches.withLock { batches in
            defer { batches = [] }
            return batches
        }
    }
}

private final class IdleLedger: Ledger {
    func cancel(_ requests: [CancelRequest], reply: @escaping @Sendable ([Cancellation]) -> Void) { reply([.unknown]) }
    func ended(_ cancels: [CancelEnd], releasing claims: [ClaimPage]) {}

    private let count = Locked(0)

    var ended: Int { count.withLock { $0 } }

    func accept(_ group: [PushRequest], reply: @escaping @Sendable ([Acceptance]) -> Void) { reply([]) }
    func record(_ deliveries: [DeliveryRecord], completed: [CompletedMessage]) {
        count.withLock { $0 += deliveries.count }
    }
    func note(_ events: [EventDraft], done: (@Sendable (UInt64?) -> Void)?) {}
    func claim(_ pages: [ClaimPage], reply: @escaping @Sendable ([[ClaimVerdict]]) -> Void) {
        reply(pages.map { Array(repeating: .new, count: $0.devices.count) })
    }
    func load(_ seqs: [UInt64], reply: @escaping @Sendable (Result<[AcceptedMessage], LedgerFault>) -> Void) {
        reply(.success([]))
    }
    func due(at time: UnixSeconds, limit: Int, reply: @escaping @Sendable (Result<DueMessages, LedgerFault>) -> Void) {
        reply(.success(DueMessages(messages: [], next: nil)))
    }
}

private final class IdleRegistry: DeviceRegistry {
    let inactive: any DeviceSet = NoDevices()
    let ofOtherKinds: any DeviceSet = NoDevices()

    func page(
        of audience: Audience, app: AppID, kind: AddressKind, wording: Wording?, after: AudienceCursor?, limit: Int
    ) async throws -> AudiencePage {
        AudiencePage(devices: [], next: nil)
    }
    func sightings(of devices: [DeviceID]) async throws -> [Sighting?] { devices.map { _ in nil } }
}
