import PushModel

/// Devices that one audience has named so far: open addressing, 16 bytes a slot, at most half of them in use.
///
/// A producer may name device ids of its own making, so that neither half of one can be trusted to be a hash: where an id
/// goes is reckoned with a seed that nobody outside knows, and whole ids are compared.
struct SeenDevices: Sendable {
    /// The id of zeros marks a slot that is free; that one id has a place of its own.
    private static let free = DeviceID(high: 0, low: 0)
    private static let seed = UInt64.random(in: 0 ... .max)

    private var table: [DeviceID]
    private var hasFree = false
    private let mask: Int

    /// For at most `count` of them.
    init(count: Int) {
        var size = 16
        while size < count * 2 { size *= 2 }
        table = Array(repeating: Self.free, count: size)
        mask = size - 1
    }

    /// False if it was there before.
    mutating func insert(_ device: DeviceID) -> Bool {
        if device == Self.free {
            defer { hasFree = true }
            return !hasFree
        }
        var at = Int(truncatingIfNeeded: device.tableHash(seed: Self.seed)) & mask
        while table[at] != Self.free {
            if table[at] == device { return false }
            at = (at + 1) & mask
        }
        table[at] = device
        return true
    }
}
