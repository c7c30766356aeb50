import APNs
import PushGateways
import PushLogic
import PushLoop
import PushModel
import PushTransport
import PushWire

enum StageBenchmark {
    /// Measures each stage between a message and the network on its own.
    static func run(_ arguments: [String]) async throws -> [Figure] {
        let payload = Array(
            #"{"aps":{"alert":{"title":"Order 4711","body":"On its way"},"sound":"default","badge":3}}"#.utf8)
        let message = Message(id: MessageID("order-4711-shipped")!, app: AppID("shop")!, payload: payload)
        let options = PushOptions(.device(.alert), priority: 10)
        let refusal = Array(#"{"reason":"Unregistered","timestamp":1767225600000}"#.utf8)
        let key = try ES256PrivateKey.generate()
        let claims = Array(String(repeating: "a", count: 90).utf8)
        var sum: UInt64 = 0

        return [
            measure("payload checked", times: 30_000) { _ in
                if PayloadRules.findings(in: payload, for: options).isEmpty { sum &+= 1 }
            },
            measure("apns-id derived", times: 100_000) { number in
                let token = Address(words: (number, 1, 2, 3))
                sum &+= DeliveryID.derived(app: message.app, message: message.id, token: token).low
            },
            measure("token and id written as text", times: 3_000_000) { number in
                withUnsafeTemporaryAllocation(byteCount: 128, alignment: 8) { text in
                    let length = Address(words: (number, 1, 2, 3)).writeHex(into: text.baseAddress!)
                    DeliveryID(high: number, low: 1).write(into: text.baseAddress! + 72)
                    sum &+= UInt64(length)
                }
            },
            measureMachine(message, sum: &sum),
            measure("an error response parsed", times: 300_000) { _ in
                sum &+= UInt64(Refusal(status: 410, body: refusal).reason?.rawValue.utf8.count ?? 0)
            },
            measure("a provider token signed (once in 50 minutes)", times: 3000) { _ in
                sum &+= UInt64((try? key.sign(claims))?.count ?? 0)
            },
            Figure(name: "(sum, so that the optimizer removes nothing)", value: Double(sum % 1000), unit: ""),
        ]
    }
}

private func measureMachine(_ message: Message, sum: inout UInt64) -> Figure {
    var machine = ConnectionMachine()
    _ = machine.settingsReceived(limit: 1000, now: .current())
    return measureBatches("through the connection machine", batches: 20_000, size: 100) { batch in
        let deliveries = (0..<100).map { number in
            Delivery(
                ticket: UInt64(number), message: message,
                token: Address(words: (UInt64(number), 0, 0, batch)),
                deliveryID: DeliveryID(high: batch, low: UInt64(number)))
        }
        let now = MonotonicTime(nanoseconds: Int64(batch))
        machine.deliver(deliveries)
        var tags: [UInt64] = []
        tags.reserveCapacity(100)
        _ = machine.send(now: now, at: WallTime(milliseconds: 0)) { _, tag in
            tags.append(tag)
            return .taken
        }
        for tag in tags { machine.answered(tag, with: .accepted(providerID: nil), now: now) }
        sum &+= UInt64(machine.takeEnded().count)
    }
}

private func measure(_ name: String, times: Int, work: (UInt64) -> Void) -> Figure {
    let before = processCPU()
    for number in 0..<times { work(UInt64(number)) }
    return Figure(name: name, value: (processCPU() - before).inSeconds / Double(times) * 1e9, unit: "ns")
}

private func measureBatches(_ name: String, batches: Int, size: Int, work: (UInt64) -> Void) -> Figure {
    let figure = measure(name, times: batches, work: work)
    return Figure(name: figure.name, value: figure.value / Double(size), unit: "ns")
}
