import PushModel
import PushTime
import PushWire
import TestSupport
import Testing

/// Segments of the ledger: the reader returns what was written.
@Suite struct LogCodecTests {
    private let shop = AppID("shop")!

    private func record(
        _ message: Message, _ outcome: DeliveryOutcome, acceptedAt: WallTime = 900, attempt: UInt16 = 1
    ) -> DeliveryRecord {
        DeliveryRecord(
            seq: 1, fingerprint: MessageFingerprint(1), acceptedAt: acceptedAt, message: message,
            device: DeviceID(high: 0x0102_0304_0506_0708, low: 0x1112_1314_1516_1718),
            deliveryID: DeliveryID(high: 0x2122_2324_2526_2728, low: 0x3132_3334_3536_3738), attempt: attempt,
            outcome: outcome)
    }

    @Test("Segments are written in the documented format") func goldenBytes() throws {
        let message = Message(id: MessageID("m1")!, app: shop, payload: [], traceparent: "00-a")
        var writer = LogWriter(next: 300, heads: [.init(app: shop, kind: .messageAccepted, seq: 100)])
        writer.begin(time: 1000, reserving: 0)
        let tokens = (0..<2).map { Address(words: ($0, 1, 2, 3)) }
        writer.add(accepted: PushRequest(message, to: .tokens(tokens)), at: 1000)
        writer.add(
            record(
                message, .rejected(Refusal(status: 410, reason: ProviderReason(rawValue: "Gone")), deactivates: nil)),
            at: 999)
        writer.add(EventDraft(.connectionUp, app: nil), at: 1064)
        let segment = writer.finish()
        #expect(segment.first == 300 && segment.count == 3 && segment.time == 1000 && segment.last == 302)
        let accepted: [UInt8] =
            [1, 0x01, 0x05, 1, 4] + Array("shop".utf8) + [0xc8, 0x01, 0, 2] + Array("m1".utf8) + [4]
            + Array("00-a".utf8) + [11] + Array("\"devices\":2".utf8)
        let rejected: [UInt8] =
            [17, 0xfe, 0x02, 1, 0, 1]
            + [8, 7, 6, 5, 4, 3, 2, 1, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11]
            + [0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21, 0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31]
            + [1, 0x9a, 0x03, 4] + Array("Gone".utf8) + [99]
        let up: [UInt8] = [48, 0, 0, 0, 0, 0x80, 0x01]
        #expect(segment.body == accepted + rejected + up)
        // The checksum must not change, since later versions read today's files.
        #expect(segment.bytes.suffix(4) == [193, 68, 189, 8])
    }

