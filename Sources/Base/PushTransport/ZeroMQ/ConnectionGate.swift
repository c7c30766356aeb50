/// A gate that decides when a listener stops accepting connections, by their number. It closes at `maxOpen` and opens
/// again when a tenth of them has ended, so that it does not toggle with each connection.
package struct ConnectionGate: Hashable, Sendable {
    package let maxOpen: Int
    package let reopensAt: Int
    package private(set) var open = 0
    package private(set) var isClosed = false
    /// The number of times that the gate was closed.
    package private(set) var closures: UInt64 = 0

    /// - Parameter maxOpen: The number of connections at which the gate closes, at least one.
    package init(maxOpen: Int) {
        self.maxOpen = max(1, maxOpen)
        reopensAt = self.maxOpen - max(1, self.maxOpen / 10)
    }

    /// Counts an accepted connection. Returns true if the gate must be closed now.
    package mutating func opened() -> Bool {
        open += 1
        guard !isClosed, open >= maxOpen else { return false }
        isClosed = true
        closures += 1
        return true
    }

    /// Counts an ended connection. Returns true if the gate must be opened now.
    package mutating func ended() -> Bool {
        open = max(0, open - 1)
        guard isClosed, open <= reopensAt else { return false }
        isClosed = false
        return true
    }
}
