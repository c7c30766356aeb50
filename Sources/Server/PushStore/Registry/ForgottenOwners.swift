import PushModel

/// Which devices had changes that are forgotten in detail: a Bloom filter. A device that had none is almost never among
/// them (6 in a million if it is full), and one that had is always.
struct ForgottenOwners {
    /// The number of the last change among these.
    private(set) var last: UInt32 = 0
    private var bits: [UInt64]

    /// The number of bits for each device, and how many of them are set.
    private static let bitsPerDevice = 32
    private static let bitsSet: UInt64 = 8

    /// - Parameter limit: The number of devices that have room.
    init(limit: Int) {
        var words = 1
        while words * UInt64.bitWidth < limit * Self.bitsPerDevice { words *= 2 }
        bits = [UInt64](repeating: 0, count: words)
    }

    /// Adds a change.
    ///
    /// - Parameter isEnd: Whether the device was not registered any more after it.
    mutating func add(_ device: DeviceID, number: UInt32, isEnd: Bool) {
        last = number
        set(device.high, device.low)
        if isEnd { set(device.low, device.high) }
    }

    func hasChange(of device: DeviceID) -> Bool { isSet(device.high, device.low) }

    /// Whether the device was not registered any more after one of the changes.
    func hasEnd(of device: DeviceID) -> Bool { isSet(device.low, device.high) }

    // MARK: Bits

    // Ids of devices are hashes, so that their halves are good ones.

    private mutating func set(_ one: UInt64, _ other: UInt64) {
        for step in 0..<Self.bitsSet {
            let place = one &+ step &* (other | 1)
            bits[word(of: place)] |= 1 << (place & 63)
        }
    }

    private func isSet(_ one: UInt64, _ other: UInt64) -> Bool {
        (0..<Self.bitsSet).allSatisfy { step in
            let place = one &+ step &* (other | 1)
            return bits[word(of: place)] & 1 << (place & 63) != 0
        }
    }

    /// The number of words is a power of two.
    private func word(of place: UInt64) -> Int { Int(truncatingIfNeeded: (place >> 6) & UInt64(bits.count - 1)) }
}
