import PushModel
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
        #expect(all == CallerAnswer(name: "local", roles: Role.allCases, apps: nil, families: families))
        let caller = Caller.tester("ops", roles: [.operate], apps: [PipelineScene.shop, PipelineScene.news])
        let some = endpoint.answerNow(NoInput(.init()), for: caller).body
        let expected = CallerAnswer(
            name: "ops", roles: [.observe, .operate], apps: ["news", "shop"], families: families)
        #expect(some == expected)
        let limited = Caller.tester("ops", roles: [.operate], apps: [PipelineScene.shop])
        #expect(endpoint.answerNow(NoInput(.init()), for: limited).body.families == nil)
    }
}

extension NoInput {
    fileprivate init(_ reader: InputReader) {
        var reader = reader
        self.init(&reader)
    }
}
