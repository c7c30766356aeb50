import PushLogic
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
}
