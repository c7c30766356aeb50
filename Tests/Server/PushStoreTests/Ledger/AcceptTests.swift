import PushModel
import PushTime
import Testing

@testable import PushStore

@Suite struct AcceptTests {
    @Test(arguments: LedgerKind.allCases) func `A message is accepted once, and the same envelope again is a duplicate`(
        kind: LedgerKind
    ) async throws {
        try await withLedger(on: kind) { scene in
            #expect(await scene.accept(push("a")) == .accepted(seq: 1))
            #expect(await scene.accept(push("a")) == .duplicate(seq: 1))
            #expect(
                await scene.accept([push("b"), push("b"), push("b", to: [2])]) == [
                    .accepted(seq: 3), .duplicate(seq: 3), .accepted(seq: 4),
                ])
            try await scene.reopen()
            #expect(
                await scene.accept([push("a"), push("b"), push("b", to: [2])]) == [
                    .duplicate(seq: 1), .duplicate(seq: 3), .duplicate(seq: 4),
                ])
        }
    }

    @Test(arguments: [false, true], LedgerKind.allCases) func `A known id with another payload or option is a conflict`(
        reopens: Bool, kind: LedgerKind
    )
        async throws
    {
        try await withLedger(on: kind) { scene in
            let soon = scene.now + 10
            #expect(await scene.accept(push("a", expiresAt: soon)) == .accepted(seq: 1))
            if reopens { try await scene.reopen() }
            #expect(await scene.accept(push("a", expiresAt: soon + 1)) == .conflict(seq: 1))
            #expect(await scene.accept(push("a")) == .conflict(seq: 1))
            #expect(await scene.accept(push("a", expiresAt: soon, payload: [1])) == .conflict(seq: 1))
            #expect(await scene.accept(push("a", expiresAt: soon, notBefore: 5)) == .conflict(seq: 1))
            #expect(await scene.accept(push("a", priority: .five, expiresAt: soon)) == .conflict(seq: 1))
            #expect(await scene.accept(push("a", to: [2], expiresAt: soon + 1)) == .conflict(seq: 1))
            #expect(await scene.accept(push("a", expiresAt: soon)) == .duplicate(seq: 1))
            // The same id in another app is another message.
            let other = await scene.accept(push("a", app: AppID("other")!, expiresAt: soon + 1))
            #expect(other.seq != nil)
        }
    }

    /// Returns a message with words by locale, and with a value of each user if some are given.
    private static func worded(_ german: String, values given: [UInt8]? = nil, notBefore: Int64? = nil) throws
        -> PushRequest
    {
        let users = ["ada", "bob"]
        var values: UserValues?
        if let given {
            values = UserValues(of: users, count: 1)
            for value in given { _ = values?.add([value]) }
        }
        let places = given == nil ? [] : [Wording.Place(offset: 1, value: 0)]
        let forms = [("en", "en"), ("de", german)].map {
            Wording.Form(locale: LocaleTag($0.0), payload: Array($0.1.utf8), places: places)
        }
        return PushRequest(
            Message(
                id: try #require(MessageID("a")), app: LedgerScene.shop, payload: forms[0].payload,
                wording: Wording(forms, values: values), notBefore: notBefore.map { UnixSeconds($0) }),
            to: .users(users))
    }

    @Test(arguments: [false, true], LedgerKind.allCases)
    func `Words and values are kept with a message, and other ones are a conflict`(isScheduled: Bool, kind: LedgerKind)
        async throws
    {
        try await withLedger(on: kind) { scene in
            let due = isScheduled ? scene.now + 10 : nil
            let request = try Self.worded("de", values: [1, 2], notBefore: due)
            #expect(await scene.accept(request) == .accepted(seq: 1))
            for reopens in [false, true] {
                if reopens { try await scene.reopen() }
                #expect(await scene.accept(request) == .duplicate(seq: 1))
                for other in [
                    try Self.worded("de", values: [1, 3], notBefore: due),
                    try Self.worded("dd", values: [1, 2], notBefore: due),
                    try Self.worded("de", notBefore: due),
                ] {
                    #expect(await scene.accept(other) == .conflict(seq: 1))
                }
                let read = isScheduled ? try await scene.due(at: scene.now + 10).messages : try await scene.load([1])
                let message = try #require(read.first?.message)
                #expect(read.count == 1)
                for (user, locale, payload) in [("ada", "de-AT", "d\u{1}e"), ("bob", "fr", "e\u{2}n")] {
                    let variant = try #require(message.wording?.variant(locale: locale, user: user))
                    #expect(message.form(variant).payload == Array(payload.utf8))
                }
            }
        }
    }

    @Test(arguments: [false, true], LedgerKind.allCases)
    func `An expired request is refused, but a known message is still a duplicate`(reopens: Bool, kind: LedgerKind)
        async throws
    {
        try await withLedger(on: kind) { scene in
            let end = scene.now + 10
            #expect(await scene.accept(push("a", expiresAt: end)) == .accepted(seq: 1))
            #expect(await scene.accept(push("all", to: .everyone, expiresAt: end)) == .accepted(seq: 2))
            #expect(await scene.accept(push("once", expiresAt: 0)) == .accepted(seq: 3))
            scene.advance(.seconds(10))
            if reopens { try await scene.reopen() }
            #expect(await scene.accept(push("a", expiresAt: end)) == .duplicate(seq: 1))
            #expect(await scene.accept(push("a", expiresAt: end - 1)) == .conflict(seq: 1))
            #expect(await scene.accept(push("a", to: [2], expiresAt: end)) == .expired)
            #expect(await scene.accept(push("all", to: .everyone, expiresAt: end)) == .duplicate(seq: 2))
            #expect(await scene.accept(push("all", to: .everyone, expiresAt: end, again: true)) == .expired)
            #expect(await scene.accept(push("b", expiresAt: end - 3)) == .expired)
            // A refused message is not remembered.
            let first = await scene.accept(push("b", expiresAt: end + 10))
            #expect(first.seq != nil)
            #expect(await scene.accept(push("a", to: [2], expiresAt: end)) == .expired)
        }
    }

    @Test(arguments: LedgerKind.allCases) func `Neither the order of an audience nor a traceparent makes a new message`(
        kind: LedgerKind
    ) async throws {
        try await withLedger(on: kind) { scene in
            #expect(await scene.accept(push("a", to: [1, 2, 3])) == .accepted(seq: 1))
            #expect(await scene.accept(push("a", to: [3, 1, 2])) == .duplicate(seq: 1))
            let traced = push("a", to: .tokens([2, 3, 1].map { token($0) }), traceparent: "00-1-2-01")
            #expect(await scene.accept(traced) == .duplicate(seq: 1))
            #expect(await scene.accept(push("b", to: .users(["u", "v"]))).seq != nil)
            #expect(await scene.accept(push("b", to: .users(["v", "u"]))).seq == nil)
        }
    }

    @Test(arguments: LedgerKind.allCases)
    func `The again option accepts a known id once more, for dynamic audiences only`(kind: LedgerKind) async throws {
        try await withLedger(on: kind) { scene in
            let first = await scene.accept(push("a", to: .everyone))
            #expect(first == .accepted(seq: 1))
            #expect(await scene.accept(push("a", to: .everyone)) == .duplicate(seq: 1))
            let again = await scene.accept(push("a", to: .everyone, again: true))
            #expect(again.seq != nil)
            #expect(scene.listener.messages.last?.needsClaim == true)
            #expect(await scene.accept(push("b", to: .tokens([token(1)]), again: true)).seq != nil)
            #expect(await scene.accept(push("b", to: .tokens([token(1)]), again: true)).seq == nil)
            try await scene.reopen()
            #expect(await scene.accept(push("a", to: .everyone)) == .duplicate(seq: 1))
        }
    }

    /// The first message is for one device. No table contains that delivery until another message names the device.
    @Test(arguments: ["same group", "later", "reopened", "done and reopened"], LedgerKind.allCases)
    func `The device of a first message counts as claimed for later messages of its id`(when: String, kind: LedgerKind)
        async throws
    {
        try await withLedger(on: kind) { scene in
            var seq: UInt64?
            if when == "same group" {
                let replies = await scene.accept([push("a"), push("a", to: [1, 2])])
                #expect(replies[0] == .accepted(seq: 1))
                seq = replies[1].seq
            } else {
                #expect(await scene.accept(push("a")) == .accepted(seq: 1))
                if when == "done and reopened" {
                    scene.carryOut(scene.listener.messages[0])
                    await scene.settled()
                }
                if when.hasSuffix("reopened") { try await scene.reopen() }
                seq = await scene.accept(push("a", to: [1, 2])).seq
            }
            let second = try #require(seq)
            let told = scene.listener.messages
            if !when.hasSuffix("reopened") { #expect(told[0].needsClaim == false) }
            #expect(told.last?.needsClaim == true)
            // Reopen once more: now the file contains both messages.
            if when.hasSuffix("reopened") { try await scene.reopen() }
            #expect(await scene.claim(second, "a", [token(1), token(2)]) == [.had, .new])
            #expect(await scene.claim(second, "a", [token(1), token(2)]) == [.had, .had])
        }
    }

    /// A scheduled message has not been sent yet. If each of the two messages found the device claimed by the other
    /// one, neither would be sent.
    @Test(arguments: [false, true], LedgerKind.allCases)
    func `If a scheduled message and another one share a device, exactly one sends to it`(
        reopens: Bool, kind: LedgerKind
    ) async throws {
        try await withLedger(on: kind) { scene in
            let due = scene.now + 60
            let first = try #require(await scene.accept(push("a", notBefore: due)).seq)
            let second = try #require(await scene.accept(push("a", to: [1, 2], notBefore: due)).seq)
            if reopens { try await scene.reopen() }
            let messages = try await scene.due(at: due).messages
            #expect(messages.map(\.seq) == [first, second])
            var senders = messages[0].needsClaim ? 0 : 1
            // The later message claims first.
            for message in messages.reversed() where message.needsClaim {
                let verdicts = await scene.claim(message.seq, "a", [token(1)])
                senders += verdicts == [.new] ? 1 : 0
            }
            #expect(senders == 1)
        }
    }

    @Test(arguments: LedgerKind.allCases) func `A device in many audiences of one id is claimed once`(kind: LedgerKind)
        async throws
    {
        try await withLedger(on: kind) { scene in
            var had = Set<Int>()
            for round in 0..<30 {
                let tokens = [round, round + 1, round + 2]
                let seq = try #require(await scene.accept(push("a", to: tokens)).seq)
                let verdicts = await scene.claim(seq, "a", tokens.map { token($0) })
                #expect(verdicts == tokens.map { had.contains($0) ? .had : .new })
                had.formUnion(tokens)
            }
        }
    }

    @Test(arguments: LedgerKind.allCases) func `Opening a ledger returns its waiting messages by lane`(kind: LedgerKind)
        async throws
    {
        try await withLedger(on: kind) { scene in
            let many = (0..<17).map { $0 }
            let replies = await scene.accept([
                push("a"), push("b", priority: .five), push("c", to: many), push("d", to: .everyone),
                push("e", app: AppID("other")!), push("f", notBefore: scene.now + 100), push("g"), push("h"),
            ])
            #expect(replies.compactMap(\.seq) == Array(1...8))
            scene.carryOut(scene.listener.messages[6])
            try await scene.reopen()
            let shop = LedgerScene.shop
            let lanes = Dictionary(uniqueKeysWithValues: scene.backlog.lanes.map { ($0.lane, $0.seqs) })
            let high = PushPriority.ten
            #expect(
                lanes == [
                    Lane(app: shop, priority: high, isBroad: false): [1, 8],
                    Lane(app: shop, priority: .five, isBroad: false): [2],
                    Lane(app: shop, priority: high, isBroad: true): [3, 4],
                    Lane(app: AppID("other")!, priority: high, isBroad: false): [5],
                ])
            #expect(scene.backlog.nextDue?.value == scene.now + 100)
            let loaded = try await scene.load(Array(1...8))
            #expect(loaded.map(\.message.id.text) == ["a", "b", "c", "d", "e", "f", "h"])
            #expect(loaded.map(\.needsClaim) == [false, false, true, true, false, false, false])
        }
    }
}
