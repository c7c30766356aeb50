import APNs
import PushModel
import PushTime
import ServerTestSupport
import Testing

@testable import PushAPI

@Suite struct CallerTests {
    @Test func `A caller learns its roles, with those that they include, and its apps`() throws {
        let families = [
            CallerAnswer.Family(
                name: "all", members: [.init(app: "shop", service: ""), .init(app: "news", service: "")])
        ]
        let endpoint = GetCaller(apps: StoreScene.apps)
        let all = endpoint.answerNow(NoInput(.init()), for: .local).body
        #expect(
            all
                == CallerAnswer(
                    name: "local", roles: Role.allCases, apps: nil, families: families, takesLocalTimes: nil))
        let caller = Caller.tester("ops", roles: [.operate], apps: [PipelineScene.shop, PipelineScene.news])
        let some = endpoint.answerNow(NoInput(.init()), for: caller).body
        let expected = CallerAnswer(
            name: "ops", roles: [.observe, .operate], apps: ["news", "shop"], families: families,
            takesLocalTimes: nil)
        #expect(some == expected)
        let limited = Caller.tester("ops", roles: [.operate], apps: [PipelineScene.shop])
        #expect(endpoint.answerNow(NoInput(.init()), for: limited).body.families == nil)
    }

    @Test func `A caller learns whether messages can go out at a local time`() {
        let zones = SharedTimeZones()
        let apps = AppCatalog([], others: APNsCodec.unconfigured, zones: zones)
        func answer() -> Bool? { GetCaller(apps: apps).answerNow(NoInput(.init()), for: .local).body.takesLocalTimes }
        #expect(answer() == nil, "without a time zone database")
        let counts: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 4]
        let head = Array("TZif".utf8) + [UInt8](repeating: 0, count: 16)
        let rules = ZoneFile.rules(head + counts + [0, 0, 0, 0, 0, 0] + Array("UTC\0".utf8))
        zones.replace(with: TimeZones(["UTC": rules].compactMapValues { $0 }, source: "test"))
        #expect(answer() == true)
        apps.update([], storesLocalTimes: false)
        #expect(answer() == nil, "dedupe.window is shorter than the clocks differ")
    }
}

extension NoInput {
    fileprivate init(_ reader: InputReader) {
        var reader = reader
        self.init(&reader)
    }
}
