import PushModel
import PushTime
import TestSupport
import Testing

@testable import WebPush

@Suite struct OriginMachineTests {
    @Test("An origin is looked up and connected once, and what waits is handed out when it is ready")
    func firstDelivery() {
        let play = MachinePlay()
        play.deliver(0..<3, to: "a.test")
        #expect(play.turn() == ["look up 1 https://a.test"])
        play.deliver(3..<5, to: "a.test")
        #expect(play.turn() == [])
        play.machine.lookedUp(1, ["8.8.8.8"], now: play.now)
        #expect(play.turn() == ["connect 1 https://a.test 8.8.8.8"])
        play.machine.ready(ConnectionID(1), limit: 100, now: play.now)
        #expect(play.turn() == ["deliver 1 [0, 1, 2, 3, 4]"])
        play.end([0, 1, 2, 3, 4], on: 1, .accepted(providerID: nil))
        #expect(play.turn() == [])
        #expect(play.ended().map(\.ticket) == [0, 1, 2, 3, 4])
    }

    @Test("All forms of an endpoint belong to one origin")
    func forms() {
        let play = MachinePlay()
        play.deliver(0..<1, to: "a.test")
        play.deliver(1..<2, to: "A.Test")
        play.deliver(2..<3, to: "a.test:443")
        #expect(play.turn() == ["look up 1 https://a.test"])
        play.deliver(3..<4, to: "a.test:8443")
        #expect(play.turn() == ["look up 2 https://a.test:8443"])
        #expect(play.machine.slots.count == 2)
    }

    @Test("An origin that is not allowed, and an address that is none, are refused without a trace")
    func notAllowed() throws {
        let play = MachinePlay(rules: { $0.patterns = ["a.test"] })
        play.deliver(0..<3, to: "b.test")
        play.deliver(3..<4, to: "a.test.evil")
        let foreign = Delivery(
            ticket: 4, message: OriginDeliveries.message(), token: try #require(Address(bytes: Array("x".utf8))),
            deliveryID: DeliveryID(high: 0, low: 4))
        play.machine.deliver([foreign], now: play.now)
        #expect(play.turn() == [])
        let ended = play.ended()
        #expect(ended.map(\.ticket) == [0, 1, 2, 3, 4])
        #expect(ended.allSatisfy { $0.result == .refused(Refusal(status: 0, reason: .originNotAllowed)) })
        #expect(play.machine.slots.isEmpty)
    }

    @Test("A name that leads to a private address ends its deliveries, until it leads elsewhere")
    func rebinding() {
        let play = MachinePlay()
        play.deliver(0..<2, to: "a.test")
        _ = play.turn()
        play.machine.lookedUp(1, ["8.8.8.8", "10.0.0.1"], now: play.now)
        #expect(play.turn() == [])
        #expect(play.ended().allSatisfy { $0.result == .refused(Refusal(status: 0, reason: .privateAddress)) })
        play.deliver(2..<3, to: "a.test")
        #expect(play.ended().map(\.result) == [.refused(Refusal(status: 0, reason: .privateAddress))])
        play.now = play.now + .seconds(5)
        play.deliver(3..<4, to: "a.test")
        #expect(play.turn() == ["look up 2 https://a.test"])
        play.machine.lookedUp(2, ["8.8.8.8"], now: play.now)
        #expect(play.turn() == ["connect 1 https://a.test 8.8.8.8"])
        // The next connection asks again.
        play.machine.ready(ConnectionID(1), limit: 1, now: play.now)
        #expect(play.turn() == ["deliver 1 [3]"])
        play.deliver(4..<5, to: "a.test")
        #expect(play.turn() == ["look up 3 https://a.test"])
        play.machine.lookedUp(3, ["127.0.0.1"], now: play.now)
        #expect(play.turn() == [])
        #expect(play.ended().map(\.result) == [.refused(Refusal(status: 0, reason: .privateAddress))])
    }

    @Test("The endpoint of the settings may be anywhere, and private networks may be allowed")
    func exceptions() throws {
        let range = try AddressRange("10.0.0.0/8")
        let play = MachinePlay(rules: {
            $0.patterns = ["lan.test"]
            $0.endpoint = Origin(host: "own.test", port: 8443)
            $0.privateNetworks = [range]
        })
        play.deliver(0..<1, to: "own.test:8443")
        _ = play.turn()
        play.deliver(1..<2, to: "lan.test")
        _ = play.turn()
        play.machine.lookedUp(1, ["127.0.0.1"], now: play.now)
        play.machine.lookedUp(2, ["10.2.3.4"], now: play.now)
        let actions = play.turn().sorted()
        #expect(actions == ["connect 1 https://own.test:8443 127.0.0.1", "connect 2 https://lan.test 10.2.3.4"])
    }

