import PushModel
import PushWire
import Testing

@Suite struct NodeReportRecordTests {
    private static let report = NodeReport(
        brakes: [
            BrakeCounts(AppID("shop")!, generation: 3, answers: 1000, misdirected: 60, dead: 7),
            BrakeCounts(AppID("a.b-c_d")!, generation: -1, answers: .max, misdirected: 0, dead: .max),
        ],
        troubles: [
            GatewayTrouble(AppID("shop")!, kind: .refused, connection: 0x0102_0304_0506_0708),
            GatewayTrouble(AppID("news")!, kind: .failing, connection: .max),
        ])

    @Test func `A report is read as it was written`() {
        #expect(NodeReportRecord.read(NodeReportRecord.bytes(Self.report)) == Self.report)
        #expect(NodeReportRecord.read(NodeReportRecord.bytes(NodeReport())) == NodeReport())
        let bytes = NodeReportRecord.bytes(NodeReport(brakes: [BrakeCounts(AppID("a")!, generation: 1, answers: 2)]))
        #expect(bytes == [1, 1, 1, 97, 2, 2, 0, 0, 0])
    }

    @Test func `What is truncated, longer, damaged or of another version is refused`() {
        let bytes = NodeReportRecord.bytes(Self.report)
        for count in 0..<bytes.count { #expect(NodeReportRecord.read(Array(bytes.prefix(count))) == nil) }
        #expect(NodeReportRecord.read(bytes + [0]) == nil)
        #expect(NodeReportRecord.read([2] + bytes.dropFirst()) == nil)
        // A length of four billion entries.
        #expect(NodeReportRecord.read([1, 0xff, 0xff, 0xff, 0xff, 0x0f]) == nil)
        for place in bytes.indices {
            var damaged = bytes
            damaged[place] ^= 0x80
            // No byte is a reason to end the process.
            _ = NodeReportRecord.read(damaged)
        }
    }
}
