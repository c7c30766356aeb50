import PushTime
import Testing

@testable import carillon

@Suite struct TableDetailTests {
    private static let now = WallTime(milliseconds: 1_795_699_862_000)
    private let short = TableDetail(isShort: true, now: now)
    private let whole = TableDetail(isShort: false, now: now)

    @Test func `A time of today is shown without its date, and an earlier one without its seconds`() {
        #expect(whole.time(Self.now) == "2026-11-26T13:31:02.000Z")
        #expect(short.time(Self.now) == "13:31:02")
        #expect(short.time(Self.now.adding(milliseconds: -86_400_000)) == "2026-11-25 13:31")
        #expect(short.time(nil) == "-" && whole.time(nil) == "-")
    }

    @Test func `Optional columns that say nothing are left out, others are not`() {
        let heading = ["app", "sent", "rejected", "expired"]
        let rows = [["shop", "0", "0", "0"], ["news", "0", "3", "-"]]
        let table = short.table(heading, rows: rows, optional: ["sent", "rejected", "expired"])
        #expect(table.heading == ["app", "rejected"] && table.rows == [["shop", "0"], ["news", "3"]])
        #expect(short.table(heading, rows: rows, optional: []).heading == heading)
        #expect(whole.table(heading, rows: rows, optional: ["sent"]).heading == heading)
        #expect(short.id("6baa5414e75f95da38c13bbc4786711a") == "6baa5414")
    }
}

@Suite struct ProgressLineTests {
    @Test func `Progress has an end if the size of all is known`() {
        #expect(ProgressLine.text("8,000 devices", share: nil, after: .seconds(4)) == "8,000 devices")
        #expect(
            ProgressLine.text("48,000 devices", share: 0.48, after: .seconds(10)) == "48,000 devices  48 %  11s left")
        #expect(ProgressLine.text("1 device", share: 0.01, after: .milliseconds(10)) == "1 device  1 %")
        #expect(ProgressLine.text("all", share: 1, after: .seconds(10)) == "all  100 %")
        #expect(ProgressLine.text("none", share: 0, after: .seconds(10)) == "none")
    }
}
