import PushModel

/// Which devices had changes that are forgotten in detail, and which of them ended: two Bloom filters. A device that had
/// none is almost never in one (6 in a million if it is full), and one that had is always.
struct ForgottenOwners {
    /// The number of the last change among these.
    private(set) var last: UInt32 = 0
    private var changes: [UInt64]
    private var ends: [UInt64]

    /// The number of bits for each device, and how many of them are set.
    private static let bitsPerDevice = 32
    private static let bitsSet: UInt64 = 8

    /// - Parameter limit: The number of devices that have room.
    init(limit: Int) {
        var words = 1
        while words * UInt64.bitWidth < limit * Self.bitsPerDevice { words *= 2 }
        changes = [UInt64](repeating: 0, count: words)
        ends = changes
    }

    /// Adds a change.
    ///
    /// - Parameter isEnd: Whether the device was not registered any more after it.
    mutating func add(_ device: DeviceID, number: UInt32, isEnd: Bool) {
        last = number
        for place in Self.places(of: device) {
            let (word, bit) = word(of: place)
            changes[word] |= bit
            if isEnd { ends[word] |= bit }
        }
    }

    func hasChange(of device: DeviceID) -> Bool { isSet(device, in: changes) }

    /// Whether the device was not registered any more after one of the changes.
    func hasEnd(of device: DeviceID) -> Bool { isSet(device, in: ends) }

    private func isSet(_ device: DeviceID, in filter: [UInt64]) -> Bool {
        Self.places(of: device).allSatisfy { place in
            let (word, bit) = word(of: place)
            return filter[word] & bit != 0
        }
    }

    /// Ids of devices are hashes, so that their halves are good ones.
    private static func places(of device: DeviceID) -> some Sequence<UInt64> {
        (0..<bitsSet).lazy.map { device.high &+ $0 &* (device.low | 1) }
    }

    /// The number of words is a power of two.
    private func word(of place: UInt64) -> (index: Int, bit: UInt64) {
        (Int(truncatingIfNeeded: (place >> 6) & UInt64(changes.count - 1)), 1 << (place & 63))
    }
}