    @Test("A stalled origin keeps a few deliveries, and the credit goes to others")
    func stalled() {
        let play = MachinePlay()
        play.open("a.test", limit: 100, connection: 1)
        play.deliver(0..<500, to: "a.test")
        #expect(play.turn() == ["deliver 1 \(Array(0..<16))"])
        #expect(play.machine.waitingCount == 484 && !play.machine.hasEnded)
        play.now = play.now + .seconds(2)
        #expect(play.machine.nextDeadline(now: play.now + .seconds(-1)) == play.now)
        #expect(play.turn() == [])
        let returned = play.ended()
        #expect(returned.map(\.ticket) == Array(32..<500))
        #expect(returned.allSatisfy { $0.isBusy && (5...10).contains($0.retryAfter ?? 0) })
        // More of them go back at once.
        play.deliver(500..<600, to: "a.test")
        #expect(play.ended().map(\.ticket) == Array(500..<600))
        // With the first answer it is as before.
        play.end([0], on: 1, .accepted(providerID: nil))
        play.deliver(600..<700, to: "a.test")
        #expect(play.turn() == ["deliver 1 [16, 17]"])
        #expect(play.ended().map(\.ticket) == [0])
    }

    @Test("Requests without an answer open the breaker, and a single delivery probes the origin after it")
    func silent() {
        let play = MachinePlay()
        play.open("a.test", limit: 100, connection: 1)
        play.deliver(0..<20, to: "a.test")
        _ = play.turn()
        play.end(Array(0..<16), on: 1, .unknown(.timeout))
        _ = play.turn()
        let ended = play.ended()
        #expect(ended.suffix(4).map(\.ticket) == [16, 17, 18, 19])
        #expect(ended.suffix(4).allSatisfy { $0.isUnavailable && (3...10).contains($0.retryAfter ?? 0) })
        play.deliver(20..<21, to: "a.test")
        #expect(play.ended().map(\.isUnavailable) == [true])
        play.now = play.now + .seconds(5)
        play.deliver(21..<40, to: "a.test")
        #expect(play.turn() == ["deliver 1 [21]"])
        #expect(play.ended().count == 3)
        play.end([21], on: 1, .accepted(providerID: nil))
        #expect(play.turn() == ["deliver 1 \(Array(22..<37))"])
    }

    @Test("Answers with 503 open the breaker of their origin alone")
    func serverError() {
        let play = MachinePlay()
        play.open("a.test", limit: 100, connection: 1)
        play.open("b.test", limit: 100, connection: 2)
        play.deliver(0..<10, to: "a.test")
        _ = play.turn()
        for ticket in 0..<5 { play.end([ticket], on: 1, .refused(Refusal(status: 503, reason: nil))) }
        #expect(play.turn() == ["failing *.test -"])
        _ = play.ended()
        play.deliver(10..<12, to: "a.test")
        play.deliver(12..<14, to: "b.test")
        #expect(play.turn() == ["deliver 2 [12, 13]"])
        #expect(play.ended().map(\.isUnavailable) == [true, true])
    }

    @Test("Attempts to connect that fail are repeated more and more slowly, one at a time, and then open the breaker")
    func unreachable() {
        let play = MachinePlay(rules: { $0.patterns = ["a.test"] })
        play.deliver(0..<1, to: "a.test")
        var attempts: [Duration] = []
        let begun = play.now
        for number in 1...5 {
            #expect(play.turn() == ["look up \(number) https://a.test"])
            attempts.append(play.now - begun)
            play.machine.lookedUp(UInt32(number), nil, now: play.now)
            let told = "failing a.test name_not_found the look-up of a.test returned no address"
            #expect(play.turn() == (number < 5 ? [] : [told]))
            guard number < 5 else { break }
            // What waits too long without an attempt goes back, so another delivery takes its place.
            play.now = play.machine.slots[0].health.connectsAt!
            play.machine.giveBack()
            play.deliver(number..<number + 1, to: "a.test")
        }
        #expect(zip(attempts, attempts.dropFirst()).allSatisfy { $1 > $0 })
        #expect(play.ended().last?.isUnavailable == true)
        play.deliver(10..<11, to: "a.test")
        #expect(play.turn() == [] && play.ended().map(\.isUnavailable) == [true])
    }

