import JSON5
import TestSupport
import Testing

@testable import PushSimulator

@Suite struct WebPushFaultTests {
    @Test("Rules choose the status of an answer, with the form of Mozilla or Apple")
    func answers() throws {
        let service = try PushService(
            faults: """
                {rules: [
                  {match: {topic: 'aaaa'}, answer: {status: 429, retry_after: 30}},
                  {match: {topic: 'bbbb'}, answer: {status: 403, reason: 'VapidPkHashMismatch'}},
                  {match: {topic: 'cccc'}, answer: {status: 503}},
                  {match: {topic: 'dddd'}, answer: {status: 202}},
                  {match: {status: 400}, answer: {status: 413, reason: 'PayloadTooLarge'}},
                ]}
                """)
        let subscription = try service.subscribe()
        let limited = try service.send(to: subscription, topic: "aaaa")
        #expect(limited.status == 429 && limited.field("retry-after") == "30")
        #expect(limited.error?["errno"]?.integer == 201)
        let apple = try service.send(to: subscription, topic: "bbbb")
        #expect(apple.status == 403 && apple.body == Array(#"{"reason":"VapidPkHashMismatch"}"#.utf8))
        #expect(try service.send(to: subscription, topic: "cccc").status == 503)
        let taken = try service.send(to: subscription, topic: "dddd")
        #expect(taken.status == 202 && taken.field("location")?.hasSuffix("/message/m4") == true)
        #expect(try service.send(to: subscription) { $0.ttl = nil }.status == 413)
        #expect(try service.send(to: subscription).status == 201)
        let records = try service.lines("/webpush/received")
        #expect(records.map { $0["fault"]?.boolean } == [true, true, true, true, true, nil])
        #expect(records.map { $0["accepted"]?.boolean } == [false, false, false, true, false, true])
        let applied = try service.lines("/webpush/faults").first?["rules"]?.elements?.map { $0["applied"]?.integer }
        #expect(applied == [1, 1, 1, 1, 1])
    }

    @Test("A rule matches a subscription by its id, as a token")
    func matchesSubscriptions() throws {
        let service = try PushService()
        let (one, two) = (try service.subscribe(), try service.subscribe())
        let rule = "{rules: [{match: {token: '\(one.id.prefix(12))*'}, times: 1, answer: {status: 410}}]}"
        #expect(service.control("PUT", "/webpush/faults", "", rule).status == 200)
        #expect(try service.send(to: two).status == 201)
        #expect(try service.send(to: one).status == 410)
        #expect(try service.send(to: one).status == 201)
    }

    @Test("Rules are appended and removed")
    func keepsRules() throws {
        let service = try PushService(faults: "{rules: [{answer: {status: 500}}]}")
        let subscription = try service.subscribe()
        let more = "{rules: [{match: {topic: 'aaaa'}, answer: {status: 429, reason: 'Odd'}}]}"
        #expect(service.control("POST", "/webpush/faults", "", more).text.contains(#""rules":2"#))
        #expect(service.control("PUT", "/webpush/faults", "", "{rules: [{wedge: true}]}").status == 400)
        #expect(try service.send(to: subscription).status == 500)
        #expect(service.control("DELETE", "/webpush/faults").status == 200)
        #expect(try service.send(to: subscription).status == 201)
    }

    @Test("A request whose answer is lost is recorded as taken or not, as it was")
    func losesAnswers() throws {
        let service = try PushService(
            faults: """
                {rules: [
                  {match: {topic: 'aaaa'}, reset: 'INTERNAL_ERROR'}, {match: {topic: 'bbbb'}, reset: 'REFUSED_STREAM'},
                  {match: {topic: 'cccc'}, close: true, processed: false}, {match: {topic: 'dddd'}, silence: true},
                  {match: {topic: 'eeee'}, goaway: {back: 1}}, {match: {topic: 'ffff'}, goaway: {}, latency: '5ms'},
                ]}
                """)
        let subscription = try service.subscribe()
        #expect(try service.send(to: subscription, topic: "aaaa").action == .reset(2))
        #expect(try service.send(to: subscription, topic: "bbbb").action == .reset(7))
        #expect(try service.send(to: subscription, topic: "cccc").action == .close)
        #expect(try service.send(to: subscription).action == .ignore)
        service.reconnect()
        #expect(try service.send(to: subscription, topic: "dddd").action == .silence)
        #expect(try service.send(to: subscription).action == .silence)
        service.reconnect()
        let away = try service.send(to: subscription, topic: "eeee")
        #expect(away.action == .ignore && away.goAway?.lastStream == 0)
        service.reconnect()
        let last = try service.send(to: subscription, topic: "ffff")
        #expect(last.action == .answer && last.goAway?.lastStream == 1 && last.delay == 5_000_000)
        #expect(try service.send(to: subscription).action == .ignore)
        let records = try service.lines("/webpush/received")
        #expect(
            records.map { $0["accepted"]?.boolean } == [true, false, false, false, true, false, false, true, false])
        #expect(
            records.map { $0["unanswered"]?.boolean } == [true, true, true, true, true, true, true, nil, true])
        #expect(try service.lines("/subscriptions").first?["received"]?.integer == 3)
    }

    @Test("A message that turns out as not processed replaces nothing")
    func undoesReplacements() throws {
        let service = try PushService()
        let subscription = try service.subscribe()
        try service.send("1", to: subscription, topic: "aaaa")
        let second = try service.send("2", to: subscription, topic: "aaaa")
        service.machine.requestUnprocessed(second.record)
        service.machine.requestUnprocessed(second.record)
        try service.send("3", to: subscription, topic: "aaaa")
        let records = try service.lines("/webpush/received")
        #expect(records[0]["replaced_by"]?.integer == 3 && records[2]["replaces"]?.integer == 1)
        #expect(records[1]["accepted"]?.boolean == false && records[1]["unprocessed"]?.boolean == true)
        #expect(try service.lines("/subscriptions").first?["received"]?.integer == 2)
    }

    @Test("Rules for connections refuse, close and silence them")
    func faultsConnections() throws {
        let service = try PushService(
            faults: """
                {rules: [
                  {on: 'connect', match: {connection: 2}, refuse: true},
                  {on: 'connect', match: {connection: 3}, close: true},
                  {on: 'connect', match: {connection: 4}, silence: true},
                  {on: 'connect', match: {connection: 5}, goaway: {last: 0}},
                  {on: 'connect', match: {connection: 6}, streams: 3},
                ]}
                """)
        let subscription = try service.subscribe()
        #expect(!service.connection.isRefused && !service.connection.isClosing && !service.connection.isSilent)
        service.reconnect()
        #expect(service.connection.isRefused)
        service.reconnect()
        #expect(service.connection.isClosing)
        #expect(try service.send(to: subscription).action == .ignore)
        service.reconnect()
        #expect(service.connection.isSilent)
        #expect(try service.send(to: subscription).action == .silence)
        service.reconnect()
        #expect(service.connection.goAway?.lastStream == 0)
        #expect(try service.send(to: subscription).action == .ignore)
        service.reconnect()
        #expect(service.connection.streamLimit == 3)
        #expect(try service.send(to: subscription).status == 201)
        #expect(try service.lines("/webpush/received").count { $0["accepted"]?.boolean == true } == 1)
    }
}
