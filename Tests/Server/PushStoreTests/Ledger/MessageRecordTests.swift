import PushModel
import PushTime
import PushWire
import TestSupport
import Testing

@testable import PushStore

@Suite struct MessageRecordTests {
    @Test(arguments: 1...200 as ClosedRange<UInt64>)
    func `A request is read back as it was written`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let request = random.request()
        var bytes: [UInt8] = []
        let claims = Bool.random(using: &random)
        MessageRecord.append(request.message, to: request.audience, needsClaim: claims, &bytes)
        let read = try #require(Self.read(bytes))
        let message = request.message
        #expect(read.message.id == message.id)
        #expect(read.message.type == message.type)
        #expect(read.message.priority == message.priority)
        #expect(read.message.expiry == message.expiry)
        #expect(read.message.notBefore == message.notBefore)
        #expect(read.message.collapseID == message.collapseID)
        #expect(read.message.traceparent == message.traceparent)
        #expect(read.message.onUnknown == message.onUnknown)
        #expect(read.message.payload == message.payload)
        #expect(read.audience == request.audience)
        #expect(read.needsClaim == claims)
        // A truncated record is invalid, and never ends the process.
        for count in 0..<bytes.count { #expect(Self.read(Array(bytes.prefix(count))) == nil) }
    }

