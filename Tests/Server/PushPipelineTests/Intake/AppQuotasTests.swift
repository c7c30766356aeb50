import PushModel
import PushTime
import TestTraits
import Testing

@testable import PushPipeline

/// Tests of the decision whether an app has room for one more message.
@Suite(.waits) struct AppQuotasTests {
    private static let shop = AppID("shop")!
    private static let news = AppID("news")!

    private func message(_ app: AppID = shop, notBefore: UnixSeconds? = nil) -> Message {
        Message(id: MessageID("a")!, app: app, payload: [], notBefore: notBefore)
    }

    private func limits(_ change: (inout AppLimits) -> Void) -> [AppID: AppLimits] {
        var limits = AppLimits()
        change(&limits)
        return [Self.shop: limits]
    }

    @Test func `deliveries of a message for several devices are remembered too`() throws {
        var quotas = AppQuotas(limits: limits { $0.remembered = 5 }, window: .seconds(100))
        let tokens = (1...3).map { Address(words: (UInt64($0), 2, 3, 4)) }
        for (run, room) in [(UInt64(1), true), (2, true), (3, false)] {
            let quota = quotas.admit(message(), at: 0, run: run, share: nil) { _ in AppLoad() }
            #expect(quota == (room ? nil : .remembered))
            // The first message adds its id and three deliveries, the second one only its id.
            let some = run == 1 ? tokens : Array(tokens.prefix(1))
            quotas.answered([PushRequest(message(), to: .tokens(some))], [.accepted(seq: run)], at: 0)
        }
    }

    @Test func `a group of several apps is answered by runs`() {
        var quotas = AppQuotas(window: .seconds(100))
        let messages = [Self.shop, Self.shop, Self.news, Self.shop].map { message($0) }
        for message in messages {
            let quota = quotas.admit(message, at: 0, run: 1, share: nil) { _ in AppLoad() }
            #expect(quota == nil)
        }
        quotas.answered(
            messages.map { PushRequest($0, to: .everyone) },
            [.accepted(seq: 1), .duplicate(seq: 1), .accepted(seq: 2), .accepted(seq: 3)], at: 0)
        // Two of the three messages of the app are new.
        let three = limits { $0.remembered = 3 }
        quotas.replaceLimits([Self.shop: three[Self.shop]!, Self.news: three[Self.shop]!])
        func room(_ app: AppID) -> Int {
            (1...9).prefix { _ in quotas.admit(message(app), at: 1, run: 2, share: nil) { _ in AppLoad() } == nil }
                .count
        }
        let (shop, news) = (room(Self.shop), room(Self.news))
        #expect(shop == 1 && news == 2)
    }

    @Test func `what was handed in counts until it is answered, and then by what the app holds`() {
        var quotas = AppQuotas(limits: limits { $0.waiting = 3 }, window: .seconds(100))
        var load = AppLoad(waiting: 1)
        func admit(_ run: UInt64, _ app: AppID = Self.shop) -> AppQuota? {
            quotas.admit(message(app), at: 0, run: run, share: nil) { _ in load }
        }
        #expect(admit(1) == nil && admit(1) == nil)
        #expect(admit(1) == .waiting && admit(2) == .waiting)
        #expect(admit(2, Self.news) == nil)
        // One message was accepted and waits; the other was a duplicate.
        quotas.answered(message(), isNew: true, at: 0)
        quotas.answered(message(), isNew: false, at: 0)
        load.waiting = 2
        #expect(admit(3) == nil)
        #expect(admit(3) == .waiting)
        // A held message counts again without another check.
        quotas.answered(message(), isNew: false, at: 0)
        quotas.hold(message())
        #expect(admit(4) == .waiting)
    }

    @Test func `what the app holds is asked once for each run`() {
        var quotas = AppQuotas(window: .seconds(100))
        var asked = 0
        for run in [1, 1, 1, 2, 2] as [UInt64] {
            _ = quotas.admit(message(), at: 0, run: run, share: nil) { _ in
                asked += 1
                return AppLoad()
            }
        }
        #expect(asked == 2)
    }

    @Test func `scheduled messages have a limit of their own`() {
        var quotas = AppQuotas(
            limits: limits {
                $0.waiting = 1
                $0.scheduled = 2
            }, window: .seconds(100))
        func admit(_ notBefore: UnixSeconds?, at now: UnixSeconds = 10) -> AppQuota? {
            quotas.admit(message(notBefore: notBefore), at: now, run: UInt64(now.value), share: nil) { _ in
                AppLoad(waiting: 0, scheduled: 1)
            }
        }
        #expect(admit(11) == nil)
        #expect(admit(11) == .scheduled)
        // A `not_before` that has passed does not make the message scheduled.
        #expect(admit(20, at: 20) == .waiting)
        quotas.answered(message(notBefore: 11), isNew: true, at: 10)
        #expect(admit(20, at: 21) == nil)
    }

    @Test func `where all together hold too much, those with their share wait`() {
        var quotas = AppQuotas(window: .seconds(100))
        func admit(_ app: AppID, holding waiting: Int) -> AppQuota? {
            quotas.admit(message(app), at: 0, run: 1, share: 100) { _ in AppLoad(waiting: waiting) }
        }
        #expect(admit(Self.shop, holding: 100) == .share)
        #expect(admit(Self.news, holding: 99) == nil)
        #expect(admit(Self.news, holding: 99) == .share)
    }

    @Test func `ids are remembered for the window, by pieces`() {
        var quotas = AppQuotas(limits: limits { $0.remembered = 2 }, window: .seconds(64))
        func admit(at now: UnixSeconds) -> AppQuota? {
            quotas.admit(message(), at: now, run: UInt64(now.value), share: nil) { _ in AppLoad() }
        }
        for now in [0, 2] as [UnixSeconds] {
            #expect(admit(at: now) == nil)
            quotas.answered(message(), isNew: true, at: now)
        }
        #expect(admit(at: 60) == .remembered)
        #expect(admit(at: 65) == .remembered)
        // The first piece covers the seconds 0 and 1. It is forgotten 64 seconds after its end.
        #expect(admit(at: 66) == nil)
        quotas.answered(message(), isNew: true, at: 66)
        #expect(admit(at: 67) == .remembered)
        #expect(admit(at: 68) == nil)
    }

    @Test func `a limit that was reached is worth one report a second`() {
        var quotas = AppQuotas(window: .seconds(100))
        let calls: [(AppQuota, AppID, UnixSeconds)] = [
            (.waiting, Self.shop, 1), (.waiting, Self.shop, 1), (.waiting, Self.news, 1), (.scheduled, Self.shop, 1),
            (.waiting, Self.shop, 2),
        ]
        let worth = calls.map { quotas.isWorthReport($0, of: $1, at: $2) }
        #expect(worth == [true, false, true, true, true])
    }
}

extension AppQuotas {
    /// Records the answer to one message.
    fileprivate mutating func answered(_ message: Message, isNew: Bool, at now: UnixSeconds) {
        answered([PushRequest(message, to: .everyone)], [isNew ? .accepted(seq: 1) : .duplicate(seq: 1)], at: now)
    }
}
