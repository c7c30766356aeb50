import PushLogic
import PushModel
import PushTime
import PushWire

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
        Self.appendHeads(of: row, to: &heads)
        self.heads = heads
        bodies = row.bodies
    }

    static func appendHeads(of row: MessageRowBuilder, to bytes: inout [UInt8]) {
        bytes += heads(of: row.apps, row.heads)
    }

    static func heads(of apps: [AppID], _ heads: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendVarint(UInt64(apps.count))
        for app in apps { bytes.appendText(app.name) }
        bytes.append(contentsOf: heads)
        return bytes
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
