import PushLogic
import PushModel
import Testing

/// The claims of messages that a restart interrupted.
@Suite struct RouterClaimTests {
    private typealias F = RouterFixtures

    private var interrupted: OutcomeCounts {
        var counts = OutcomeCounts()
        counts.suppressed = 1
        return counts
    }

    /// A suppressed delivery is stored without a claim, so nothing would ever release the claim in memory. It would
    /// suppress other messages with this id when the device is active again.
    @Test func `Inactive devices of an interrupted message are looked up and not claimed`() {
        let desk = RouterDesk()
        desk.inactive.devices = [F.device(1), F.device(2)]
        desk.accept(F.accepted(1, to: F.tokens(0..<3), counts: interrupted))
        #expect(desk.claims.map { $0.pages.map(\.devices) } == [[[F.device(0), F.device(1), F.device(2)]]])
        #expect(desk.claims.map { $0.pages.map(\.lookupCount) } == [[2]])
        desk.endAll()
        #expect(desk.completed.map(\.counts.suppressed) == [3])
    }

    @Test func `Unknown devices of an interrupted message are looked up and not claimed`() {
        let desk = RouterDesk()
        desk.accept(F.accepted(1, to: .devices([F.device(0), F.device(1)]), counts: interrupted))
        desk.machine.pageCame(
            AudiencePage(
                devices: [.init(id: F.device(0), token: F.token(0))], unknown: [F.device(1)], next: nil),
            for: desk.pages[0].message)
        desk.run()
        #expect(desk.claims.map { $0.pages.map(\.devices) } == [[[F.device(0), F.device(1)]]])
        #expect(desk.claims.map { $0.pages.map(\.lookupCount) } == [[1]])
    }

    @Test func `All devices of a message that is not interrupted are claimed`() {
        let desk = RouterDesk()
        desk.inactive.devices = [F.device(1)]
        desk.accept(F.accepted(1, to: F.tokens(0..<3)))
        #expect(desk.claims.map { $0.pages.map(\.lookupCount) } == [[0]])
    }

    /// The key of a suppressed delivery does not hold its claim, so nothing else would release it.
    @Test func `A device that is deactivated after its claim is suppressed, and its claim is released`() {
        let desk = RouterDesk(credit: 1)
        let message = F.accepted(1, to: F.tokens(0..<3))
        desk.accept(message)
        #expect(desk.out.map(\.token) == [F.token(0)])
        desk.inactive.devices = [F.device(1)]
        desk.endAll()
        desk.endAll()
        #expect(desk.completed.map(\.counts.suppressed) == [1])
        #expect(desk.releases.map(\.devices) == [[F.device(1)]])
        #expect(desk.releases.map(\.fingerprint) == [message.fingerprint])
    }
}
