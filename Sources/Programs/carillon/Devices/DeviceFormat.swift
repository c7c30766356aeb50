import PushAPI

/// The format of a file of devices.
enum DeviceFormat: String, CaseIterable {
    case csv
    /// One JSON object per line.
    case jsonl

    /// Returns the format that the option names, or else that of the file extension; nil if it is unknown.
    static func choose(_ option: String?, file: String?) throws(Failure) -> DeviceFormat? {
        if let option {
            guard let format = DeviceFormat(rawValue: option) else {
                throw Failure(.usage, "'--format' must be csv or jsonl, not '\(option)'")
            }
            return format
        }
        guard let name = file?.lowercased() else { return nil }
        if name.hasSuffix(".csv") { return .csv }
        return [".jsonl", ".ndjson", ".json"].contains { name.hasSuffix($0) } ? .jsonl : nil
    }

    /// The columns of an export that a registration does not have.
    static let records = ["device", "active", "registered_at", "seen_at", "deactivated_at", "reason"]
    /// The columns that an import ignores: `records` and the name of the device id in exports of earlier versions.
    static let ignoredColumns = records + ["id"]
    static let columns = DeviceInput.keys.filter { $0 != "replaces" } + records
}
