import PushModel
import PushTime
import Testing

@testable import WebPush

/// An owner that hands over as much as the pool offers, and two origins: one answers in ten milliseconds, and the other
/// one stops to answer.
private final class TwoOrigins {
    let play: MachinePlay
    private let share: Int
    private let stallsAt: Int
    private var handed = 0
    private var lastTicket = 0
    private(set) var out = 0
    private var step = 0
    private var lookUps: [(number: UInt32, isGood: Bool)] = []
    private var links: [UInt32: Bool] = [:]

    /// - Parameters:
    ///   - share: One in so many deliveries is for the good origin.
    ///   - stallsAt: The step from which the other one answers nothing.
    init(share: Int, stallsAt: Int, maxCredit: Int = OriginMachine.Limits().maxCredit) {
        play = MachinePlay(limits: { $0.maxCredit = maxCredit })
        self.share = share
        self.stallsAt = stallsAt
    }

    /// Passes ten milliseconds, in which so many deliveries arrive.
    func pass(arrivals: Int) {
        step += 1
        play.pass(.milliseconds(10))
        for (id, isGood) in links where isGood || step < stallsAt {
            let tickets = play.given[ConnectionID(id), default: [:]].keys.sorted()
            if isGood { out += tickets.count }
            play.end(tickets, on: id, .accepted(providerID: nil))
        }
        handed -= play.ended().count
        for _ in 0..<arrivals where handed < play.machine.offered {
            lastTicket += 1
            handed += 1
            play.deliver(lastTicket..<lastTicket + 1, to: lastTicket % share == 0 ? "good.test" : "bad.test")
        }
        settle()
    }

    private func settle() {
        for action in play.turn() {
            let words = action.split(separator: " ")
            let isGood = action.contains("good.test")
            if words[0] == "look" {
                play.machine.lookedUp(UInt32(words[2])!, ["8.8.8.8"], now: play.now)
                settle()
            } else if words[0] == "connect" {
                links[UInt32(words[1])!] = isGood
                // An origin that stalls from the beginning does not even end the handshake.
                if isGood || step < stallsAt {
                    play.machine.ready(ConnectionID(UInt32(words[1])!), limit: 250, now: play.now)
                    settle()
                }
            }
        }
    }
}

@Suite struct OriginStallTests {
    /// The shares are those of Firefox and of a service that nearly all browsers have.
    @Test(
        "An origin that stalls does not delay the others by a tenth of their pushes, at any time",
        arguments: [2, 10], [1, 100])
    func others(share: Int, stallsAt: Int) {
        let stalled = TwoOrigins(share: share, stallsAt: stallsAt)
        let least = Self.leastShare(stalled, of: TwoOrigins(share: share, stallsAt: .max))
        #expect(least >= 0.9)
        #expect(stalled.play.machine.offered <= 20_000)
        // With the same credit for all of the time, they wait until the stall is noticed.
        let short = TwoOrigins(share: share, stallsAt: stallsAt, maxCredit: 2000)
        #expect(Self.leastShare(short, of: TwoOrigins(share: share, stallsAt: .max)) < least)
    }

    /// Returns the least share of the pushes to the good origin that are out at any time, of those that would be.
    private static func leastShare(_ stalled: TwoOrigins, of healthy: TwoOrigins) -> Double {
        var least = 1.0
        for step in 0..<520 {
            // 10,000 a second, and as fast as they are taken.
            let arrivals = step < 500 ? 100 : 3000
            stalled.pass(arrivals: arrivals)
            healthy.pass(arrivals: arrivals)
            if healthy.out > 200 { least = min(least, Double(stalled.out) / Double(healthy.out)) }
        }
        return least
    }
}
