import PushLogic
import PushLoop
import PushModel
import PushTime
import Testing

@testable import PushServer

@Suite struct NodeStateTests {
    private static let incarnation = NodeIncarnation(random: 7)

    @Test func `A node is an obstacle until it has joined, and after it was lost`() {
        let state = NodeState()
        #expect(state.obstacle?.contains("has not joined") == true)
        state.take(.nameInUse(Self.incarnation))
        #expect(state.obstacle?.contains("cluster.node") == true)
        state.take(.joined(Self.incarnation))
        #expect(state.obstacle == nil && !state.isStopped)
        state.take(.stopped)
        #expect(state.isStopped)
        state.take(.resumed(partitions: 3))
        #expect(!state.isStopped)
        state.take(.stopped)
        state.take(.lost(Self.incarnation))
        #expect(state.obstacle?.contains("declared dead") == true)
        state.take(.joined(Self.incarnation))
        #expect(state.obstacle == nil && !state.isStopped)
        state.ended()
        #expect(state.obstacle?.contains("left") == true)
    }

    @Test func `The observer of pauses is called for those that came before it`() throws {
        let (state, count) = (NodeState(), Locked(0))
        let app = try #require(AppID("shop"))
        #expect(state.pauses == nil)
        state.take(pauses: [app: WallTime(milliseconds: 1)])
        state.whenPausesChange { count.withLock { $0 += 1 } }
        #expect(count.withLock { $0 } == 1)
        state.take(pauses: [:])
        #expect(count.withLock { $0 } == 2 && state.pauses == [:])
    }
}
