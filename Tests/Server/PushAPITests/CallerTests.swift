import PushModel
import ServerTestSupport
import Testing

@testable import PushAPI

@Suite struct CallerTests {
    @Test func `A caller learns its roles, with those that they include, and its apps`() throws {
        let all = GetCaller().answerNow(NoInput(.init()), for: .local).body
        #expect(all == CallerAnswer(name: "local", roles: Role.allCases, apps: nil))
        let caller = Caller.tester("ops", roles: [.operate], apps: [PipelineScene.shop, PipelineScene.news])
        let some = GetCaller().answerNow(NoInput(.init()), for: caller).body
        #expect(some == CallerAnswer(name: "ops", roles: [.observe, .operate], apps: ["news", "shop"]))
    }
}

extension NoInput {
    fileprivate init(_ reader: InputReader) {
        var reader = reader
        self.init(&reader)
    }
}
