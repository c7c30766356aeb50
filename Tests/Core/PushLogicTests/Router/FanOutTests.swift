import PushModel
import PushTime
import Testing

@testable import PushLogic

/// The search for devices and the pages that it finds, without a router.
@Suite struct FanOutTests {
    private typealias F = RouterFixtures

    private func page(_ range: Range<Int>) -> [AudiencePage.Device] {
        range.map { AudiencePage.Device(id: F.device($0), token: F.token($0)) }
    }

    private func found(_ range: Range<Int>) -> FanOut.FoundPage {
        var found = FanOut.FoundPage(foundAt: 0)
        found.devices = page(range)
        return found
    }

    /// Finds a page of the registry.
    private func find(_ range: Range<Int>, next: String?, in fanOut: inout FanOut) {
        fanOut.beginPage(reserving: range.count)
        #expect(!fanOut.canLookFurther)
        let reserved = fanOut.endPage()?.reserved
        #expect(reserved == range.count)
        let isWanted = fanOut.continueSearch(after: next.map { AudienceCursor($0) })
        #expect(isWanted)
        fanOut.beginClaim(of: found(range))
        let claimed = fanOut.endClaim()
        #expect(claimed?.devices.count == range.count)
    }

    @Test func `One page is sent while the next one waits, and the message ends with the last one`() {
        var fanOut = FanOut(for: .everyone)
        #expect(fanOut.canLookFurther && !fanOut.isAllDispatched)
        find(0..<3, next: "a", in: &fanOut)
        let isCurrent = fanOut.add(page(0..<3), foundAt: 1)
        #expect(isCurrent && fanOut.left == 3 && fanOut.foundAt == 1)
        find(3..<5, next: nil, in: &fanOut)
        let isNext = !fanOut.add(page(3..<5), foundAt: 2)
        #expect(isNext && fanOut.next.count == 2 && fanOut.isExhausted)
        let isDone = fanOut.finish(2)
        #expect(!isDone && fanOut.rest.map(\.id) == [F.device(2)])
        let isTurned = fanOut.finish(1)
        #expect(isTurned && fanOut.rest.map(\.id) == [F.device(3), F.device(4)] && fanOut.next.isEmpty)
        #expect(!fanOut.isAllDispatched)
        let isLast = fanOut.finish(2)
        #expect(isLast && fanOut.left == 0 && fanOut.isAllDispatched)
    }

    @Test func `A message is not complete while its last page is being claimed`() {
        var fanOut = FanOut(for: .everyone)
        fanOut.beginPage(reserving: 1)
        _ = fanOut.endPage()
        _ = fanOut.continueSearch(after: nil)
        #expect(fanOut.isExhausted && fanOut.isAllDispatched)
        fanOut.beginClaim(of: found(0..<1))
        #expect(fanOut.claiming?.count == 1 && !fanOut.isAllDispatched)
        _ = fanOut.endClaim()
        #expect(fanOut.claiming == nil && fanOut.isAllDispatched)
    }

    @Test func `A step can only be ended while it is under way`() {
        var fanOut = FanOut(for: .everyone)
        let page = fanOut.endPage()
        let claim = fanOut.endClaim()
        let retry = fanOut.pageFailed("locked", answers: 0, at: F.begin, backoff: Backoff())
        #expect(page == nil && claim == nil && retry == nil)
        fanOut.beginPage(reserving: 1)
        let wrong = fanOut.endClaim()
        #expect(wrong == nil && fanOut.pageQuery != nil)
    }

    @Test func `The search of an expired message ends at once, or with the page that is being prepared`() {
        var idle = FanOut(for: .everyone)
        idle.abandonSearch()
        #expect(idle.isExhausted && !idle.isAbandoned && idle.isAllDispatched)

        var paging = FanOut(for: .everyone)
        paging.beginPage(reserving: 1)
        paging.abandonSearch()
        #expect(paging.isAbandoned && !paging.isAllDispatched && paging.pageQuery != nil)
        _ = paging.endPage()
        let isWanted = paging.continueSearch(after: AudienceCursor("a"))
        #expect(!isWanted && paging.isAllDispatched)

        var claiming = FanOut(for: .everyone)
        find(0..<1, next: "a", in: &claiming)
        claiming.beginClaim(of: found(1..<2))
        claiming.abandonSearch()
        #expect(claiming.isAbandoned && !claiming.isAllDispatched)
        _ = claiming.endClaim()
        claiming.abandonSearch()
        #expect(claiming.isAllDispatched)
    }

    @Test func `The devices that are left can be removed`() {
        var fanOut = FanOut(for: .everyone)
        _ = fanOut.add(page(0..<3), foundAt: 1)
        _ = fanOut.add(page(3..<5), foundAt: 2)
        _ = fanOut.finish(1)
        #expect(fanOut.rest.count == 2 && fanOut.next.count == 2)
        fanOut.removeRest()
        #expect(fanOut.left == 0 && fanOut.rest.isEmpty && fanOut.next.isEmpty)
    }

    @Test func `Named tokens are scanned in parts, and each device is found once`() {
        var fanOut = FanOut(for: F.tokens(0..<5))
        guard var scan = fanOut.takeScan() else {
            Issue.record("there is no scan")
            return
        }
        let first = scan.advance(by: 3)
        let isNew = (scan.insert(F.device(1)), scan.insert(F.device(1)))
        #expect(first == 0..<3 && isNew == (true, false) && !scan.isComplete)
        fanOut.putBack(scan)
        #expect(fanOut.canLookFurther)
        guard var rest = fanOut.takeScan() else {
            Issue.record("the scan was not put back")
            return
        }
        let second = rest.advance(by: 3)
        let isNewLater = rest.insert(F.device(1))
        #expect(second == 3..<5 && !isNewLater && rest.isComplete)
        fanOut.putBack(rest)
        #expect(fanOut.isExhausted && !fanOut.canLookFurther)
    }

    @Test func `A request that fails alone waits for its own delay, and others are repeated at once`() {
        var fanOut = FanOut(for: .everyone)
        fanOut.beginPage(reserving: 1)
        let later = F.begin + .seconds(5)
        for answers in 0..<2 as Range<UInt64> {
            let retry = fanOut.pageFailed("locked", answers: answers, at: F.begin, backoff: Backoff())
            #expect(retry?.failsAlone == false)
        }
        fanOut.retryPage(at: later)
        #expect(fanOut.pageQuery?.retry?.askAgainAt == later)
        let alone = fanOut.pageFailed("damaged", answers: 2, at: F.begin, backoff: Backoff())
        #expect(alone?.failsAlone == true && alone?.text == "damaged")
        fanOut.retryPage(at: F.begin)
        #expect(fanOut.pageQuery?.retry?.askAgainAt == F.begin + .seconds(4))
        // Without an answer in between, the registry itself fails.
        let together = fanOut.pageFailed("locked", answers: 2, at: F.begin, backoff: Backoff())
        #expect(together?.failsAlone == false)
    }
}
