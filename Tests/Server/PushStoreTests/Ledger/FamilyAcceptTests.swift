import PushLogic
import PushModel
import PushTime
import PushWire
import Testing

@testable import PushStore

/// Requests to the members of a family, which are stored together or not at all.
@Suite struct FamilyAcceptTests {
    private static let apps = ["ios", "android", "web"].map { AppID($0)! }

    /// Returns the requests to all members, as the ledger gets them.
    private static func family(
        _ id: String, payloads: [UInt8] = [1, 1, 1], expiresAt: Int64? = nil, notBefore: Int64? = nil,
        preferred: [PreferredApp] = []
    ) -> [PushRequest] {
        zip(apps, payloads).enumerated().map { place, member in
            var request = PushRequest(
                Message(
                    id: MessageID(id)!, app: member.0, expiry: Expiry(expiresAt: expiresAt), payload: [member.1],
                    preferred: place == 0 ? [] : preferred, notBefore: notBefore.map { UnixSeconds($0) }),
                to: .users(["ada"]))
            request.isJoined = place > 0
            return request
        }
    }

    @Test(arguments: LedgerKind.allCases)
    func `All members are accepted, and again all are duplicates, also after a restart`(kind: LedgerKind) async throws {
        try await withLedger(on: kind) { scene in
            let first = await scene.accept(Self.family("a"))
            #expect(first == [.accepted(seq: 1), .accepted(seq: 2), .accepted(seq: 3)])
            #expect(scene.listener.messages.map(\.message.app) == Self.apps)
            let again: [Acceptance] = [.duplicate(seq: 1), .duplicate(seq: 2), .duplicate(seq: 3)]
            #expect(await scene.accept(Self.family("a")) == again)
            try await scene.reopen()
            #expect(await scene.accept(Self.family("a")) == again)
            // A single app is another message only if its content is.
            #expect(await scene.accept(Self.family("a")[0]) == .duplicate(seq: 1))
        }
    }

    @Test(arguments: [false, true], LedgerKind.allCases)
    func `A conflict of one member withholds the others`(reopens: Bool, kind: LedgerKind) async throws {
        try await withLedger(on: kind) { scene in
            var one = Self.family("a")[1]
            one.isJoined = false
            #expect(await scene.accept(one) == .accepted(seq: 1))
            if reopens { try await scene.reopen() }
            let refused = await scene.accept(
                [push("before")] + Self.family("a", payloads: [1, 2, 1]) + [push("behind")])
            #expect(refused[1...3] == [.withheld, .conflict(seq: 1), .withheld])
            #expect(refused[0].seq != nil && refused[4].seq != nil)
            // Nothing of the refused family is remembered: with the same content it is accepted.
            let mixed = await scene.accept(Self.family("a"))
            #expect(mixed[1] == .duplicate(seq: 1) && mixed[0].seq != nil && mixed[2].seq != nil)
            let apps = scene.listener.messages.filter { $0.message.id.text == "a" }.map(\.message.app.name)
            #expect(apps == (reopens ? ["ios", "web"] : ["android", "ios", "web"]))
        }
    }

    @Test(arguments: LedgerKind.allCases)
    func `A family that has expired is not accepted, and known members are duplicates`(kind: LedgerKind) async throws {
        try await withLedger(on: kind) { scene in
            let soon = scene.now + 10
            var one = Self.family("a", expiresAt: soon)[2]
            one.isJoined = false
            #expect(await scene.accept(one) == .accepted(seq: 1))
            scene.advance(.seconds(20))
            let answers = await scene.accept(Self.family("a", expiresAt: soon))
            #expect(answers == [.expired, .expired, .duplicate(seq: 1)])
        }
    }

    @Test(arguments: LedgerKind.allCases)
    func `A family for which there is no room is not accepted in part`(kind: LedgerKind) async throws {
        try await withLedger(on: kind) { scene in
            scene.retention.keyLimit = 4
            await scene.trim()
            #expect(await scene.accept([push("x"), push("y")]).allSatisfy { $0.seq != nil })
            let answers = await scene.accept(Self.family("a"))
            #expect(answers.prefix(1) == [.withheld])
            guard case .failed(let text)? = answers.last else {
                Issue.record("\(answers)")
                return
            }
            #expect(text.contains("dedupe.limit"))
            #expect(!scene.listener.messages.contains { $0.message.id.text == "a" })
            #expect(await scene.accept(push("z")).seq != nil)
        }
    }

    @Test(arguments: [false, true], LedgerKind.allCases)
    func `The apps that come first are kept with a message, and other ones are a conflict`(
        isScheduled: Bool, kind: LedgerKind
    ) async throws {
        try await withLedger(on: kind) { scene in
            let preferred = [
                PreferredApp(Self.apps[0], kind: .alert), PreferredApp(AppID("other")!, kind: .voip),
            ]
            let later = isScheduled ? scene.now + 100 : nil
            let answers = await scene.accept(Self.family("a", notBefore: later, preferred: preferred))
            #expect(answers.allSatisfy { $0.seq != nil })
            try await scene.reopen()
            let loaded =
                if let later {
                    try await scene.due(at: later).messages
                } else {
                    try await scene.load(answers.compactMap(\.seq))
                }
            #expect(loaded.map(\.message.preferred) == [[], preferred, preferred])
            let other = await scene.accept(
                Self.family("a", notBefore: later, preferred: Array(preferred.reversed())))
            #expect(other[0] == .duplicate(seq: answers[0].seq ?? 0))
            guard case .conflict = other[1] else {
                Issue.record("\(other)")
                return
            }
        }
    }
}

/// The record of a message with apps that come first.
@Suite struct PreferredRecordTests {
    private static let bytes: [UInt8] =
        [0, 0, 10 | 1 << 5, 1, UInt8(ascii: "m"), 4, 2] + Array("{}".utf8) + [2, 3] + Array("ios".utf8) + [0, 3]
        + Array("mac".utf8) + [1]

    private static func read(_ bytes: [UInt8]) -> MessageRecord.Read? {
        bytes.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            return MessageRecord.read(&reader, app: LedgerScene.shop)
        }
    }

    @Test func `It has these bytes, and is read back`() throws {
        let preferred = [PreferredApp(AppID("ios")!, kind: .alert), PreferredApp(AppID("mac")!, kind: .voip)]
        let message = Message(
            id: try #require(MessageID("m")), app: LedgerScene.shop, payload: Array("{}".utf8), preferred: preferred)
        var bytes: [UInt8] = []
        MessageRecord.append(message, to: .everyone, needsClaim: false, &bytes)
        #expect(bytes == Self.bytes)
        #expect(Self.read(bytes)?.message.preferred == preferred)
        for count in 0..<bytes.count { #expect(Self.read(Array(bytes.prefix(count))) == nil) }
    }

    @Test(arguments: 0...255 as ClosedRange<UInt8>) func `Damaged bytes never trap`(byte: UInt8) {
        for place in Self.bytes.indices {
            var bytes = Self.bytes
            bytes[place] = byte
            if let read = Self.read(bytes) { #expect(read.message.preferred.count <= PreferredApp.maxCount) }
        }
    }
}
