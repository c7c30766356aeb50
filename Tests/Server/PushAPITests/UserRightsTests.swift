import PushModel
import PushStore
import PushTransport
import ServerTestSupport
import TestSupport
import TestTraits
import Testing

@testable import PushAPI

/// What a key of one app sees of a user that has devices in others, too.
@Suite(.waits) struct UserRightsTests {
    private static func register(_ app: String, _ user: String, _ tokens: Range<UInt8>, in scene: StoreScene)
        async throws
    {
        let devices = tokens.map {
            #"{"app":"\#(app)","token":"\#(PipelineScene.token($0).hex)","user":"\#(user)"}"#
        }
        let answer = try await scene.send("POST", "/v1/devices", #"{"devices":[\#(devices.joined(separator: ","))]}"#)
        #expect(answer.status == 200, "\(answer.text)")
    }

    @Test func `A trace has the devices of the caller's apps, and says nothing of others`() async throws {
        try await StoreScene.run { scene in
            try await Self.register("news", "ada", 0..<20, in: scene)
            try await Self.register("shop", "ada", 0..<3, in: scene)
            try await Self.register("news", "eve", 20..<40, in: scene)
            await scene.ledger.flush()
            func trace(_ user: String, apps: String?) async throws -> String {
                try await scene.send("GET", "/v1/trace?user=\(user)", roles: "observe", apps: apps).text
            }
            let own = try await trace("ada", apps: "shop")
            #expect(own.split(separator: #""kind":"registered""#).count == 4 && !own.contains("news"), "\(own)")
            #expect(own.contains(#""complete":true"#))
            #expect(try await trace("eve", apps: "shop") == trace("nobody", apps: "shop"))
            for apps in ["shop,news", "news,shop", nil] {
                let both = try await trace("ada", apps: apps)
                #expect(both.split(separator: #""kind":"registered""#).count == 17, "\(both)")
                #expect(both.contains(#""left_out":["devices"]"#))
            }
        }
    }

    @Test func `What is stored about a user is read in the caller's apps only`() async throws {
        let devices = FakeDevices(PipelineScene.identities)
        for app in [PipelineScene.news, PipelineScene.shop] {
            for number in 0..<(app == PipelineScene.shop ? 101 : 1000) {
                let bytes = [UInt8](repeating: 0, count: 30) + [UInt8(number >> 8), UInt8(number & 255)]
                let token = try #require(Address(bytes: bytes))
                var device = DeviceRecord(
                    id: PipelineScene.identities.device(of: app, token: token), app: app, token: token)
                device.user = "ada"
                devices.put(device)
            }
        }
        let endpoint = GetUser(
            devices: devices, history: MessageHistory(log: FakeEvents()),
            apps: .sample([PipelineScene.shop, PipelineScene.news]))
        let caller = Caller.tester("shop", roles: [.operate], apps: [PipelineScene.shop])
        var (pages, after): ([UserAnswer], String?) = ([], nil)
        repeat {
            let query = after.map { [HTTP1QueryItem(name: "after", value: $0)] } ?? []
            var reader = InputReader(path: ["user": "ada"], query: query)
            pages.append(try await endpoint.answer(GetUser.Input(&reader), for: caller).body)
            after = pages.last?.next.text
        } while after != nil
        #expect(pages.map(\.devices.count) == [100, 1, 0])
        #expect(pages.allSatisfy { $0.devices.allSatisfy { $0.app == "shop" } })
        #expect(devices.state.withLock { $0.lists } == 2)
    }
}
