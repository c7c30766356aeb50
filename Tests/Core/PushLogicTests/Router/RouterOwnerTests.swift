import PushModel
import Testing

@testable import PushLogic

/// What was found for a message is not sent any more to a device that has another owner, or none.
@Suite struct RouterOwnerTests {
    private typealias F = RouterFixtures
    private static let ada = Audience.users(["ada"])

    private static func page(_ numbers: Range<Int>, next: String? = nil) -> AudiencePage {
        AudiencePage(
            devices: numbers.map { AudiencePage.Device(id: F.device($0), token: F.token($0)) },
            next: next.map { AudienceCursor($0) })
    }

    private func outcomes(_ desk: RouterDesk) -> [DeliveryOutcome] { desk.records.map(\.outcome) }

    @Test func `A page that waits for credit leaves out who was removed or has another user`() {
        let desk = RouterDesk(credit: 0)
        desk.accept(F.accepted(1, to: Self.ada))
        desk.ownerChanges.reassign(F.device(3))
        desk.machine.pageCame(Self.page(0..<4), for: desk.pages[0].message)
        desk.run()
        desk.ownerChanges.remove(F.device(0))
        desk.ownerChanges.reassign(F.device(1))
        desk.report([], credit: 10)
        #expect(desk.out.map(\.token) == [F.token(2)])
        #expect(
            outcomes(desk) == [
                .suppressed(.unknownDevice), .suppressed(.reassigned), .suppressed(.reassigned),
            ])
        // Their next message with this id may reach them.
        #expect(desk.releases.flatMap(\.devices) == [0, 1, 3].map { F.device($0) })
        desk.endAll()
        #expect(desk.completed.map(\.counts.suppressed) == [3] && desk.completed.map(\.counts.sent) == [1])
        #expect(desk.machine.leftovers() == [])
    }

    @Test func `A page that was asked for after the change is sent, beside an earlier one that is not`() {
        let desk = RouterDesk(credit: 0)
        desk.accept(F.accepted(1, to: Self.ada))
        desk.machine.pageCame(Self.page(0..<1, next: "a"), for: desk.pages[0].message)
        desk.run()
        desk.ownerChanges.reassign(F.device(0))
        desk.ownerChanges.reassign(F.device(1))
        // The second page was asked for before.
        desk.machine.pageCame(Self.page(1..<2, next: "b"), for: desk.pages[1].message)
        desk.run()
        desk.report([], credit: 10)
        #expect(desk.out.isEmpty && desk.pages.count == 3)
        desk.machine.pageCame(Self.page(0..<1), for: desk.pages[2].message)
        desk.run()
        #expect(desk.out.map(\.token) == [F.token(0)])
        desk.endAll()
        #expect(desk.completed.map(\.counts.sent) == [1])
    }

    @Test(arguments: [true, false])
    func `A message for whoever has the device is sent to the next user`(
        isRetried: Bool
    ) {
        let desk = RouterDesk(credit: isRetried ? 10 : 0)
        desk.accept(F.accepted(1, to: .everyone))
        desk.machine.pageCame(Self.page(0..<2), for: desk.pages[0].message)
        desk.run()
        if isRetried { desk.endAll(.retry(Refusal(status: 503, reason: nil), after: .seconds(1))) }
        desk.ownerChanges.reassign(F.device(0))
        desk.ownerChanges.remove(F.device(1))
        desk.report([], credit: 10)
        desk.pass(.seconds(2))
        #expect(desk.out.map(\.token) == [F.token(0)])
        #expect(outcomes(desk).last == .suppressed(.unknownDevice))
    }

    @Test func `The next attempt is not made to a device that was deactivated, removed or given away`() {
        let desk = RouterDesk()
        desk.accept(F.accepted(1, to: Self.ada))
        desk.machine.pageCame(Self.page(0..<4), for: desk.pages[0].message)
        desk.run()
        desk.endAll(.retry(Refusal(status: 503, reason: nil), after: .seconds(1)))
        desk.inactive.devices = [F.device(0)]
        desk.ownerChanges.remove(F.device(1))
        desk.ownerChanges.reassign(F.device(2))
        desk.records = []
        desk.pass(.seconds(2))
        #expect(desk.out.map(\.token) == [F.token(3)])
        #expect(
            outcomes(desk) == [.suppressed(.inactive), .suppressed(.unknownDevice), .suppressed(.reassigned)])
        #expect(desk.releases.flatMap(\.devices) == (0..<3).map { F.device($0) })
        desk.endAll()
        #expect(desk.completed.map(\.counts.suppressed) == [3])
        #expect(desk.machine.leftovers() == [])
    }

    @Test func `After a lost answer the claim stays`() {
        let desk = RouterDesk()
        desk.accept(F.accepted(1, to: Self.ada))
        desk.machine.pageCame(Self.page(0..<1), for: desk.pages[0].message)
        desk.run()
        desk.endAll(.unknown(.connectionLost, isFinal: false))
        desk.ownerChanges.remove(F.device(0))
        desk.pass(.seconds(30))
        #expect(desk.out.isEmpty && outcomes(desk).last == .suppressed(.unknownDevice))
        #expect(desk.releases.isEmpty)
    }

    @Test func `A message to one token is not sent if its device was removed since`() {
        let desk = RouterDesk(credit: 0)
        desk.accept(F.accepted(1, to: F.tokens(0..<1)), F.accepted(2, to: F.tokens(1..<2)))
        desk.ownerChanges.remove(F.device(0))
        desk.ownerChanges.reassign(F.device(1))
        desk.report([], credit: 10)
        #expect(desk.out.map(\.token) == [F.token(1)])
        desk.accept(F.accepted(3, to: F.tokens(0..<1)))
        #expect(desk.out.map(\.token) == [F.token(1), F.token(0)])
    }
}
