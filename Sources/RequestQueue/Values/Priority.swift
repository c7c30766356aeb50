/// The order in which waiting requests start. A request starts before all waiting requests of a lower priority whose
/// host has room.
public enum Priority: Int, Sendable, Hashable, Comparable, CaseIterable {
    case low
    case normal
    case high

    public static func < (left: Priority, right: Priority) -> Bool { left.rawValue < right.rawValue }
}