    @Test("A peer that accepts connections and ends them is not asked again and again")
    func uselessConnections() {
        let play = MachinePlay()
        play.deliver(0..<1, to: "a.test")
        _ = play.turn()
        play.machine.lookedUp(1, ["8.8.8.8"], now: play.now)
        _ = play.turn()
        play.machine.ready(ConnectionID(1), limit: 100, now: play.now)
        #expect(play.turn() == ["deliver 1 [0]"])
        play.end([0], on: 1, .notProcessed)
        play.machine.retired(ConnectionID(1))
        play.machine.closed(ConnectionID(1), play.end(.goAway), now: play.now)
        #expect(play.ended().map(\.result) == [.notProcessed])
        play.deliver(0..<1, to: "a.test")
        #expect(play.turn() == [])
        play.now = play.now + .seconds(1)
        #expect(play.turn() == ["look up 2 https://a.test"])
    }

    @Test("The second connection of an origin opens when the first is full, and there is no third")
    func connections() {
        let play = MachinePlay()
        play.open("a.test", limit: 10, connection: 1)
        play.deliver(0..<50, to: "a.test")
        #expect(play.turn() == ["deliver 1 \(Array(0..<10))", "look up 2 https://a.test"])
        play.machine.lookedUp(2, ["8.8.8.8"], now: play.now)
        #expect(play.turn() == ["connect 2 https://a.test 8.8.8.8"])
        play.machine.ready(ConnectionID(2), limit: 10, now: play.now)
        #expect(play.turn() == ["deliver 2 \(Array(10..<16))"])
        play.end(Array(0..<10), on: 1, .accepted(providerID: nil))
        #expect(play.turn() == ["deliver 1 \(Array(16..<26))", "deliver 2 \(Array(26..<30))"])
    }

    @Test("When there is no place for another connection, the one that has been idle longest is closed")
    func places() {
        let play = MachinePlay(limits: { $0.connections = 2 })
        play.open("a.test", limit: 10, connection: 1)
        play.now = play.now + .seconds(1)
        play.open("b.test", limit: 10, connection: 2)
        play.deliver(0..<1, to: "c.test")
        #expect(play.turn() == ["drain 1"])
        #expect(play.turn() == [])
        play.machine.closed(ConnectionID(1), play.end(.byUs), now: play.now)
        #expect(play.turn() == ["look up 3 https://c.test"])
    }

    @Test("A connection that has been idle for thirty seconds is closed")
    func idle() {
        let play = MachinePlay()
        play.open("a.test", limit: 10, connection: 1)
        #expect(play.machine.nextDeadline(now: play.now) == play.now + .seconds(30))
        play.now = play.now + .seconds(30)
        #expect(play.turn() == ["drain 1"])
        play.machine.closed(ConnectionID(1), play.end(.byUs), now: play.now)
        #expect(play.turn() == [] && play.machine.active.isEmpty)
        #expect(play.machine.nextDeadline(now: play.now) == nil)
    }

    @Test("Thousands of origins whose names are not found do not fill the memory")
    func manyOrigins() {
        let play = MachinePlay(limits: { $0.origins = 64 })
        for number in 0..<5000 {
            play.deliver(number..<number + 1, to: "host\(number).test")
            for action in play.turn() {
                if let id = UInt32(action.split(separator: " ")[2]) { play.machine.lookedUp(id, nil, now: play.now) }
            }
            play.now = play.now + .seconds(1)
        }
        play.now = play.now + .seconds(100)
        for _ in 0..<100 {
            _ = play.turn()
            play.now = play.now + .seconds(5)
        }
        #expect(play.machine.slots.count == 64 && play.machine.active.isEmpty)
        #expect(play.ended().count == 5000)
    }

    @Test("What expires or is cancelled while it waits comes back without an attempt")
    func expiry() {
        let play = MachinePlay()
        let cancelled = OriginDeliveries.message()
        play.deliver(0..<2, to: "a.test", of: OriginDeliveries.message(expiresAt: play.wall.seconds + 3))
        play.deliver(2..<3, to: "a.test", of: cancelled)
        play.deliver(3..<4, to: "a.test")
        _ = play.turn()
        play.pass(.seconds(5))
        _ = play.turn()
        #expect(play.ended().map(\.ticket) == [0, 1])
        cancelled.withdraw()
        play.machine.recall()
        let ended = play.ended()
        #expect(ended.map(\.ticket) == [2] && ended.allSatisfy { $0.result == .notProcessed })
        play.machine.giveBack()
        #expect(play.ended().map(\.ticket) == [3])
    }

