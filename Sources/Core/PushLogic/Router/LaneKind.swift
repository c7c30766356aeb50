package import PushModel

/// The kind of a lane: its priority, and whether its messages are brief or broad. Each app has one lane of each kind.
package struct LaneKind: Hashable, Sendable {
    /// The number of kinds: three priorities, the highest first, each with a brief lane and a broad one; and one for the
    /// messages to Live Activities.
    package static let count = 7
    /// The lane of messages to Live Activities, which counts as a brief one of the highest priority.
    package static let activities = LaneKind(6)

    private let raw: UInt8

    package init(_ number: Int) { raw = UInt8(number) }

    init(urgency: Int, isBrief: Bool) { self.init(2 * urgency + (isBrief ? 0 : 1)) }

    package init(_ lane: Lane) {
        self = lane.isOfActivities ? .activities : LaneKind(lane.priority, isBroad: lane.isBroad)
    }

    package init(_ priority: PushPriority, isBroad: Bool) {
        let urgency =
            switch priority {
            case .ten: 0
            case .five: 1
            case .one: 2
            }
        self.init(urgency: urgency, isBrief: !isBroad)
    }

    /// The number of the kind, below ``count``.
    package var number: Int { Int(raw) }
    /// The rank of the priority; 0 is the highest priority.
    package var urgency: Int { self == .activities ? 0 : Int(raw >> 1) }
    /// Whether the messages are for few devices. Otherwise the lane is broad: they are for many.
    package var isBrief: Bool { raw & 1 == 0 }
    /// The bit of this kind in a set of lanes.
    var bit: UInt8 { 1 << raw }

    var priority: PushPriority {
        switch urgency {
        case 0: .ten
        case 1: .five
        default: .one
        }
    }
}
