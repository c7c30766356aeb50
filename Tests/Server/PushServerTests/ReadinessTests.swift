import PushAPI
import PushModel
import Testing

@testable import PushServer

@Suite struct ReadinessTests {
    @Test func `An app is ready if it can send now, and otherwise the obstacle is reported`() throws {
        let halt = GatewayHalt(.refused, message: "the provider refused the key")
        let table: [(ServedStatus, String?)] = [
            (try ServedStatus.sample(.running, open: 1), nil),
            (try ServedStatus.sample(.running), "no connection is open yet"),
            (try ServedStatus.sample(.running, failed: 1), "no connection is open; an attempt failed"),
            (try ServedStatus.sample(.running, failed: 7), "no connection is open; 7 attempts in a row failed"),
            (
                try ServedStatus.sample(.paused(for: .seconds(12), .unreachable(attempts: 5)), open: 1),
                "breaker open for 12 s: 5 attempts to connect failed in a row"
            ),
            (try ServedStatus.sample(.halted(halt), open: 1), "halted: the provider refused the key"),
            (try ServedStatus.sample(.draining, open: 1), "draining"), (try ServedStatus.sample(.closed), "stopped"),
            (try ServedStatus.sample(nil, fault: "no such file"), "halted: no such file"),
        ]
        for (status, obstacle) in table { #expect(status.obstacle == obstacle) }
        // With an open connection, the next push is the probe.
        #expect(try ServedStatus.sample(.probing, open: 1).obstacle == nil)
        #expect(try ServedStatus.sample(.probing).obstacle?.hasPrefix("probing") == true)
        // A connection that ended in order is replaced at once, so the app stays ready.
        #expect(try ServedStatus.sample(.running, hasBeenUp: true).obstacle == nil)
        #expect(Readiness([table[0].0]).ready)
        #expect(!Readiness([table[0].0, table[1].0]).ready)
        #expect(!Readiness([ServedStatus]()).ready)
    }

    @Test func `A refused credential has the time of the next attempt`() throws {
        let halt = GatewayHalt(.refused, message: "the provider refused the key")
        let waiting = try ServedStatus.sample(.halted(halt), nextTrial: .seconds(12))
        #expect(waiting.state == "halted: the provider refused the key; next attempt in 12 s")
        #expect(waiting.obstacle == waiting.state)
        let trying = try ServedStatus.sample(.halted(halt), nextTrial: .zero)
        #expect(trying.obstacle == "halted: the provider refused the key; an attempt is being made")
        // With an open connection, the next push is the attempt.
        let idle = try ServedStatus.sample(.halted(halt), open: 1, nextTrial: .zero)
        #expect(idle.state == "halted: the provider refused the key; the next delivery is the next attempt")
        #expect(idle.obstacle == nil)
        let fault = ConnectionFault(refused: Refusal(status: 403, reason: "InvalidProviderToken"), by: .apns)
        let doubted = try ServedStatus.sample(.running, connection: fault, nextTrial: .seconds(3))
        #expect(doubted.state == "credential refused: next attempt in 3 s")
        #expect(doubted.obstacle == "credential refused: \(fault.sentence); next attempt in 3 s")
    }

    @Test func `The reason for a missing connection has the same text everywhere`() throws {
        let fault = ConnectionFault(.refused, sentence: "cannot connect to 192.0.2.1:443: nothing listens there")
        let connecting = try ServedStatus.sample(.running, failed: 2, connection: fault, hasBeenUp: true)
        #expect(
            connecting.obstacle == "no connection is open; 2 attempts in a row failed: \(fault.sentence)")
        let paused = try ServedStatus.sample(
            .paused(for: .seconds(9), .unreachable(attempts: 5)), failed: 5, connection: fault)
        #expect(paused.obstacle == "\(paused.state): \(fault.sentence)")
        // A gateway whose credential was refused has no failed attempts to connect, but no connection either.
        let refused = ConnectionFault(refused: Refusal(status: 403, reason: "InvalidProviderToken"), by: .apns)
        let disbelieved = try ServedStatus.sample(.running, connection: refused, hasBeenUp: true)
        #expect(disbelieved.obstacle == "no connection is open: \(refused.sentence)")
        #expect(refused.sentence.contains("403 InvalidProviderToken") && refused.word == "InvalidProviderToken")
        for status in [connecting, paused, disbelieved] {
            let told = try #require(status.connectionFault)
            let answer = GatewayAnswer(status)
            #expect(answer.fault?.message == told.sentence && answer.fault?.code == told.code.rawValue)
            let ready = Readiness([status]).apps[0]
            #expect(ready.code == told.code.rawValue && ready.reason?.hasSuffix(told.sentence) == true)
            let event = GatewayEvent.down(
                ConnectionID(1), address: nil, ConnectionEnd(.byUs, fault: told), age: .zero, answered: 0)
            let draft = try #require(event.draft(of: status.app.id))
            #expect(draft.reason == told.word)
        }
        // With an open connection there is no obstacle.
        let open = try ServedStatus.sample(.running, open: 1, failed: 2, connection: fault)
        #expect(open.obstacle == nil && open.connectionFault == nil && GatewayAnswer(open).fault == nil)
    }
}
