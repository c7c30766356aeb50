import Testing

@testable import PushLoop

@Suite struct LoopGroupTests {
    @Test("Loops are assigned in turn") func loopsAreGivenOutInTurn() async {
        let group = LoopGroup(count: 3, name: "trio")
        #expect(group.loops.map(\.name) == ["trio-0", "trio-1", "trio-2"])
        let names = (0..<6).map { _ in group.next().name }
        #expect(names == ["trio-0", "trio-1", "trio-2", "trio-0", "trio-1", "trio-2"])
        await group.shutDown()
    }

    @Test("A group has one loop per core") func groupIsSizedToTheMachine() async {
        let group = LoopGroup()
        #expect(group.loops.count == LoopGroup.coreCount)
        #expect(LoopGroup.coreCount >= 1)
        await group.shutDown()
    }

    @Test("Each loop has its own thread") func eachLoopHasItsOwnThread() async {
        let group = LoopGroup(count: 2)
        await group.loops[0].run {
            #expect(group.loops[0].isOnLoop)
            #expect(!group.loops[1].isOnLoop)
        }
        await group.shutDown()
    }
}