    @Test(arguments: [1, 32, 100, 127, 128, 300, 2048]) func `An address of any length is read back`(length: Int) throws
    {
        let tokens = try (0..<3).map { number in
            try #require(Address(bytes: (0..<length).map { UInt8(truncatingIfNeeded: $0 &+ number) }))
        }
        let message = Message(id: try #require(MessageID("m")), app: LedgerScene.shop, payload: Array("{}".utf8))
        var bytes: [UInt8] = []
        MessageRecord.append(message, to: .tokens(tokens), needsClaim: false, &bytes)
        #expect(Self.read(bytes)?.audience == .tokens(tokens))
    }

    @Test func `What a message does with Live Activities is read back`() throws {
        let parts = [
            ActivityPart(.start, type: "Delivery", isStamped: true), ActivityPart(.update, isStamped: true),
            ActivityPart(.end, isStamped: false),
        ]
        for part in parts {
            let kind = part.event == .start ? AddressKind.pushToStart : .activity
            let audience = part.event == .start ? Audience.users(["ada"]) : .activities(["order-1", "ordre-é"])
            let message = Message(
                id: try #require(MessageID("m")), app: LedgerScene.shop, kind: kind, payload: Array("{}".utf8),
                activity: part)
            var bytes: [UInt8] = []
            MessageRecord.append(message, to: audience, needsClaim: true, &bytes)
            let read = try #require(Self.read(bytes))
            #expect(read.message.activity == part && read.message.kind == kind && read.audience == audience)
            for count in 0..<bytes.count { #expect(Self.read(Array(bytes.prefix(count))) == nil) }
        }
    }

    /// Earlier versions wrote the length of an address in one byte.
    @Test func `A record of an earlier version is read`() throws {
        let token = [UInt8](repeating: 7, count: 100)
        let bytes: [UInt8] = [0, 0, 10, 1, UInt8(ascii: "m"), 0, 1, 100] + token + [2] + Array("{}".utf8)
        let read = try #require(Self.read(bytes))
        #expect(read.audience == .tokens([try #require(Address(bytes: token))]))
        #expect(read.message.id.text == "m")
        #expect(read.message.payload == Array("{}".utf8))
    }

    /// Bits of the record are flipped, as on a failing disk. Reading it may fail, but must not end the process.
    @Test(arguments: 1...40 as ClosedRange<UInt64>) func `Damaged bytes never trap`(seed: UInt64) {
        var random = SeededRandom(seed: seed &* 77)
        for _ in 0..<50 {
            let request = random.request()
            var bytes: [UInt8] = []
            MessageRecord.append(request.message, to: request.audience, needsClaim: true, &bytes)
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: 0..<min(bytes.count, 200), using: &random)] = UInt8.random(
                    in: 0...255, using: &random)
            }
            _ = Self.read(bytes)
            var heads = random.bytes(8 * Int.random(in: 0...4, using: &random))
            if Bool.random(using: &random), heads.count >= 8 { heads[4] = 10 }
            let row = MessageRow(
                first: 5, count: 4, time: 0, apps: [LedgerScene.shop], heads: heads, bodies: bytes)
            for seq in 5...8 as ClosedRange<UInt64> { _ = row.message(seq) }
        }
    }

    private static func read(_ bytes: [UInt8]) -> MessageRecord.Read? {
        bytes.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            return MessageRecord.read(&reader, app: LedgerScene.shop)
        }
    }

    @Test(arguments: [32, 3] as [UInt8])
    func `A type that earlier versions did not have is stored with its word`(number: UInt8) throws {
        let type = MessageType(number, word: "whisper", defaultPriority: .one)
        let message = Message(id: try #require(MessageID("m")), app: LedgerScene.shop, type: type, payload: [])
        var bytes: [UInt8] = []
        MessageRecord.append(message, to: .everyone, needsClaim: false, &bytes)
        #expect(bytes == [0b100_0000, number, 1, 7] + Array("whisper".utf8) + [1, 1, 0x6d, 4, 0])
        for count in 0...bytes.count {
            let read = bytes.prefix(count).withUnsafeBytes { bytes in
                var reader = ByteReader(bytes)
                return MessageRecord.read(&reader, app: LedgerScene.shop)
            }
            #expect((read?.message.type == type) == (count == bytes.count), "\(count) bytes")
        }
    }

    @Test(arguments: AddressKind.allCases)
    func `A kind of address is stored unless it is that of nearly all`(kind: AddressKind) throws {
        let message = Message(id: try #require(MessageID("m")), app: LedgerScene.shop, kind: kind, payload: [])
        var bytes: [UInt8] = []
        MessageRecord.append(message, to: .everyone, needsClaim: false, &bytes)
        #expect(bytes == (kind == .alert ? [0, 0, 10] : [0b1000_0000, 0, 10, kind.number]) + [1, 0x6d, 4, 0])
        #expect(Self.read(bytes)?.message.kind == kind)
        if kind != .alert {
            bytes[3] = 200
            #expect(Self.read(bytes) == nil)
        }
    }

    @Test func `The turn of a local time is stored at the end, in a form that does not change`() throws {
        for (zone, after) in [("Asia/Kolkata", 1_799_990_000), (nil, nil)] as [(String?, Int64?)] {
            let turn = LocalTurn(
                LocalTime(seconds: 1_800_000_000), zone: zone, fallback: UnixSeconds(1_799_980_200),
                after: after.map { UnixSeconds($0) }, isLast: after == nil, dropsLate: zone == nil)
            let message = Message(
                id: try #require(MessageID("m")), app: LedgerScene.shop, payload: [0x7b, 0x7d],
                notBefore: UnixSeconds(1_799_993_800), turn: turn)
            var bytes: [UInt8] = []
            MessageRecord.append(message, to: .everyone, needsClaim: true, &bytes)
            #expect(Array(bytes.prefix(3)) == [0b1_0010, 0, 0b1_0000 | 10])
            let read = try #require(Self.read(bytes)?.message)
            let stored = try #require(read.turn)
            #expect(stored.local == turn.local && stored.zone == zone && stored.fallback == turn.fallback)
            #expect(stored.after == turn.after && stored.isLast == turn.isLast && stored.dropsLate == turn.dropsLate)
            #expect(read.notBefore == message.notBefore)
            for count in 0..<bytes.count { #expect(Self.read(Array(bytes.prefix(count))) == nil, "\(count)") }
            // A turn without a time, and unknown flags.
            var damaged = bytes
            damaged[0] &= ~2
            #expect(Self.read(damaged) == nil)
        }
    }

    /// The message has two locales, and with values two users.
    private static func worded(hasValues: Bool) throws -> (Message, Audience) {
        let places = [Wording.Place(offset: 1, value: 0), Wording.Place(offset: 1, value: 1)]
        let forms = [
            Wording.Form(locale: LocaleTag("en"), payload: [0x7b, 0x7d], places: hasValues ? places : []),
            Wording.Form(locale: LocaleTag("de-CH"), payload: [0x7b, 0x20, 0x7d]),
        ]
        var values = UserValues(of: ["ada", "bob"], count: 2)
        for value in [[1], [2, 2], [], [3]] as [[UInt8]] { _ = values.add(value) }
        let wording = try #require(Wording(forms, values: hasValues ? values : nil))
        let message = Message(
            id: try #require(MessageID("m")), app: LedgerScene.shop, payload: forms[0].payload, wording: wording)
        return (message, hasValues ? .users(["ada", "bob"]) : .everyone)
    }

    @Test(arguments: [false, true])
    func `The forms of a message are stored behind its payload, in a form that does not change`(hasValues: Bool) throws
    {
        let (message, audience) = try Self.worded(hasValues: hasValues)
        var bytes: [UInt8] = []
        MessageRecord.append(message, to: audience, needsClaim: false, &bytes)
        let head: [UInt8] = [0, 0, 0b100_0000 | 10, 1, 0x6d]
        let second: [UInt8] = [5, 0x64, 0x65, 0x2d, 0x63, 0x68, 3, 0x7b, 0x20, 0x7d, 0]
        #expect(
            bytes
                == (hasValues
                    ? head + [2, 2, 3, 0x61, 0x64, 0x61, 3, 0x62, 0x6f, 0x62, 2, 0x7b, 0x7d]
                        + [2, 2, 0x65, 0x6e, 2, 1, 0, 0, 1] + second + [2, 1, 1, 2, 2, 2, 0, 1, 3]
                    : head + [4, 2, 0x7b, 0x7d] + [2, 2, 0x65, 0x6e, 0] + second + [0]))
        let read = try #require(Self.read(bytes))
        #expect(read.audience == audience && read.message.priority == .ten)
        #expect(read.message.wording?.forms == message.wording?.forms)
        for user in ["ada", "bob"] {
            for locale in ["en", "de-CH", "fr"] {
                let variant = try #require(message.wording?.variant(locale: locale, user: user))
                #expect(read.message.wording?.variant(locale: locale, user: user) == variant)
                #expect(read.message.form(variant).payload == message.form(variant).payload)
            }
        }
        for count in 0..<bytes.count { #expect(Self.read(Array(bytes.prefix(count))) == nil, "\(count) bytes") }
        // Damage never ends the process, and never gives forms that do not fit.
        for index in bytes.indices {
            for byte in [0, 1, 0x7f, 0x80, 0xff] as [UInt8] {
                var damaged = bytes
                damaged[index] = byte
                guard let message = Self.read(damaged)?.message, let wording = message.wording else { continue }
                let users = wording.values?.users.count ?? 1
                for variant in 0..<UInt32(users * wording.forms.count) { _ = message.form(variant).payload }
            }
        }
    }

    /// Existing files contain this form.
    @Test func `The binary form of a record does not change`() {
        let message = Message(
            id: MessageID("m-1")!, app: LedgerScene.shop,
            type: MessageType(1, word: "background", defaultPriority: .five), priority: .five,
            expiry: Expiry(expiresAt: 100),
            collapseID: CollapseID("c")!, payload: [0x7b, 0x7d], onUnknown: .drop, notBefore: -1, traceparent: "t")
        var bytes: [UInt8] = []
        MessageRecord.append(message, to: .users(["ann"]), needsClaim: true, &bytes)
        #expect(
            bytes == [
                0b11_1111, 1, 5, 3, 0x6d, 0x2d, 0x31, 0xc8, 1, 1, 1, 0x63, 1, 0x74, 2, 1, 3, 0x61, 0x6e, 0x6e, 2, 0x7b,
                0x7d,
            ])
        var other: [UInt8] = []
        MessageRecord.append(
            Message(id: MessageID("x")!, app: LedgerScene.shop, payload: []),
            to: .tokens([Address(bytes: [1, 2, 3])!, Address(words: (1, 2, 3, 4))]), needsClaim: false, &other)
        #expect(
            other == [
                0, 0, 10, 1, 0x78, 0, 2, 3, 1, 2, 3, 32,
            ] + [1, 2, 3, 4].flatMap { [0, 0, 0, 0, 0, 0, 0, $0] } + [0])
    }
}

extension SeededRandom {
    /// The types from before records had words. ``SchemaTests`` has a hash of the records of these messages.
    private static let types = [
        MessageType.alert, MessageType(1, word: "background", defaultPriority: .five), MessageType(2, word: "voip"),
        MessageType(3, word: "complication"), MessageType(4, word: "fileprovider"), MessageType(5, word: "mdm"),
        MessageType(6, word: "location"), MessageType(7, word: "liveactivity"), MessageType(8, word: "pushtotalk"),
        MessageType(9, word: "widgets"), MessageType(10, word: "controls"),
    ]

    mutating func request() -> PushRequest {
        func text(_ count: Int, _ random: inout SeededRandom) -> String {
            String((0..<count).map { _ in "abcxyz019-_.".randomElement(using: &random)! })
        }
        let type = Self.types.randomElement(using: &self)!
        let audience: Audience
        switch Int.random(in: 0..<6, using: &self) {
        case 0:
            audience = .tokens(
                (0..<Int.random(in: 1...5, using: &self)).map { _ in
                    Address(bytes: bytes([32, 32, 8, 33, 64, 100].randomElement(using: &self)!))!
                })
        case 1:
            audience = .devices(
                (0..<Int.random(in: 1...5, using: &self)).map { _ in DeviceID(high: next(), low: next()) })
        case 2: audience = .users((0..<Int.random(in: 1...5, using: &self)).map { _ in "ü" + text(7, &self) })
        case 3, 4: audience = .tags(tags(depth: 0))
        default: audience = .everyone
        }
        func time(_ random: inout SeededRandom) -> Int64? {
            [nil, 0, -5, 1_700_000_000, .max, .min].randomElement(using: &random)!
        }
        return PushRequest(
            Message(
                id: MessageID(text(Int.random(in: 1...40, using: &self), &self))!, app: LedgerScene.shop,
                type: type, priority: PushPriority.allCases.randomElement(using: &self),
                expiry: Expiry(expiresAt: time(&self)),
                collapseID: Bool.random(using: &self) ? CollapseID(text(9, &self)) : nil,
                payload: bytes(Int.random(in: 0...300, using: &self)),
                onUnknown: Bool.random(using: &self) ? .drop : .resend, notBefore: time(&self).map { UnixSeconds($0) },
                traceparent: Bool.random(using: &self) ? text(55, &self) : nil), to: audience)
    }

    private mutating func tags(depth: Int) -> TagExpression {
        switch depth >= 5 ? 0 : Int.random(in: 0..<5, using: &self) {
        case 0, 1: .tag("tag-\(next() % 100)")
        case 2: .all((0..<Int.random(in: 1...3, using: &self)).map { _ in tags(depth: depth + 1) })
        case 3: .any((0..<Int.random(in: 1...3, using: &self)).map { _ in tags(depth: depth + 1) })
        default: .not(tags(depth: depth + 1))
        }
    }
}
