/// The lanes of all apps.
struct LaneTable {
    private var states: [LaneState] = []

    var count: Int { states.count }
    /// All lanes, in the order of apps and kinds.
    var all: some RandomAccessCollection<LaneID> { (0..<states.count).lazy.map { LaneID(position: $0) } }

    subscript(lane: LaneID) -> LaneState {
        // Inlined, the getter reads single fields of the element and does not copy it.
        @inline(__always) get { states[lane.position] }
        @inline(__always) _modify { yield &states[lane.position] }
    }

    /// Adds the lanes of one more app.
    mutating func addApp() {
        for _ in 0..<LaneKind.count { states.append(LaneState()) }
    }
}
