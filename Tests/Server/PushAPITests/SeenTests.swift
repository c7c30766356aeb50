import FoundationEssentials
import PushModel
import PushWire
import ServerTestSupport
import TestSupport
import TestTraits
import Testing

@testable import PushAPI
@testable import PushStore

/// Reports of displayed and opened notifications, with a real ledger.
@Suite(.waits) struct SeenTests {
    private static let path = "/v1/apps/shop/seen"

    private static func body(_ reports: [(id: String, what: String)]) -> String {
        let items = reports.map { #"{"apns_id":"\#($0.id)","what":"\#($0.what)","at":1795313619000}"# }
        return #"{"seen":[\#(items.joined(separator: ","))]}"#
    }

    private static func answer(_ answer: RawClient.Answer) throws -> SeenAnswer {
        #expect(answer.status == 202, "\(answer.text)")
        return try JSONDecoder().decode(SeenAnswer.self, from: Data(answer.body))
    }

    @Test func `Each report of a sent delivery becomes one event, also after a restart`() async throws {
        let directory = try TemporaryDirectory()
        var id = ""
        for round in 0..<2 {
            try await StoreScene.run(in: directory) { scene in
                if round == 0 { id = await scene.deliver("order", to: [PipelineScene.token(1)])[0].description }
                let twice = Self.body([(id, "displayed"), (id.uppercased(), "displayed"), (id, "opened")])
                for _ in 0..<3 {
                    let result = try Self.answer(try await scene.send("POST", Self.path, twice))
                    #expect(result == .init(taken: 3, unknown: 0))
                }
                let events = try await scene.events().filter {
                    $0.contains("\"kind\":\"displayed\"") || $0.contains("\"kind\":\"opened\"")
                }
                #expect(events.count == 2)
                let device = scene.ledger.identities.device(of: StoreScene.shop, token: PipelineScene.token(1))
                for event in events {
                    #expect(event.contains("\"family\":\"delivery\"") && event.contains("\"message_id\":\"order\""))
                    #expect(event.contains("\"apns_id\":\"\(id)\"") && event.contains("\"device\":\"\(device)\""))
                    #expect(event.contains("\"at\":1795313619000"))
                }
                let shown = try await scene.send("GET", "/v1/apps/shop/messages/order", roles: "observe")
                #expect(shown.text.contains("\"displayed\":1") && shown.text.contains("\"opened\":1"))
                #expect(shown.text.contains("\"sent\":1"))
                let expected: SeenReports.Counts = round == 0 ? .init(displayed: 1, opened: 1) : .init()
                #expect(scene.seen.counts(of: StoreScene.shop) == expected)
            }
        }
    }

    @Test func `Reports of deliveries that were not sent, or not by this app, are unknown`() async throws {
        try await StoreScene.run { scene in
            let mine = await scene.deliver("a", to: [PipelineScene.token(1)])[0]
            let other = await scene.deliver("b", to: [PipelineScene.token(1)], app: StoreScene.news)[0]
            let suppressed = await scene.deliver("c", to: [PipelineScene.token(2)], as: .suppressed(.inactive))[0]
            let unsure = await scene.deliver(
                "d", to: [PipelineScene.token(3)], as: .unknown(.connectionLost, isFinal: true))[0]
            let ids = [mine, other, suppressed, unsure].map(\.description) + ["6851d77c-dfe0-5021-a5a1-7e79436331fb"]
            let answer = try await scene.send("POST", Self.path, Self.body(ids.map { ($0, "displayed") }))
            let result = try Self.answer(answer)
            #expect(result == .init(taken: 2, unknown: 3))
            let byProvider =
                #"{"seen":[{"provider_id":"\#(mine)","what":"opened"},{"provider_id":"x/y","what":"opened"}]}"#
            let more = try Self.answer(try await scene.send("POST", Self.path, byProvider))
            #expect(more == .init(taken: 1, unknown: 1))
            let events = try await scene.events().filter { $0.contains("\"kind\":\"displayed\"") }
            #expect(events.count == 2 && events.allSatisfy { $0.contains("\"app\":\"shop\"") })
        }
    }

    @Test func `Reports at the same time about one delivery become one event`() async throws {
        try await StoreScene.run { scene in
            let id = await scene.deliver("order", to: [PipelineScene.token(1)])[0].description
            let text = StoreScene.text("POST", Self.path, Self.body([(id, "displayed")]))
            let answers = try await scene.clients.run {
                let clients = try (0..<64).map { _ in try scene.connect() }
                for client in clients { try client.send(text) }
                return try clients.map { try $0.answer() }
            }
            #expect(answers.allSatisfy { $0.text == "{\"taken\":1,\"unknown\":0}\n" })
            #expect(try await scene.events().count { $0.contains("\"kind\":\"displayed\"") } == 1)
        }
    }

    /// A body, and a part of its answer.
    static let refused: [(String, String)] = [
        ("{}", "/seen: the value is missing"), (#"{"seen":[]}"#, "0 elements"),
        (#"{"seen":{}}"#, "an array is expected"),
        (body(Array(repeating: ("6851d77c-dfe0-5021-a5a1-7e79436331fb", "opened"), count: 101)), "101 elements"),
        (#"{"seen":[{"what":"opened"}]}"#, "/seen/0/apns_id: name the delivery"),
        (body([("6851d77c", "opened")]), "is a UUID"),
        (body([("6851d77c-dfe0-5021-a5a1-7e79436331fb", "smelled")]), "one of displayed, opened"),
        (
            #"{"seen":[{"apns_id":"6851d77c-dfe0-5021-a5a1-7e79436331fb","provider_id":"x","what":"opened"}]}"#,
            "by apns_id or by provider_id"
        ),
        (#"{"seen":[{"provider_id":"x","what":"opened","at":-1}]}"#, "/seen/0/at: a whole number"),
        (#"{"seen":[{"provider_id":"x","what":"opened","at":9223372036854775807}]}"#, "/seen/0/at: a whole number"),
        (#"{"seen":[{"provider_id":"x","what":"opened","at":1.5}]}"#, "/seen/0/at: a whole number"),
    ]

    @Test(arguments: refused) func `A faulty report is rejected with its reason`(body: String, part: String)
        async throws
    {
        try await StoreScene.run { scene in
            let answer = try await scene.send("POST", Self.path, body)
            #expect(answer.status == 422 && answer.text.contains(part), "\(answer.text)")
        }
    }

    @Test func `Rights are per app and role`() async throws {
        try await StoreScene.run { scene in
            let body = #"{"seen":[{"provider_id":"x","what":"opened"}]}"#
            let otherApp = try await scene.send("POST", Self.path, body, apps: "news")
            let otherRole = try await scene.send("POST", Self.path, body, roles: "operate,push")
            let allowed = try await scene.send("POST", Self.path, body, apps: "shop")
            #expect([otherApp, otherRole, allowed].map(\.status) == [403, 403, 202])
        }
    }
}
