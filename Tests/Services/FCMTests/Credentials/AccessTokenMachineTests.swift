import PushRandom
import PushTime
import Testing

@testable import FCM

@Suite struct AccessTokenMachineTests {
    private let start = MonotonicTime(nanoseconds: 1_000_000_000)
    private let hour: Duration = .seconds(3600)

    private func minted() -> AccessTokenMachine {
        var machine = AccessTokenMachine()
        #expect(machine.input(.looked, now: start) == .mint)
        #expect(machine.input(.minted(generation: 1, lifetime: hour), now: start) == .keep)
        return machine
    }

    @Test func `One request is under way, however often a token is needed`() {
        var machine = AccessTokenMachine()
        #expect(machine.input(.looked, now: start) == .mint)
        for _ in 0..<1000 { #expect(machine.input(.looked, now: start) == .keep) }
        #expect(machine.input(.minted(generation: 1, lifetime: hour), now: start) == .keep)
        for _ in 0..<1000 { #expect(machine.input(.looked, now: start + .seconds(3299)) == .keep) }
    }

    @Test func `A token is replaced five minutes before its end`() {
        var machine = minted()
        #expect(machine.nextLook == start + .seconds(3300))
        #expect(machine.input(.looked, now: start + .seconds(3299)) == .keep)
        #expect(machine.input(.looked, now: start + .seconds(3300)) == .mint)
        #expect(machine.nextLook == start + hour)
        #expect(machine.input(.minted(generation: 2, lifetime: hour), now: start + .seconds(3301)) == .keep)
        #expect(machine.generation == 2)
    }

    @Test func `A token is kept while requests fail, until it has ended`() {
        var machine = minted()
        var now = start + .seconds(3300)
        var requests = 0
        var ended = false
        while now < start + hour + .seconds(300), !ended {
            switch machine.input(.looked, now: now) {
            case .mint:
                requests += 1
                #expect(machine.input(.mintFailed, now: now) == .keep)
                #expect(machine.generation == (now < start + hour ? 1 : nil))
            case .keep: #expect(now < start + hour)
            case .end: ended = true
            }
            now = max(machine.nextLook, now)
        }
        #expect(machine.generation == nil)
        // One second, doubled, up to a minute: not a request for each delivery.
        #expect((5...15).contains(requests))
        #expect(machine.input(.looked, now: now + .seconds(60)) == .mint)
    }

    @Test func `A refused token is replaced at once, and then at most once a minute`() {
        var machine = minted()
        let now = start + .seconds(10)
        #expect(machine.input(.refused(generation: 1), now: now) == .mint)
        #expect(machine.input(.refused(generation: 1), now: now) == .keep)
        #expect(machine.input(.minted(generation: 2, lifetime: hour), now: now) == .keep)
        #expect(machine.input(.refused(generation: 1), now: now) == .keep)
        #expect(machine.input(.refused(generation: 2), now: now + .seconds(1)) == .keep)
        #expect(machine.nextLook == now + .seconds(60))
        #expect(machine.input(.looked, now: now + .seconds(60)) == .mint)
    }

    @Test func `A token with a short life is replaced in the middle of it`() {
        var machine = AccessTokenMachine()
        _ = machine.input(.looked, now: start)
        _ = machine.input(.minted(generation: 1, lifetime: .seconds(10)), now: start)
        #expect(machine.nextLook == start + .seconds(5))
    }

    @Test func `Tokens that live for a second are asked for every few seconds`() {
        var machine = AccessTokenMachine()
        var (now, generation) = (start, UInt64(0))
        while now < start + .seconds(60) {
            if machine.input(.looked, now: now) == .mint {
                generation += 1
                #expect(machine.input(.minted(generation: generation, lifetime: .seconds(1)), now: now) == .keep)
            }
            #expect(machine.generation == generation)
            now = max(machine.nextLook, now)
        }
        #expect(generation == 12)
    }

    @Test func `In a walk, requests never overlap, and a token that has not ended is never dropped`() {
        var random = SeededRandom(seed: 31)
        for _ in 0..<200 {
            var machine = AccessTokenMachine()
            var (now, generation, isMinting) = (start, UInt64(0), false)
            var endsAt: MonotonicTime?
            for _ in 0..<500 {
                now = now + .milliseconds(Int64(random.next() % 400_000))
                let input: AccessTokenMachine.Input =
                    switch random.next() % 5 {
                    case 0 where isMinting:
                        .minted(generation: generation + 1, lifetime: .seconds(Int64(1 + random.next() % 4000)))
                    case 1 where isMinting: .mintFailed
                    case 2: .refused(generation: random.next() % 3 == 0 ? generation : generation / 2)
                    default: .looked
                    }
                switch input {
                case .minted(let number, let lifetime):
                    (generation, endsAt, isMinting) = (number, now + lifetime, false)
                case .mintFailed: isMinting = false
                default: break
                }
                switch machine.input(input, now: now) {
                case .mint:
                    #expect(!isMinting)
                    isMinting = true
                case .end: #expect(endsAt.map { $0 <= now } == true)
                case .keep: break
                }
                if let endsAt, now < endsAt { #expect(machine.generation == generation) }
                if !isMinting { #expect(machine.nextLook < .distantFuture) }
            }
        }
    }
}
