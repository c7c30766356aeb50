import PushModel

/// Devices that one audience has named so far. Their names are keyed hashes, so half of one is hash and key at once.
struct SeenDevices: Sendable {
    private var table: [UInt64]
    private let mask: Int

    /// For at most `count` of them.
    init(count: Int) {
        var size = 16
        while size < count * 2 { size *= 2 }
        table = Array(repeating: 0, count: size)
        mask = size - 1
    }

    /// False if it was there before.
    mutating func insert(_ device: DeviceID) -> Bool {
        // 0 marks what is free.
        let key = device.high == 0 ? 1 : device.high
        var at = Int(truncatingIfNeeded: device.low) & mask
        while table[at] != 0 {
            if table[at] == key { return false }
            at = (at + 1) & mask
        }
        table[at] = key
        return true
    }
}
