import PushTime
import Testing

@Suite struct ZoneTests {
    private func utc(_ rules: ZoneRules?, _ local: String) throws -> Int64 {
        try #require(rules).instant(of: try #require(LocalTime(local))).value
    }

    private func at(_ time: String) throws -> Int64 { try #require(LocalTime(time)).utc }

    @Test func `A time is read with seconds or without, and no other text is one`() throws {
        #expect(try at("1970-01-01T00:00") == 0)
        #expect(try at("2026-12-01T09:00") == 1_796_115_600)
        #expect(try at("2028-02-29T23:59:59") == 1_835_481_599)
        for text in [
            "", "2026-12-01", "2026-12-01T09", "2026-12-01T09:00Z", "2026-12-01T09:00+01:00", "2026-12-01 09:00",
            "2026-02-29T09:00", "2026-13-01T09:00", "2026-00-01T09:00", "2026-01-32T09:00", "2026-01-00T09:00",
            "2026-01-01T24:00", "2026-01-01T09:60", "2026-01-01T09:00:60", "0000-01-01T09:00", "2026-12-01T09:0é",
            "+026-12-01T09:00", "2026-12-01T-9:00",
        ] {
            #expect(LocalTime(text) == nil, "\(text)")
        }
    }

    @Test func `A time that the clock skips is the end of the gap, and one that it shows twice the first of both`()
        throws
    {
        let berlin = ZoneScene.rules("CET-1CEST,M3.5.0,M10.5.0/3")
        #expect(try utc(berlin, "2026-12-01T09:00") == at("2026-12-01T08:00"))
        #expect(try utc(berlin, "2026-07-01T09:00") == at("2026-07-01T07:00"))
        #expect(try utc(berlin, "2027-03-28T01:59") == at("2027-03-28T00:59"))
        for gap in ["2027-03-28T02:00", "2027-03-28T02:30", "2027-03-28T03:00"] {
            #expect(try utc(berlin, gap) == at("2027-03-28T01:00"), "\(gap)")
        }
        #expect(try utc(berlin, "2027-03-28T03:01") == at("2027-03-28T01:01"))
        #expect(try utc(berlin, "2026-10-25T02:30") == at("2026-10-25T00:30"))
        #expect(try utc(berlin, "2026-10-25T03:00") == at("2026-10-25T02:00"))
        // The same rules from a table.
        let table = ZoneFile.rules(
            ZoneScene.file(first: 3600, [(try at("2027-03-28T01:00"), 7200), (try at("2027-10-31T01:00"), 3600)]))
        #expect(try utc(table, "2027-03-28T02:30") == at("2027-03-28T01:00"))
        #expect(try utc(table, "2027-10-31T02:30") == at("2027-10-31T00:30"))
        #expect(try utc(table, "2028-07-01T09:00") == at("2028-07-01T08:00"))
    }

    @Test func `Zones with other steps than hours, south of the equator, and across the date line`() throws {
        #expect(try utc(ZoneScene.rules("<+0545>-5:45"), "2026-12-01T09:00") == at("2026-12-01T03:15"))
        let chatham = ZoneScene.rules("<+1245>-12:45<+1345>,M9.5.0/2:45,M4.1.0/3:45")
        #expect(try utc(chatham, "2026-12-01T09:00") == at("2026-11-30T19:15"))
        #expect(try utc(chatham, "2026-07-01T09:00") == at("2026-06-30T20:15"))
        let howe = ZoneScene.rules("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0")
        #expect(try utc(howe, "2026-10-04T02:15") == at("2026-10-03T15:30"))
        // A clock that jumps over a whole day, as that of Samoa did.
        let samoa = ZoneFile.rules(ZoneScene.file(first: -36_000, [(try at("2026-12-31T10:00"), 50_400)]))
        #expect(try utc(samoa, "2026-12-31T09:00") == at("2026-12-31T10:00"))
        #expect(try utc(samoa, "2027-01-01T09:00") == at("2026-12-31T19:00"))
    }

    @Test func `Behind the last change of the table the rule holds, also one that never ends summer`() throws {
        let file = ZoneScene.file(first: 0, [(0, 3600)], rule: "EST5EDT,M3.2.0,M11.1.0")
        #expect(try utc(ZoneFile.rules(file), "2090-07-01T09:00") == at("2090-07-01T13:00"))
        #expect(try utc(ZoneFile.rules(file), "2090-01-01T09:00") == at("2090-01-01T14:00"))
        let summer = ZoneScene.rules("XXX3EDT4,0/0,J365/23")
        for time in ["2026-12-31T23:30", "2027-01-01T00:30", "2027-06-01T09:00"] {
            #expect(try utc(summer, time) == at(time) + 4 * 3600, "\(time)")
        }
        let ireland = ZoneScene.rules("IST-1GMT0,M10.5.0,M3.5.0/1")
        #expect(try utc(ireland, "2026-07-01T09:00") == at("2026-07-01T08:00"))
        #expect(try utc(ireland, "2026-12-01T09:00") == at("2026-12-01T09:00"))
        // The same day in a leap year and in another one.
        let julian = ZoneScene.rules("AAA0BBB,J60/0,J300/0")
        #expect(try utc(julian, "2027-03-01T00:30") == at("2027-03-01T00:00"))
        #expect(try utc(julian, "2028-03-01T00:30") == at("2028-03-01T00:00"))
        let counted = ZoneScene.rules("AAA0BBB,59/0,300/0")
        #expect(try utc(counted, "2027-03-01T00:30") == at("2027-03-01T00:00"))
        #expect(try utc(counted, "2028-02-29T00:30") == at("2028-02-29T00:00"))
        #expect(ZoneFile.rules(ZoneScene.file(first: 3600, version: 0)) != nil)
    }

    @Test func `Damaged files are refused, wherever the damage is, and however large they say to be`() throws {
        let file = ZoneScene.file(
            first: 3600, [(try at("2027-03-28T01:00"), 7200), (try at("2027-10-31T01:00"), 3600)],
            rule: "CET-1CEST,M3.5.0,M10.5.0/3")
        #expect(ZoneFile.rules(file) != nil)
        for count in 0..<file.count { #expect(ZoneFile.rules(Array(file.prefix(count))) == nil, "\(count)") }
        // Each byte of the two headers as large as it can be: a result or none, and no trap.
        for place in file.indices {
            for byte: UInt8 in [0, 0x7f, 0x80, 0xff] {
                var other = file
                other[place] = byte
                _ = ZoneFile.rules(other)?.instant(of: LocalTime(seconds: 1_800_000_000))
            }
        }
        let extremes = ZoneFile.rules(ZoneScene.file(first: 93_599, [(.min, -93_599), (.max, 93_599)], rule: "A"))
        #expect(extremes == nil)
        for (time, offset) in [(Int64.min, Int32(0)), (.max, 0), (0, 93_599), (0, -93_599)] {
            let rules = ZoneFile.rules(ZoneScene.file([(time, offset)]))
            _ = try #require(rules).instant(of: LocalTime(seconds: 1_800_000_000))
        }
        #expect(ZoneFile.rules(ZoneScene.file([(0, 93_600)])) == nil)
        #expect(ZoneFile.rules(ZoneScene.file([(5, 0), (5, 0)])) == nil)
        #expect(ZoneFile.rules(file + [UInt8](repeating: 0, count: 64 << 10)) == nil)
        for rule in [
            "CET", "CET-1CEST", "CET-1CEST,M3.5.0", "CET-25", "CET-1CEST,M13.5.0,M10.5.0", "CET-1CEST,M3.6.0,M10.5.0",
            "CET-1CEST,M3.5.7,M10.5.0", "CET-1CEST,J0,J5", "CET-1CEST,J366,J5", "CET-1CEST,1/168,5", "CE-1", "<-1",
            "CET-1CEST,M3.5.0,M10.5.0/3,", "CET-1CEST,366,5", "9", "CET-1:60",
        ] {
            #expect(ZoneScene.rules(rule) == nil, "\(rule)")
        }
    }

    @Test func `A database has each time at which its clocks show one once`() throws {
        var zones: [String: ZoneRules] = [:]
        for hour in -12...14 { zones["Etc/\(hour)"] = ZoneScene.rules("AAA\(-hour)") }
        zones["Asia/Kathmandu"] = ZoneScene.rules("<+0545>-5:45")
        zones["Asia/Katmandu"] = zones["Asia/Kathmandu"]
        let book = TimeZones(zones, source: "test")
        let local = try #require(LocalTime("2026-12-01T09:00"))
        let instants = try #require(book.instants(of: local))
        #expect(instants.count == 28 && instants == instants.sorted())
        #expect(instants.first?.value == local.utc - 14 * 3600 && instants.last?.value == local.utc + 12 * 3600)
        #expect(book.instant(of: local, in: "Asia/Katmandu")?.value == local.utc - 20_700)
        #expect(book.instant(of: local, in: "asia/katmandu") == nil && !book.has("Mars/Olympus"))
        for minute in 0..<70 { zones["X/\(minute)"] = ZoneScene.rules("AAA0:\(minute % 60):\(minute / 60 + 1)") }
        #expect(TimeZones(zones, source: "test").instants(of: local) == nil)
        #expect(TimeZones.none.isEmpty && TimeZones.none.instants(of: local) == [])
    }
}
