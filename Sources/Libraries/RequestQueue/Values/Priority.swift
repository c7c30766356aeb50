/// The order in which waiting requests start. A request starts before all waiting requests of a lower priority whose
/// host has room.
public enum Priority: Int, Sendable, Hashable, Comparable, CaseIterable {
    /// After all others, such as prefetching.
    case low
    /// The default.
    case normal
    /// Before all others, such as what a user waits for.
    case high

    /// Orders by urgency.
    public static func < (left: Priority, right: Priority) -> Bool { left.rawValue < right.rawValue }
}
