import PushLogic
import PushModel
import PushTime
import PushWire

/// One group of one part as it is stored: a row with its keys and its events, and the bodies of its waiting messages in
/// rows of their own, because they are needed for a shorter time.
///
/// All numbers in a row are relative to the number of the group, or belong to earlier groups. Integers are varints or
/// little-endian words.
struct StoredGroup {
    /// The number of the group's first event.
    let number: UInt64
    let time: WallTime
    /// See ``StoredKeyRow``.
    let keys: [UInt8]
    /// See ``StoredLogRow``.
    let log: [UInt8]
    /// See ``StoredSentRow``.
    let sent: [UInt8]
    let bodies: [StoredBodies]

    init(_ rows: LedgerRows, of group: LedgerGroup) {
        number = rows.number
        time = rows.time
        keys = StoredKeyRow.encode(rows)
        log = StoredLogRow.encode(rows)
        sent = StoredSentRow.encode(group)
        bodies = rows.messages.map { StoredBodies($0) }
    }
}

/// The bodies of the messages of one row.
struct StoredBodies {
    /// The number of the first message.
    let first: UInt64
    /// The names of the apps, and a head of 8 bytes for each message (``MessageHead``): which messages of which lanes
    /// the row has, without their bodies.
    let heads: [UInt8]
    let bodies: [UInt8]

    init(_ row: MessageRowBuilder) {
        first = row.first
        var heads: [UInt8] = []
        heads.reserveCapacity(row.heads.count + 16)
        heads.appendVarint(UInt64(row.apps.count))
        for app in row.apps { heads.appendText(app.name) }
        heads.append(contentsOf: row.heads)
        self.heads = heads
        bodies = row.bodies
    }

    /// Reads the heads of a row; nil if they are damaged.
    static func heads(_ bytes: [UInt8]) -> (apps: [AppID], heads: [UInt8])? {
        unsafe bytes.withUnsafeBytes { buffer in
            var reader = unsafe ByteReader(buffer)
            let count = reader.varint()
            guard count <= UInt64(bytes.count) else { return nil }
            var apps: [AppID] = []
            for _ in 0..<count {
                guard let app = AppID(reader.text()) else { return nil }
                apps.append(app)
            }
            guard !reader.isBroken else { return nil }
            return (apps, Array(bytes[reader.offset...]))
        }
    }
}
