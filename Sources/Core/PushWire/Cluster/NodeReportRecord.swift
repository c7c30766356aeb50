package import PushModel

/// The binary form of what a node reports to the others about its apps.
package enum NodeReportRecord {
    private static let version: UInt8 = 1
    /// The limit of the entries that are read.
    private static let maxCount: UInt64 = 1_000_000

    package static func bytes(_ report: NodeReport) -> [UInt8] {
        var bytes: [UInt8] = [version]
        bytes.appendVarint(UInt64(report.brakes.count))
        for counts in report.brakes {
            bytes.appendText(counts.app.name)
            bytes.appendSigned(counts.generation)
            bytes.appendVarint(counts.answers)
            bytes.appendVarint(counts.misdirected)
            bytes.appendVarint(counts.dead)
        }
        bytes.appendVarint(UInt64(report.troubles.count))
        for trouble in report.troubles {
            bytes.appendText(trouble.app.name)
            bytes.append(trouble.kind.rawValue)
            bytes.appendWord(trouble.connection)
        }
        return bytes
    }

    /// Reads a report; nil if it is invalid or of another version of Carillon.
    package static func read(_ bytes: [UInt8]) -> NodeReport? {
        unsafe bytes.withUnsafeBytes { bytes in
            var reader = unsafe ByteReader(bytes)
            guard reader.byte() == version else { return nil }
            var report = NodeReport()
            let brakes = reader.varint()
            guard brakes <= maxCount else { return nil }
            for _ in 0..<brakes {
                guard let app = AppID(reader.text()), !reader.isBroken else { return nil }
                let generation = reader.signed()
                report.brakes.append(
                    BrakeCounts(
                        app, generation: generation, answers: reader.varint(), misdirected: reader.varint(),
                        dead: reader.varint()))
            }
            let troubles = reader.varint()
            guard troubles <= maxCount else { return nil }
            for _ in 0..<troubles {
                guard let app = AppID(reader.text()), let kind = GatewayTrouble.Kind(rawValue: reader.byte()),
                    !reader.isBroken
                else { return nil }
                report.troubles.append(GatewayTrouble(app, kind: kind, connection: reader.word()))
            }
            return reader.isBroken || !reader.isAtEnd ? nil : report
        }
    }
}
