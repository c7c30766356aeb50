/// The identity of one lane of one app.
package struct LaneID: Hashable, Sendable {
    let app: AppIndex
    let kind: LaneKind

    init(app: AppIndex, kind: LaneKind) {
        self.app = app
        self.kind = kind
    }

    /// The lane at a position in the order of apps and kinds.
    init(position: Int) {
        self.init(app: AppIndex(position / LaneKind.count), kind: LaneKind(position % LaneKind.count))
    }

    var position: Int { app.position * LaneKind.count + kind.number }
    /// Whether the messages are for few devices.
    var isBrief: Bool { kind.isBrief }
}