    @Test("A subscription that was made with a key that the app does not have is refused, and no origin is asked")
    func otherKey() throws {
        let keys = [VAPIDKeyID([1, 1, 1, 1, 1, 1, 1, 1]), VAPIDKeyID([2, 2, 2, 2, 2, 2, 2, 2])]
        let play = MachinePlay(keys: keys)
        let endpoint = Array("https://a.test/push/1".utf8)
        for (index, id) in ([nil, 1, 2, 3] as [UInt8?]).enumerated() {
            let tag = id.map { [UInt8](repeating: $0, count: 8) } ?? []
            let bytes = endpoint + [UInt8](repeating: 4, count: 81) + tag
            let address = try #require(Address(bytes: bytes, identifiedByFirst: endpoint.count))
            play.machine.deliver(
                [
                    Delivery(
                        ticket: UInt64(index), message: OriginDeliveries.message(), token: address,
                        deliveryID: DeliveryID(high: 0, low: UInt64(index)))
                ], now: play.now)
        }
        #expect(play.ended().map(\.ticket) == [3] && play.machine.waitingCount == 3)
    }

    @Test("An origin without HTTP/2 is asked with HTTP/1.1, and again for HTTP/2 an hour later or after a failure")
    func withoutHTTP2() {
        let play = MachinePlay()
        play.deliver(0..<1, to: "a.test")
        _ = play.turn()
        play.machine.lookedUp(1, ["8.8.8.8"], now: play.now)
        #expect(play.turn() == ["connect 1 https://a.test 8.8.8.8"])
        play.machine.closedWithoutHTTP2(ConnectionID(1), play.end(.broken), now: play.now)
        #expect(play.turn() == ["look up 2 https://a.test"])
        play.machine.lookedUp(2, ["8.8.8.8"], now: play.now)
        #expect(play.turn() == ["connect 2 https://a.test 8.8.8.8 HTTP/1.1"])
        play.machine.ready(ConnectionID(2), limit: 4, now: play.now)
        #expect(play.turn() == ["deliver 2 [0]"])
        play.end([0], on: 2, .unknown(.connectionLost))
        play.machine.closed(ConnectionID(2), play.end(.lost), now: play.now)
        _ = play.ended()
        play.now = play.machine.slots[0].health.connectsAt ?? play.now
        play.deliver(1..<2, to: "a.test")
        #expect(play.turn() == ["look up 3 https://a.test"])
        play.machine.lookedUp(3, ["8.8.8.8"], now: play.now)
        #expect(play.turn() == ["connect 3 https://a.test 8.8.8.8"])
    }

    @Test("An origin that still has no HTTP/2 after its hour is asked with HTTP/1.1 at once")
    func withoutHTTP2AfterItsHour() {
        let play = MachinePlay()
        play.deliver(0..<1, to: "a.test")
        _ = play.turn()
        play.machine.lookedUp(1, ["8.8.8.8"], now: play.now)
        _ = play.turn()
        play.machine.closedWithoutHTTP2(ConnectionID(1), play.end(.broken), now: play.now)
        _ = play.turn()
        play.machine.lookedUp(2, ["8.8.8.8"], now: play.now)
        _ = play.turn()
        play.machine.ready(ConnectionID(2), limit: 4, now: play.now)
        _ = play.turn()
        play.end([0], on: 2, .accepted(providerID: nil))
        play.machine.closed(ConnectionID(2), play.end(.goAway), now: play.now)
        _ = play.ended()
        play.now = play.now + .seconds(3600)
        play.deliver(1..<2, to: "a.test")
        #expect(play.turn() == ["look up 3 https://a.test"])
        play.machine.lookedUp(3, ["8.8.8.8"], now: play.now)
        #expect(play.turn() == ["connect 3 https://a.test 8.8.8.8"])
        play.machine.closedWithoutHTTP2(ConnectionID(3), play.end(.broken), now: play.now)
        #expect(play.turn() == ["look up 4 https://a.test"])
        play.machine.lookedUp(4, ["8.8.8.8"], now: play.now)
        #expect(play.turn() == ["connect 4 https://a.test 8.8.8.8 HTTP/1.1"])
    }

    @Test("A reset is reported as one, and counts against its origin alone")
    func reset() {
        let play = MachinePlay()
        play.open("a.test", limit: 100, connection: 1)
        play.deliver(0..<10, to: "a.test")
        _ = play.turn()
        play.end(Array(0..<4), on: 1, .unknown(.reset))
        #expect(play.ended().map(\.result) == Array(repeating: .unknown(.reset), count: 4))
        play.end([4], on: 1, .unknown(.reset))
        #expect(play.machine.slots[0].health.isOpen)
    }

