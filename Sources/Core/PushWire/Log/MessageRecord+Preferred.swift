import PushModel

/// The apps in which a user gets a message of a family rather than in its own, at the end of its record.
///
///     count, and for each app its name and the kind u8
extension MessageRecord {
    static func append(_ preferred: [PreferredApp], to bytes: inout [UInt8]) {
        bytes.appendVarint(UInt64(preferred.count))
        for app in preferred {
            bytes.appendText(app.app.name)
            bytes.append(app.kind.number)
        }
    }

    /// Returns nil if the bytes are damaged.
    static func readPreferred(_ reader: inout ByteReader) -> [PreferredApp]? {
        let count = reader.varint()
        guard (1...UInt64(PreferredApp.maxCount)).contains(count) else { return nil }
        var preferred: [PreferredApp] = []
        for _ in 0..<count {
            guard let app = AppID(reader.text()), let kind = AddressKind(number: reader.byte()), !reader.isBroken else {
                return nil
            }
            preferred.append(PreferredApp(app, kind: kind))
        }
        return preferred
    }
}
