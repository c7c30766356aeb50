/// The number of one connection of one gateway. Numbers start at 1 and are never reused within the process.
package struct ConnectionID: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let number: UInt32

    package init(_ number: UInt32) {
        self.number = number
    }

    package static func < (left: ConnectionID, right: ConnectionID) -> Bool { left.number < right.number }
    package var description: String { "\(number)" }
}
