import PushModel

/// The way through the devices that an audience names, without duplicates.
struct AudienceScan {
    private(set) var scannedCount = 0
    private let count: Int
    private var seen: DeviceIDTable

    /// Creates the scan of an audience that names `count` devices.
    init(count: Int) {
        self.count = count
        seen = count > 1 ? DeviceIDTable(reserving: count) : DeviceIDTable()
    }

    var isComplete: Bool { scannedCount == count }

    /// Moves on by at most `limit` names, and returns their indices.
    mutating func advance(by limit: Int) -> Range<Int> {
        let start = scannedCount
        scannedCount = min(count, start + limit)
        return start..<scannedCount
    }

    /// Adds a device. Returns whether it is new.
    mutating func insert(_ device: DeviceID) -> Bool { count == 1 || seen.insert(device) }
}
