import PushLoop
import PushModel
import PushTransport
import TestSupport
import TestTraits
import Testing

@testable import PushPipeline

/// Tests of findings in acks, and of the events of rejected requests.
@Suite(.waits) struct IntakeRejectionTests {
    private typealias Scene = IntakeScene

    private static func envelope(_ id: String, _ payload: String) -> String {
        #"{"id":"\#(id)","app":"shop","to":{"tokens":["\#(Scene.token)"]},"payload":\#(payload)}"#
    }

    private static let slip = #"{"aps":{"alert":"Hi","bagde":1}}"#
    private static let findings =
        #""findings":[{"code":"misspelt_key","path":"aps.bagde","detail":"there is no such key; did you mean badge?"}]"#

    @Test func `an ack names what the device will ignore, alone, in a batch and over REQ`() async throws {
        try await Scene.run { scene in
            let producer = try await scene.peer()
            await producer.send("push/1", Self.envelope("a", Self.slip))
            let one = await producer.receive()
            #expect(one == ["ack/1", #"{"id":"a","status":"accepted","seq":1,\#(Self.findings)}"#])
            await producer.send(
                "push/1", #"{"id":"b","app":"shop","to":{"tokens":["\#(Scene.token)"]}}"#, Self.slip)
            #expect(await producer.receive().last?.hasSuffix(Self.findings + "}") == true)
            let lines = [
                Self.envelope("c", #"{"aps":{"alert":"Hi"}}"#), Self.envelope("a", Self.slip),
                Self.envelope("d", #"{"aps":5}"#),
            ]
            await producer.send("push-batch/1", lines.joined(separator: "\n"))
            let batch = await producer.receive()
            #expect(
                batch == [
                    "ack-batch/1",
                    """
                    {"id":"c","status":"accepted","seq":3}
                    {"id":"a","status":"duplicate","seq":1,\(Self.findings)}
                    {"id":"d","status":"rejected","reason":"bad_payload","detail":\
                    "aps: it is a number, not an object; write an object, even an empty one"}
                    """,
                ])
            let request = try await scene.peer(.req)
            await request.send("push/1", Self.envelope("e", Self.slip))
            #expect(await request.receive().last?.contains(Self.findings) == true)
        }
    }

    @Test func `a request that is rejected over ROUTER is an event too`() async throws {
        try await Scene.run { scene in
            let producer = try await scene.peer()
            await producer.send("push/1", Scene.envelope("a"))
            #expect(try await producer.status().status == "accepted")
            // One request of each kind: not parsed, parsed and rejected, rejected by the ledger, and with invalid
            // frames.
            await producer.send("push/1", "oops")
            await producer.send("push/1", Scene.envelope("b", app: "nowhere"))
            await producer.send("push/1", Scene.envelope("a", alert: "Other"))
            await producer.send("push/7")
            await producer.send("push-batch/1", "again\n\(Scene.envelope("c", app: "nowhere"))")
            await scene.ledger.wait { $0.notes == 6 }
            let notes = scene.ledger.notes.sorted {
                ($0.reason ?? "", $0.messageID?.text ?? "") < ($1.reason ?? "", $1.messageID?.text ?? "")
            }
            #expect(
                notes.map(\.reason) == [
                    "bad_frame", "bad_json", "bad_json", "id_conflict", "unknown_app", "unknown_app",
                ])
            #expect(notes.map(\.messageID?.text) == [nil, nil, nil, "a", "b", "c"])
            #expect(notes.map(\.app) == [nil, nil, nil, Scene.shop, nil, nil])
            #expect(notes.allSatisfy { $0.kind == .messageRejected && $0.details.contains { $0.name == "detail" } })
            let counts = await scene.until { $0.unanswered == 0 }
            #expect(counts.rejections == 6 && counts.accepted == 1 && counts.clients.isEmpty)
        }
    }

    @Test func `a flood of them is named in part`() async throws {
        // The clock does not advance, so the budget is not refilled.
        try await Scene.run(clock: .manual()) { scene in
            let producer = try await scene.peer()
            let lines = (0..<500).map { Scene.envelope("m\($0)", app: "nowhere") }
            await producer.send("push-batch/1", lines.joined(separator: "\n"))
            #expect(try await producer.statuses().count == 500)
            await scene.ledger.wait { $0.notes == 100 }
            let counts = await scene.intake.counts
            #expect(counts.rejections == 500 && counts.skippedEvents == 400)
        }
    }

    /// Whether this machine has the address `::1`.
    private static let hasIPv6: Bool = {
        let addresses = (try? BoundedFile.read("/proc/net/if_inet6", limit: 1 << 20)) ?? []
        return String(decoding: addresses, as: UTF8.self).contains(String(repeating: "0", count: 31) + "1 ")
    }()

    @Test(.enabled(if: hasIPv6, "needs ::1")) func `intake listens on IPv6`() async throws {
        try await Scene.run {
            $0.router = "tcp://[::1]:*"
            $0.pull = nil
        } _: { scene in
            #expect(scene.endpoints.router?.hasPrefix("tcp://[::1]:") == true)
            let producer = try await scene.peer { $0.usesIPv6 = true }
            await producer.send("push/1", Scene.envelope("a"))
            #expect(try await producer.status().status == "accepted")
        }
    }
}
