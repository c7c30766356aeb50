import PushModel

/// Which devices had changes that are forgotten in detail, and which of them ended: two Bloom filters. A device that had
/// none is almost never in one (6 in a million if it is full), and one that had is always.
struct ForgottenOwners {
    /// The number of the last change among these.
    private(set) var last: UInt32 = 0
    /// Empty until there is one, so that a process without changes has no megabytes of zeros.
    private var changes: [UInt64] = []
    private var ends: [UInt64] = []
    private let wordCount: Int

    /// The number of bits for each device, and how many of them are set.
    private static let bitsPerDevice = 32
    private static let bitsSet: UInt64 = 8

    /// - Parameter limit: The number of devices that have room.
    init(limit: Int) {
        var words = 1
        while words * UInt64.bitWidth < limit * Self.bitsPerDevice { words *= 2 }
        wordCount = words
    }

    /// Adds a change.
    ///
    /// - Parameter isEnd: Whether the device was not registered any more after it.
    mutating func add(_ device: DeviceID, number: UInt32, isEnd: Bool) {
        last = number
        Self.set(device, in: &changes, of: wordCount)
        if isEnd { Self.set(device, in: &ends, of: wordCount) }
    }

    func hasChange(of device: DeviceID) -> Bool { Self.isSet(device, in: changes) }

    /// Whether the device was not registered any more after one of the changes.
    func hasEnd(of device: DeviceID) -> Bool { Self.isSet(device, in: ends) }

    // MARK: Bits

    private static func set(_ device: DeviceID, in filter: inout [UInt64], of wordCount: Int) {
        if filter.isEmpty { filter = [UInt64](repeating: 0, count: wordCount) }
        for place in places(of: device) { filter[word(of: place, in: filter)] |= 1 << (place & 63) }
    }

    private static func isSet(_ device: DeviceID, in filter: [UInt64]) -> Bool {
        !filter.isEmpty
            && places(of: device).allSatisfy { filter[word(of: $0, in: filter)] & 1 << ($0 & 63) != 0 }
    }

    /// Ids of devices are hashes, so that their halves are good ones.
    private static func places(of device: DeviceID) -> some Sequence<UInt64> {
        (0..<bitsSet).lazy.map { device.high &+ $0 &* (device.low | 1) }
    }

    /// The number of words is a power of two.
    private static func word(of place: UInt64, in filter: [UInt64]) -> Int {
        Int(truncatingIfNeeded: (place >> 6) & UInt64(filter.count - 1))
    }
}
