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

    private static func full() -> TestActivityWaits {
        let waits = TestActivityWaits()
        for activity in UInt64(1)...10_000 {
            #expect(waits.admit(wait(activity)))
            waits.state.stored(activity, as: activity)
        }
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
            #expect(waits.admit(Self.wait(0)) && !waits.admit(Self.wait(10_001)))
            waits.state.withdrawn(0)
        }
        #expect(waits.admit(Self.wait(10_001)))
        #expect(!waits.admit(Self.wait(10_002)))
    }

    @Test func `An activity that has an address always has room, until it has none any more`() {
        let waits = TestActivityWaits()
        waits.found(0)
        for activity in UInt64(1)...10_000 { #expect(waits.admit(Self.wait(activity))) }
        #expect(waits.admit(Self.wait(0)))
        waits.lost(0)
        #expect(!waits.admit(Self.wait(0)))
        // What was accepted as addressed waits anyway.
        waits.waits(Self.wait(0), newest: 1)
        #expect(waits.state.load(of: Self.shop).count == 10_001)
    }

    @Test func `The newest payloads of an app have 16 MiB, and only another end takes the place of an end`() {
        let waits = TestActivityWaits()
        for activity in UInt64(1)...4096 {
            #expect(waits.admit(Self.wait(activity, bytes: 4096, activity == 1 ? .end : .update)))
        }
        #expect(!waits.admit(Self.wait(5000, bytes: 1)))
        #expect(waits.admit(Self.wait(2, bytes: 4096)) && !waits.admit(Self.wait(2, bytes: 4097)))
        // An update behind an end is not sent.
        #expect(waits.admit(Self.wait(1, bytes: 10)) && !waits.admit(Self.wait(5000, bytes: 1)))
        #expect(waits.admit(Self.wait(1, bytes: 10, .end)))
        #expect(waits.state.load(of: Self.shop).bytes == (16 << 20) - 4086)
        #expect(waits.admit(Self.wait(5000, bytes: 4086)) && !waits.admit(Self.wait(5001, bytes: 1)))
    }

    @Test func `An activity counts while one of its messages is being stored, or is not ended`() {
        let waits = TestActivityWaits()
        #expect(waits.admit(Self.wait(1)))
        waits.state.stored(1, as: 10)
        #expect(waits.admit(Self.wait(1)))
        waits.ended(1, upTo: 10)
        #expect(waits.state.load(of: Self.shop).count == 1)
        waits.state.withdrawn(1)
        #expect(waits.state.load(of: Self.shop) == (0, 0))
        // The router may know of the end of an older message only.
        #expect(waits.admit(Self.wait(1)))
        waits.state.stored(1, as: 12)
        waits.ended(1, upTo: 11)
        #expect(waits.state.load(of: Self.shop).count == 1)
        waits.ended(1, upTo: 12)
        #expect(waits.state.load(of: Self.shop) == (0, 0))
    }

    @Test func `What was not read yet counts, and a node counts for its share`() {
        let waits = TestActivityWaits()
        waits.unread(10_000, of: Self.shop)
        #expect(!waits.admit(Self.wait(1)))
        waits.waits(Self.wait(2), newest: 2)
        waits.allRead(of: Self.shop)
        #expect(waits.state.load(of: Self.shop) == (1, 100))
        waits.state.share = (1, 4)
        for activity in UInt64(10)..<2509 { #expect(waits.admit(Self.wait(activity))) }
        #expect(!waits.admit(Self.wait(1)))
        waits.state.share = (4, 4)
        #expect(waits.admit(Self.wait(1)))
    }

    @Test func `What is known of addresses is bounded`() {
        let waits = TestActivityWaits()
        for activity in 0...UInt64(UnaddressedActivities.maxKnown) { waits.found(activity) }
        #expect(waits.admit(Self.wait(UInt64(UnaddressedActivities.maxKnown))))
        #expect(waits.state.load(of: Self.shop).count == 0)
        #expect(waits.admit(Self.wait(0)))
        #expect(waits.state.load(of: Self.shop).count == 1)
    }
}
