import PushModel

/// Live Activities about which the registry is to be asked, because messages to them were refused.
struct RefusedActivities: Sendable {
    /// The number of activities of an app: those that one message names have room.
    static let maxCount = 1024
    /// The number of activities of all apps.
    static let maxTotal = 16 << 10

    private var waiting: Set<RefusedActivity> = []
    private var counts: [AppID: Int] = [:]
    /// Whether the registry is being asked, which goes on until nothing waits.
    private var isAsking = false

    /// Leaves out what there is no room for: it is refused again. Returns whether asking begins.
    mutating func add(_ activity: RefusedActivity) -> Bool {
        guard waiting.count < Self.maxTotal, counts[activity.app] ?? 0 < Self.maxCount,
            waiting.insert(activity).inserted
        else { return false }
        counts[activity.app, default: 0] += 1
        return !exchange(&isAsking, with: true)
    }

    mutating func take() -> [RefusedActivity] {
        let taken = Array(waiting)
        (waiting, counts) = ([], [:])
        isAsking = !taken.isEmpty
        return taken
    }
}
