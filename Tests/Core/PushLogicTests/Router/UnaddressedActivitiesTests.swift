import PushModel
import TestTraits
import Testing

@testable import PushLogic

/// The bound of what waits for the address of a Live Activity.
@Suite struct UnaddressedActivitiesTests {
    private static let shop = AppID("shop")!

    private static func wait(
        _ activity: UInt64, bytes: Int = 100, _ event: ActivityPart.Event = .update, app: AppID = shop
    ) -> ActivityWait {
        ActivityWait(
            Message(
                id: MessageID("m")!, app: app, kind: .activity, payload: Array(repeating: 0, count: bytes),
                activity: ActivityPart(event, isStamped: true)), to: activity)
    }

    /// Accepts a message, of whose activity the registry then has no address.
    private static func lose(_ wait: ActivityWait, _ waits: TestActivityWaits) -> Bool {
        guard waits.admit(wait) else { return false }
        waits.state.stored(wait.activity, as: wait.activity)
        waits.lost(wait, newest: wait.activity)
        return true
    }

    private static func full() -> TestActivityWaits {
        let waits = TestActivityWaits()
        for activity in UInt64(1)...10_000 { #expect(lose(wait(activity), waits)) }
        return waits
    }

    @Test func `Ten thousand activities of an app may wait, and any number of messages to them`() {
        let waits = Self.full()
        #expect(!waits.admit(Self.wait(0)))
        #expect(waits.admit(Self.wait(7)))
        #expect(waits.state.load(of: Self.shop) == (10_000, 1_000_000))
        // Other apps have their own room.
        #expect(waits.admit(Self.wait(20_000, app: AppID("news")!)))
    }

    @Test(arguments: ["found", "ended", "withdrawn"])
    func `An activity makes room when it has an address, or when nothing to it waits`(how: String) {
        let waits = Self.full()
        switch how {
        case "found": waits.found(5)
        case "ended": waits.ended(5, upTo: 5)
        default:
            waits.ended(5, upTo: 5)
            #expect(waits.admit(Self.wait(20_000)))
            waits.lost(Self.wait(20_000), newest: 0)
            #expect(!waits.admit(Self.wait(10_001)))
            waits.state.withdrawn(20_000)
        }
        #expect(Self.lose(Self.wait(10_001), waits))
        #expect(!waits.admit(Self.wait(10_002)))
    }

    @Test func `An activity that the registry was not asked about refuses no other`() {
        let waits = TestActivityWaits()
        for activity in UInt64(1)...20_000 { #expect(waits.admit(Self.wait(activity, bytes: 4096))) }
        #expect(waits.state.load(of: Self.shop) == (0, 0) && waits.state.waiting == 20_000)
        // What was accepted before its look-up waits, also if it is too much.
        for activity in UInt64(1)...20_000 {
            waits.state.stored(activity, as: activity)
            if activity > 15_000 { waits.found(activity) } else { waits.lost(Self.wait(activity), newest: activity) }
        }
        #expect(waits.state.load(of: Self.shop) == (15_000, 1_500_000) && waits.state.waiting == 15_000)
        #expect(!waits.admit(Self.wait(0)) && waits.admit(Self.wait(16_000)))
        for activity in UInt64(1)...5000 { waits.ended(activity, upTo: activity) }
        #expect(!waits.admit(Self.wait(0)))
        waits.ended(5001, upTo: 5001)
        #expect(waits.admit(Self.wait(0)))
    }

    @Test func `An activity that has an address always has room, until it has none any more`() {
        let waits = TestActivityWaits()
        waits.found(0)
        for activity in UInt64(1)...10_000 { #expect(Self.lose(Self.wait(activity), waits)) }
        #expect(waits.admit(Self.wait(0)))
        // What was accepted as addressed waits anyway.
        waits.lost(Self.wait(0), newest: 20_000)
        #expect(waits.state.load(of: Self.shop).count == 10_001)
        waits.ended(0, upTo: 20_000)
        #expect(!waits.admit(Self.wait(0)))
    }

    @Test func `The newest payloads of an app have 16 MiB, and only another end takes the place of an end`() {
        let waits = TestActivityWaits()
        for activity in UInt64(1)...4096 {
            #expect(Self.lose(Self.wait(activity, bytes: 4096, activity == 1 ? .end : .update), waits))
        }
        #expect(!waits.admit(Self.wait(5000, bytes: 1)))
        #expect(waits.admit(Self.wait(2, bytes: 4096)) && !waits.admit(Self.wait(2, bytes: 4097)))
        // An update behind an end is not sent.
        #expect(waits.admit(Self.wait(1, bytes: 10)) && !waits.admit(Self.wait(5000, bytes: 1)))
        #expect(waits.admit(Self.wait(1, bytes: 10, .end)))
        #expect(waits.state.load(of: Self.shop).bytes == (16 << 20) - 4086)
        #expect(Self.lose(Self.wait(5000, bytes: 4086), waits) && !waits.admit(Self.wait(5001, bytes: 1)))
    }

    @Test func `An activity counts while one of its messages is being stored, or is not ended`() {
        let waits = TestActivityWaits()
        #expect(waits.admit(Self.wait(1)))
        waits.state.stored(1, as: 10)
        waits.lost(Self.wait(1), newest: 10)
        #expect(waits.admit(Self.wait(1)))
        waits.ended(1, upTo: 10)
        #expect(waits.state.load(of: Self.shop).count == 1)
        waits.state.withdrawn(1)
        #expect(waits.state.load(of: Self.shop) == (0, 0))
        // The router may know of the end of an older message only.
        #expect(waits.admit(Self.wait(1)))
        waits.state.stored(1, as: 12)
        waits.lost(Self.wait(1), newest: 11)
        waits.ended(1, upTo: 11)
        #expect(waits.state.load(of: Self.shop).count == 1)
        waits.ended(1, upTo: 12)
        #expect(waits.state.load(of: Self.shop) == (0, 0) && waits.state.waiting == 0)
    }

    @Test func `A node counts for its share`() {
        let waits = TestActivityWaits()
        waits.state.share = (1, 4)
        for activity in UInt64(10)..<2510 { #expect(Self.lose(Self.wait(activity), waits)) }
        #expect(!waits.admit(Self.wait(1)))
        waits.state.share = (4, 4)
        #expect(waits.admit(Self.wait(1)))
    }

    @Test func `What is known of addresses is bounded`() {
        let waits = TestActivityWaits()
        let most = UInt64(UnaddressedActivities.maxKnown)
        for activity in 0..<most { waits.found(activity) }
        // What is used again counts as new.
        #expect(waits.admit(Self.wait(1)))
        for activity in most...(most + most / 2) { waits.found(activity) }
        for activity in [1, most, most + most / 2] { #expect(waits.admit(Self.wait(activity))) }
        #expect(waits.state.waiting == 0)
        #expect(waits.admit(Self.wait(0)))
        #expect(waits.state.waiting == 1)
    }

    // MARK: Refusals

    private static func refused(_ activity: UInt64, app: AppID = shop) -> RefusedActivity {
        RefusedActivity(activity, of: app, name: "order-\(activity)")
    }

    @Test func `An activity that is refused before it was looked up has room if the registry has an address`() {
        let waits = Self.full()
        #expect(!waits.admit(Self.wait(20_000)) && waits.refused(Self.refused(20_000)))
        // Asking goes on until nothing is left.
        #expect(!waits.refused(Self.refused(20_001)))
        #expect(Set(waits.takeRefused()) == [Self.refused(20_000), Self.refused(20_001)])
        waits.foundRefused(Self.refused(20_000))
        #expect(waits.admit(Self.wait(20_000)) && !waits.admit(Self.wait(20_001)))
        #expect(!waits.refused(Self.refused(20_001)))
        #expect(waits.takeRefused() == [Self.refused(20_001)] && waits.takeRefused() == [])
        #expect(waits.refused(Self.refused(20_001)))
        #expect(waits.state.load(of: Self.shop).count == 10_000)
    }

    @Test func `The registry is not asked again about an activity of which it had no address`() {
        let waits = Self.full()
        #expect(!waits.refused(Self.refused(5)) && waits.takeRefused() == [])
        // The look-up of an accepted message is newer than that of a refused one.
        waits.foundRefused(Self.refused(5))
        #expect(waits.state.load(of: Self.shop).count == 10_000)
    }

    @Test func `What is kept of refused activities is bounded, for each app and for all`() {
        let waits = TestActivityWaits()
        for app in 0..<20 {
            for activity in UInt64(1)...1100 {
                _ = waits.refused(Self.refused(UInt64(app) * 10_000 + activity, app: AppID("app-\(app)")!))
            }
        }
        let taken = waits.takeRefused()
        #expect(taken.count == 16 << 10)
        #expect(Dictionary(grouping: taken, by: \.app).values.allSatisfy { $0.count == 1024 })
    }
}