    @Test("Each completion has the counts of its own message") func countsOfCompletions() throws {
        var writer = LogWriter(next: 1)
        var lines: [UInt8] = []
        var text = EventText()
        for sent in [[1, 1, 2], [2, 0, 0, 1]] as [[UInt32]] {
            writer.begin(time: 1000, reserving: 0)
            for (number, sent) in sent.enumerated() {
                let message = Message(id: MessageID("m\(number)")!, app: shop, payload: [])
                var counts = OutcomeCounts()
                counts.sent = sent
                writer.add(CompletedMessage(seq: 1, message: message, counts: counts, isExpired: sent == 0), at: 1000)
            }
            try writer.finish().walk { event, apps, bytes in
                text.append(event, of: apps, texts: bytes, to: &lines)
                lines.append(UInt8(ascii: "\n"))
                return true
            }
            // What an undone group wrote is not in the next one.
            writer.begin(time: 1000, reserving: 0)
            let message = Message(id: MessageID("undone")!, app: shop, payload: [])
            writer.add(CompletedMessage(seq: 1, message: message, counts: OutcomeCounts()), at: 1000)
            writer.revert()
        }
        let events = String(decoding: lines, as: UTF8.self).split(separator: "\n")
        let completed = events.filter { $0.contains(#""kind":"completed""#) }
        let sent = completed.compactMap { line in
            line.firstRange(of: #""counts":{"sent":"#).map { line[$0.upperBound...].prefix { $0.isNumber } }
        }
        #expect(sent == ["1", "1", "2", "2", "0", "0", "1"])
        let expired = events.filter { $0.contains(#""kind":"expired""#) }
        #expect(expired.count == 2 && expired.allSatisfy { !$0.contains("counts") })
    }

    @Test("Events are written as the documented JSON lines") func goldenLines() throws {
        let message = Message(id: MessageID("m1")!, app: shop, payload: [], traceparent: "00-a")
        var writer = LogWriter(next: 7)
        writer.begin(time: 1000, reserving: 0)
        writer.add(record(message, .sent(providerID: ProviderID("u", member: .apnsUniqueID))), at: 1000)
        writer.add(record(message, .retry(Refusal(status: 503, reason: nil), after: .seconds(2)), attempt: 2), at: 1001)
        var text = EventText()
        var lines: [UInt8] = []
        try writer.finish().walk { event, apps, bytes in
            text.append(event, of: apps, texts: bytes, to: &lines)
            lines.append(UInt8(ascii: "\n"))
            return true
        }
        let ids = #""device":"01020304050607081112131415161718","apns_id":"21222324-2526-2728-3132-333435363738""#
        #expect(
            String(decoding: lines, as: UTF8.self) == """
                {"v":1,"seq":7,"prev":0,"ts":1000,"family":"delivery","app":"shop","kind":"sent","message_id":"m1",\
                \(ids),"attempt":1,"status":200,"latency_ms":100,"traceparent":"00-a","apns_unique_id":"u"}
                {"v":1,"seq":8,"prev":0,"ts":1001,"family":"delivery","app":"shop","kind":"retry","message_id":"m1",\
                \(ids),"attempt":2,"status":503,"latency_ms":101,"traceparent":"00-a","retry_after_ms":2000}

                """)
    }

    @Test(arguments: [900, 1000, 1001, -5, WallTime.distantPast, .distantFuture] as [WallTime], [false, true])
    func `A deactivation is read back, also as early versions wrote it`(evidence: WallTime, erases: Bool) throws {
        let written = Deactivation(
            of: DeviceID(high: 1, low: 2), app: shop, reason: "Unregistered", evidence: evidence,
            messageID: MessageID("m1")!, deliveryID: DeliveryID(high: 3, low: 4), erases: erases)
        var early = EventDraft.deactivated(written)
        early.evidence = nil
        early.erases = false
        early.add("time", number: evidence.milliseconds)
        if erases { early.details.append(.init("erased", value: .flag(true))) }
        var texts: [[UInt8]] = []
        for draft in [EventDraft.deactivated(written), early] {
            var writer = LogWriter(next: 1)
            writer.begin(time: 990, reserving: 0)
            writer.add(draft, at: 1000)
            var text = EventText()
            var line: [UInt8] = []
            var read: [Deactivation] = []
            try writer.finish().walk { event, apps, bytes in
                text.append(event, of: apps, texts: bytes, to: &line)
                read += event.deactivation(apps: apps, bytes: bytes).map { [$0] } ?? []
                return true
            }
            texts.append(line)
            let expected = Deactivation(
                of: written.device, app: shop, reason: "Unregistered", evidence: evidence, erases: erases)
            #expect(read == [expected])
        }
        #expect(texts[0] == texts[1])
        #expect(try ReadEvent(texts[0]).number("time") == evidence.milliseconds)
    }

    /// Tests each optional field of a draft, alone and with others, for every kind.
    @Test("Every combination of a draft's fields is written and read back") func everyCombinationOfADraft() throws {
        for kind in EventKind.allCases {
            var writer = LogWriter(next: 1)
            writer.begin(time: 50, reserving: 0)
            var drafts: [EventDraft] = []
            for bits in 0..<64 {
                var draft = EventDraft(kind, app: bits & 1 == 0 ? nil : shop)
                if bits & 2 != 0 { draft.messageID = MessageID("a\"b\\c") }
                if bits & 4 != 0 { draft.device = DeviceID(high: 1, low: UInt64(bits)) }
                if bits & 8 != 0 { draft.deliveryID = DeliveryID(high: UInt64(bits), low: 2) }
                if bits & 16 != 0 { draft.reason = "line\nbreak" }
                if bits & 32 != 0 {
                    draft.add("text", text: "quote\"")
                    draft.add("amount", number: -5)
                    draft.details.append(.init("flag", value: .flag(true)))
                    draft.details.append(.init("sums", value: .numbers(["b": 2, "a": 1])))
                }
                drafts.append(draft)
                writer.add(draft, at: 50)
            }
            let lines = try writer.finish().lines()
            #expect(lines.count == drafts.count)
            for (line, draft) in zip(lines, drafts) {
                #expect(line.topic == kind.topic(of: draft.app))
                #expect(line.text("message_id") == draft.messageID?.text)
                #expect(line.text("device") == draft.device?.description)
                #expect(line.text("apns_id") == draft.deliveryID?.description)
                #expect(line.text("reason") == draft.reason)
                #expect(line.text("text") == (draft.details.isEmpty ? nil : "quote\""))
                #expect(line.number("amount") == (draft.details.isEmpty ? nil : -5))
                #expect(line.number("flag") == (draft.details.isEmpty ? nil : 1))
                #expect((line.members["sums"] as? [String: Int]) == (draft.details.isEmpty ? nil : ["a": 1, "b": 2]))
                let others =
                    7
                    + [draft.messageID == nil, draft.device == nil, draft.deliveryID == nil, draft.reason == nil]
                    .count { !$0 }
                #expect(line.members.count == others + draft.details.count)
            }
        }
    }

    /// Tests every outcome, after a record of the same message and after one of another message.
    @Test("Every combination of a record's fields is written and read back") func everyCombinationOfARecord() throws {
        let refusals = [
            Refusal(status: 410, reason: ProviderReason(rawValue: "Unregistered")), Refusal(status: -1, reason: nil),
        ]
        let whats: [DeliveryOutcome] =
            [
                .sent(providerID: nil), .sent(providerID: ProviderID("u")), .expired, .suppressed(.inactive),
                .suppressed(.unknownDevice), .expiredBecause(.noAddress), .superseded(by: MessageID("m-2")!, seq: 7),
            ]
            + refusals.map { .rejected($0, deactivates: nil) } + refusals.map { .retry($0, after: .milliseconds(3)) }
            + [.unknown(.timeout, isFinal: true), .unknown(.reset, isFinal: false)]
        let messages = [nil, "00-trace"].map {
            Message(id: MessageID("m-\($0 ?? "")")!, app: shop, payload: [], traceparent: $0)
        }
        var writer = LogWriter(next: 1)
        writer.begin(time: 1000, reserving: 0)
        var records: [DeliveryRecord] = []
        for first in messages {
            for second in messages {
                for what in whats {
                    for (message, attempt) in [(first, UInt16(0)), (second, 1), (second, .max)] {
                        records.append(record(message, what, attempt: attempt))
                        writer.add(records.last!, at: 1000)
                    }
                }
            }
        }
        let lines = try writer.finish().lines()
        #expect(lines.count == records.count)
        for (line, record) in zip(lines, records) {
            #expect(line.text("family") == "delivery" && line.text("app") == "shop")
            #expect(line.text("message_id") == record.message.id.text)
            #expect(line.text("traceparent") == record.message.traceparent)
            #expect(line.text("device") == record.device.description)
            #expect(line.text("apns_id") == record.deliveryID.description)
            #expect(line.number("attempt") == (record.attempt == 0 ? nil : Int64(record.attempt)))
            switch record.outcome {
            case .sent(let id):
                #expect(line.text("kind") == "sent" && line.number("status") == 200 && line.number("latency_ms") == 100)
                #expect(line.text("provider_id") == id?.text && line.text("apns_unique_id") == nil)
            case .rejected(let refusal, _), .retry(let refusal, _):
                #expect(line.number("status") == Int64(max(0, refusal.status)))
                #expect(line.text("reason") == refusal.reason?.rawValue)
                #expect(line.number("latency_ms") == 100)
            case .unknown(let cause, let isFinal):
                #expect(line.text("reason") == cause.rawValue && line.number("resend") == (isFinal ? 0 : 1))
            case .expired: #expect(line.text("kind") == "expired" && line.number("latency_ms") == nil)
            case .expiredBecause(let why):
                #expect(line.text("kind") == "expired" && line.text("reason") == why.rawValue)
            case .superseded:
                #expect(line.text("kind") == "superseded" && line.number("latency_ms") == nil)
                let successor = line.members["superseded_by"] as? [String: Any]
                #expect(successor?["message_id"] as? String == "m-2" && successor?["seq"] as? Int == 7)
            case .suppressed(let why): #expect(line.text("reason") == why.rawValue && line.number("status") == nil)
            }
        }
    }

    /// A thousand events of hundreds of apps.
    @Test("A segment contains the name of each app once") func manyApps() throws {
        var writer = LogWriter(next: 1)
        for _ in 0..<2 {
            writer.begin(time: 1, reserving: 0)
            for number in 0..<1000 {
                writer.add(EventDraft(.connectionUp, app: AppID("app-\(number % 500)")), at: 1)
            }
            let segment = writer.finish()
            let lines = try segment.lines()
            #expect(lines.map(\.topic) == (0..<1000).map { "connection/app-\($0 % 500)/up" })
            #expect(segment.bytes.count < 1000 * 10 + 500 * 9)
            for (number, line) in lines.enumerated() where line.number("prev") != 0 {
                #expect(line.number("prev") == Int64(segment.first) + Int64(number) - 500)
            }
        }
    }

    @Test("Times are kept if the clock goes back") func theClockGoesBack() throws {
        let message = Message(id: MessageID("m")!, app: shop, payload: [])
        var writer = LogWriter(next: 1)
        writer.begin(time: 1_000_000, reserving: 0)
        let times: [WallTime] = [1_000_000, 1, 0, -5, .distantFuture, .distantPast, 999_999]
        for time in times { writer.add(record(message, .sent(providerID: nil), acceptedAt: 1_000_001), at: time) }
        let lines = try writer.finish().lines()
        #expect(lines.map { $0.number("ts") } == times.map(\.milliseconds))
        #expect(lines[0].number("latency_ms") == 0 && lines[1].number("latency_ms") == 0)
    }

    @Test(
        "The distance to the previous event can be large",
        arguments: [1, 127, 128, 16_384, 1 << 32, 1 << 56, UInt64.max - 10])
    func predecessorsThatAreFarBack(_ distance: UInt64) throws {
        let old = UInt64.max - 9 - distance
        var writer = LogWriter(next: .max - 9, heads: [.init(app: shop, kind: .deviceBrake, seq: max(old, 1))])
        writer.begin(time: 0, reserving: 0)
        writer.add(EventDraft(.deviceBrake, app: shop), at: 0)
        writer.add(EventDraft(.deviceBrake, app: shop), at: 0)
        var seen: [(UInt64, UInt64)] = []
        try writer.finish().walk { event, _, _ in
            seen.append((event.seq, event.prev))
            return true
        }
        #expect(seen.map(\.0) == [.max - 9, .max - 8])
        #expect(seen.map(\.1) == [max(old, 1), .max - 9])
    }

    /// The next number must exceed all heads, so that no number is assigned twice.
    @Test("Numbering continues after the largest head") func headsAheadOfTheNextNumber() {
        let writer = LogWriter(next: 5, heads: [.init(app: nil, kind: .deviceBrake, seq: 9)])
        #expect(writer.next == 10)
        #expect(LogWriter(next: 0).next == 1)
    }

    @Test("A walk starts after the given number and ends when the visitor returns false") func walksFromWhereItIsTold()
        throws
    {
        var samples = LogSamples(seed: 3)
        var writer = LogWriter(next: 100)
        writer.begin(time: samples.now, reserving: 0)
        while writer.count < 50 { _ = samples.add(to: &writer) }
        let segment = writer.finish()
        for since in [0, 99, 100, 120, segment.last - 1, segment.last, .max] as [UInt64] {
            var seen: [UInt64] = []
            try segment.walk(since: since) { event, _, _ in
                seen.append(event.seq)
                return seen.count < 10
            }
            let expected = (100...segment.last).filter { $0 > since }.prefix(10)
            #expect(seen == Array(expected))
        }
    }

    @Test("A segment may be empty") func anEmptySegment() throws {
        var writer = LogWriter(next: 9)
        writer.begin(time: 1, reserving: 0)
        let segment = writer.finish()
        #expect(try segment.lines().isEmpty)
        #expect(segment.count == 0 && writer.next == 9)
    }

    @Test("Decimal numbers of every length are written correctly") func decimalsOfEveryLength() {
        var numbers: [UInt64] = [0, .max, .max - 1]
        var power: UInt64 = 1
        for _ in 0..<20 {
            numbers += [power - 1, power, power + 1, power &* 9, power / 3]
            power = power.multipliedReportingOverflow(by: 10).partialValue
        }
        var random = SeededRandom(seed: 11)
        for _ in 0..<20_000 { numbers.append(random.next() >> UInt64.random(in: 0..<64, using: &random)) }
        for number in numbers {
            var text: [UInt8] = []
            DecimalText.append(number, to: &text)
            #expect(String(decoding: text, as: UTF8.self) == "\(number)")
        }
        for number in [Int64.min, -1, 0, 1, .max] {
            var text: [UInt8] = []
            DecimalText.append(number, to: &text)
            #expect(String(decoding: text, as: UTF8.self) == "\(number)")
        }
    }
}
