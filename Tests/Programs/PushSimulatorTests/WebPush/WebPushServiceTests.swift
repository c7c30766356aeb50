import PushLoop
import PushTransport
import TestSupport
import TestTraits
import Testing

@testable import PushSimulator

/// The simulated push service on sockets.
@Suite(.waits) struct WebPushServiceTests {
    @Test("A message is taken over HTTP/2, and the control port shows it")
    func takesMessages() async throws {
        try await withApple { apple in
            let service = try await WebPushScene(apple)
            let subscription = try service.subscribe()
            let client = try await service.connect()
            let answer = try #require(await client.outcome(of: service.message("Hello", to: subscription)).answer)
            #expect(answer.status == 201 && answer.ttl == "60")
            #expect(answer.location == "\(service.origin)/message/m1")
            let received = try apple.control.ask("GET", "/webpush/received").body
            #expect(String(decoding: received, as: UTF8.self).contains(#""payload_text":"Hello""#))
            var late = try service.message("Hello", to: subscription)
            late.fields.removeAll { $0.0 == "ttl" }
            let refused = try #require(await client.outcome(of: late).answer)
            #expect(refused.status == 400 && refused.type == "application/json")
            #expect(refused.body.contains(#""errno":111"#))
            var large = try service.message("Hello", to: subscription)
            large.body = [UInt8](repeating: 0, count: 200_000)
            #expect(await client.outcome(of: large).answer?.status == 413)
        }
    }

    @Test("A rule delays one answer, and others overtake it")
    func delaysAnswers() async throws {
        let faults = "{rules: [{match: {topic: 'late'}, latency: '20ms'}]}"
        try await withApple(clock: .manual()) { apple in
            let service = try await WebPushScene(apple, faults: faults)
            let subscription = try await service.subscribeAdvancing()
            let client = try await service.connect()
            let late = try service.message("1", to: subscription, topic: "late")
            let number = await client.send(late)
            #expect(await client.outcome(of: try service.message("2", to: subscription)).answer?.status == 201)
            await apple.loop.advance(by: .milliseconds(19))
            #expect(await client.outcome(of: try service.message("3", to: subscription)).answer?.status == 201)
            #expect(client.count == 2)
            await apple.loop.advance(by: .milliseconds(1))
            #expect(await client.end(of: number).answer?.status == 201)
        }
    }

    @Test("After GOAWAY the messages before it are answered, and those behind it were not processed")
    func goesAway() async throws {
        let faults = "{rules: [{match: {request: 2}, goaway: {}}]}"
        try await withApple { apple in
            let service = try await WebPushScene(apple, faults: faults)
            let subscription = try service.subscribe()
            let client = try await service.connect()
            let messages = try (1...4).map { try service.message("\($0)", to: subscription) }
            let numbers = await client.send(messages)
            var ends: [WebPushClient.Outcome] = []
            for number in numbers { ends.append(await client.end(of: number)) }
            #expect(ends.map { $0.answer?.status } == [201, 201, nil, nil])
            #expect(ends.suffix(2).allSatisfy { $0.failure != nil })
            #expect(try service.accepted() == 2)
        }
    }

    @Test("A silent connection ends without an answer, and its message was taken")
    func isSilent() async throws {
        let faults = "{rules: [{times: 1, silence: true}]}"
        try await withApple { apple in
            let service = try await WebPushScene(apple, faults: faults)
            let subscription = try service.subscribe()
            let client = try await service.connect()
            let number = await client.send(try service.message("1", to: subscription))
            await apple.until { $0.webPush?.machine.log.total == 1 }
            await client.close()
            #expect(await client.end(of: number).failure != nil)
            await apple.until { $0.webPush?.connectionCount == 0 }
            #expect(try service.accepted() == 1)
            let other = try await service.connect()
            #expect(await other.outcome(of: try service.message("2", to: subscription)).answer?.status == 201)
        }
    }

    @Test("A stream is reset, and the connection goes on")
    func resets() async throws {
        let faults = "{rules: [{times: 1, reset: 'REFUSED_STREAM'}]}"
        try await withApple { apple in
            let service = try await WebPushScene(apple, faults: faults)
            let subscription = try service.subscribe()
            let client = try await service.connect()
            #expect(await client.outcome(of: try service.message("1", to: subscription)).failure != nil)
            #expect(await client.outcome(of: try service.message("2", to: subscription)).answer?.status == 201)
            #expect(try service.accepted() == 1)
        }
    }

    @Test("A delayed answer of a connection that ends is recorded as lost")
    func recordsLosses() async throws {
        let faults = "{rules: [{latency: '1h'}]}"
        try await withApple { apple in
            let service = try await WebPushScene(apple, faults: faults)
            let subscription = try service.subscribe()
            let client = try await service.connect()
            _ = await client.send(try service.message("1", to: subscription))
            await apple.until { $0.webPush?.machine.log.total == 1 }
            await client.close()
            await apple.until { $0.webPush?.machine.log[1]?.isUnanswered == true }
        }
    }
}