    @Test(
        "What keeps a breaker open is told once a minute, and is the reason of what goes back",
        arguments: [
            (.refused, "origin_refused"), (.nameNotFound, "origin_name_not_found"),
            (.notTrusted, "origin_not_trusted"), (.timedOut, "origin_timed_out"),
            (.unreachable, "origin_unreachable"), (.tls, "origin_tls"), (.reset, "origin_reset"),
            (.silent, "origin_unavailable"),
        ] as [(ConnectionFault.Code, String)])
    func cause(_ code: ConnectionFault.Code, _ reason: String) {
        let play = MachinePlay(rules: { $0.patterns = ["a.test"] })
        let begun = play.now
        var told: [String] = []
        for attempt in 1...20 {
            play.deliver(attempt..<attempt + 1, to: "a.test")
            for text in play.turn() {
                if let number = text.hasPrefix("look up ") ? UInt32(text.split(separator: " ")[2]) : nil {
                    play.machine.lookedUp(
                        number, nil, because: ConnectionFault(code, sentence: "8.8.8.8:443: it failed"), now: play.now)
                } else {
                    told.append("\(Int((play.now - begun) / .seconds(1))) \(text)")
                }
            }
            let refused = play.ended().compactMap { $0.reason?.rawValue }
            #expect(refused.allSatisfy { $0 == reason }, "\(refused)")
            play.pass(.seconds(15))
        }
        let expected = " failing a.test \(code.rawValue) 8.8.8.8:443: it failed"
        #expect(told.allSatisfy { $0.hasSuffix(expected) }, "\(told)")
        let times = told.compactMap { Int($0.split(separator: " ")[0]) }
        #expect(times.count >= 2 && zip(times, times.dropFirst()).allSatisfy { $1 - $0 >= 60 }, "\(told)")
        #expect(play.machine.failingOrigins(now: play.now).map(\.name) == ["a.test"])
        // Nothing is sent to it any more.
        play.pass(.seconds(600))
        #expect(play.machine.failingOrigins(now: play.now) == [])
    }

    @Test("An origin that answers again is not failing, and the next failure of its answers has no fault")
    func recovered() {
        let play = MachinePlay(limits: { $0.health.failures = 1 }, rules: { $0.patterns = ["a.test"] })
        play.deliver(0..<1, to: "a.test")
        _ = play.turn()
        play.machine.lookedUp(1, nil, now: play.now)
        _ = play.turn()
        #expect(play.ended().map(\.reason) == [.originNameNotFound])
        #expect(play.machine.failingOrigins(now: play.now).map(\.fault?.code) == [.nameNotFound])
        play.pass(.seconds(10))
        play.deliver(1..<2, to: "a.test")
        _ = play.turn()
        play.machine.lookedUp(2, ["8.8.8.8"], now: play.now)
        _ = play.turn()
        play.machine.ready(ConnectionID(1), limit: 10, now: play.now)
        #expect(play.turn() == ["deliver 1 [1]"])
        play.end([1], on: 1, .accepted(providerID: nil))
        #expect(play.machine.failingOrigins(now: play.now) == [])
        play.deliver(2..<3, to: "a.test")
        _ = play.turn()
        play.end([2], on: 1, .refused(Refusal(status: 503, reason: nil)))
        #expect(play.machine.failingOrigins(now: play.now).map(\.fault) == [nil])
        _ = play.ended()
        play.deliver(3..<4, to: "a.test")
        #expect(play.ended().map(\.reason) == [.originUnavailable])
    }

    @Test("Origins that are not in the settings by themselves are told by the pattern that allows them, together")
    func names() {
        let play = MachinePlay(limits: { $0.health.failures = 1 })
        var told: [String] = []
        func fail(_ numbers: Range<Int>, _ code: ConnectionFault.Code) {
            for number in numbers {
                play.deliver(number..<number + 1, to: "secret\(number).test")
                for text in play.turn() {
                    guard text.hasPrefix("look up "), let id = UInt32(text.split(separator: " ")[2]) else { continue }
                    let fault = ConnectionFault(code, sentence: "secret\(number).test: it failed")
                    play.machine.lookedUp(id, nil, because: fault, now: play.now)
                }
                told += play.turn().filter { $0.hasPrefix("failing") }
            }
        }
        // Anybody can make up a host below a name with an asterisk.
        fail(0..<10, .nameNotFound)
        #expect(told == [] && play.machine.failingOrigins(now: play.now) == [])
        fail(10..<50, .refused)
        #expect(told == ["failing *.test refused *.test: it failed"])
        #expect(play.machine.failingOrigins(now: play.now).map(\.sentence) == ["*.test: it failed"])
        #expect(play.machine.announced.count == 1)
    }
}
