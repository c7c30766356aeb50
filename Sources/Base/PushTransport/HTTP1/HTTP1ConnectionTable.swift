/// The connections of a server by small numbers, with a list of those that wait for their clients, in the order in which
/// they began to wait.
struct HTTP1ConnectionTable<Connection: AnyObject> {
    private static var none: Int { -1 }

    private struct Slot {
        var connection: Connection?
        var waits = false
        var previous = -1
        var next = -1
    }

    private var slots: [Slot] = []
    private var free: [Int] = []
    private var first = none
    private var last = none
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// All connections, for rare work such as a shutdown.
    var all: [Connection] { slots.compactMap(\.connection) }

    /// Reserves a number for a connection, which is then added with ``add(_:at:)``.
    mutating func reserve() -> Int {
        if let number = free.popLast() { return number }
        slots.append(Slot())
        return slots.count - 1
    }

    mutating func add(_ connection: Connection, at number: Int) {
        slots[number].connection = connection
        count += 1
    }

    /// Removes a connection. Its number may then be given to another one.
    mutating func remove(at number: Int) {
        endWait(at: number)
        slots[number].connection = nil
        free.append(number)
        count -= 1
    }

    /// Moves a connection to the end of those that wait.
    mutating func wait(at number: Int) {
        if slots[number].waits {
            if last == number { return }
            endWait(at: number)
        }
        slots[number].waits = true
        slots[number].previous = last
        if last == Self.none { first = number } else { slots[last].next = number }
        last = number
    }

    mutating func endWait(at number: Int) {
        guard slots[number].waits else { return }
        let (previous, next) = (slots[number].previous, slots[number].next)
        if previous == Self.none { first = next } else { slots[previous].next = next }
        if next == Self.none { last = previous } else { slots[next].previous = previous }
        slots[number].waits = false
        slots[number].previous = Self.none
        slots[number].next = Self.none
    }

    /// Removes the connection that has waited longest from the list, and returns it.
    mutating func takeLongestWaiting() -> Connection? {
        guard first != Self.none else { return nil }
        let connection = slots[first].connection
        endWait(at: first)
        return connection
    }
}
