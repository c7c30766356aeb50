import PushLogic
import PushModel
import PushTime
import Testing

/// How far a message is, as the router knows it.
@Suite struct MessageProgressTests {
    private typealias F = RouterFixtures
    private let later = Refusal(status: 503, reason: "ServiceUnavailable")

    @Test func `A message is followed from its queue to its end`() throws {
        let desk = RouterDesk(credit: 0)
        desk.accept(F.accepted(1, to: F.tokens(0..<1)))
        #expect(desk.machine.progress(of: 1) == MessageProgress() && desk.machine.progress(of: 2) == nil)
        desk.report([], credit: 1000)
        let given = desk.wall
        desk.pass(.seconds(5))
        var wanted = MessageProgress()
        wanted.hasBegun = true
        wanted.unanswered = AppWaits.Wait(count: 1, oldest: given)
        #expect(desk.machine.progress(of: 1) == wanted)
        desk.endAll(.retry(later, after: .seconds(10)))
        desk.pass(.seconds(3))
        wanted.unanswered = AppWaits.Wait(count: 0, oldest: nil)
        wanted.retrying = 1
        wanted.nextAttempt = MessageProgress.Attempt(number: 1, after: .seconds(7))
        #expect(desk.machine.progress(of: 1) == wanted)
        desk.pass(.seconds(7))
        desk.endAll()
        #expect(desk.machine.progress(of: 1) == nil)
    }

    @Test func `The first attempt of many is that of this message`() {
        let desk = RouterDesk()
        desk.accept(F.accepted(1, to: F.tokens(0..<3)), F.accepted(2, to: F.tokens(3..<4)))
        let all = desk.out
        desk.out = []
        desk.report(
            all.map { delivery in
                let number = Int64((0..<4).first { F.token($0) == delivery.token } ?? 0)
                return (delivery, .retry(later, after: .seconds(40 - 10 * number)))
            })
        #expect(desk.machine.progress(of: 1)?.retrying == 3)
        #expect(desk.machine.progress(of: 1)?.nextAttempt?.after == .seconds(20))
        #expect(desk.machine.progress(of: 2)?.nextAttempt?.after == .seconds(10))
    }

    @Test func `A search for devices that fails has its reason`() {
        let desk = RouterDesk()
        desk.accept(F.accepted(1, to: .everyone))
        desk.machine.pageFailed(for: desk.pages[0].message, error: "the database is locked")
        desk.run()
        #expect(desk.machine.progress(of: 1)?.trouble == "the database is locked")
    }
}
