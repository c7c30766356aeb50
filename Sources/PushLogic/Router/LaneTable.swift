/// The lanes of all apps.
struct LaneTable {
    private var states: [LaneState] = []

    var count: Int { states.count }
    /// All lanes, in the order of apps and kinds.
    var all: some RandomAccessCollection<LaneID> { (0..<states.count).lazy.map { LaneID(position: $0) } }

    subscript(lane: LaneID) -> LaneState {
        _read { yield states[lane.position] }
        _modify { yield &states[lane.position] }
    }

    /// Adds the lanes of one more app.
    mutating func addApp() {
        for _ in 0..<LaneKind.count { states.append(LaneState()) }
    }
}
