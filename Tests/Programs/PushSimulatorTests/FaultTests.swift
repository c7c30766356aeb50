import PushLoop
import Testing

@testable import PushSimulator

@Suite struct FaultScriptTests {
    private func script(_ text: String) throws(ScriptError) -> FaultScript { try FaultScript(Array(text.utf8)) }

    @Test("A script with every key is parsed")
    func readsEverything() throws {
        let script = try script(
            """
            { seed: 42, rules: [
              { match: { token: "dead*", topic: "a.b", push_type: "alert", connection: 2, request: 5, after: 3,
                         status: 200, every: 10, share: 0.5 }, times: 3, latency: { fixed: "20ms", spread: "1.5s" } },
              { match: { reason: "BadDeviceToken" }, streams: 1, latency: "2m" },
              { answer: { reason: "TooManyRequests", retry_after: 30 } },
              { answer: { status: 418, reason: "Teapot", timestamp: 7 } }, { answer: { status: 500 } },
              { goaway: { back: 3, code: "ENHANCE_YOUR_CALM", reason: "Shutdown", close: true } },
              { goaway: { last: 9, code: 11 } }, { reset: "CANCEL" }, { reset: 77, processed: false },
              { silence: true }, { half_frame: true }, { close: true }, { wedge: true },
              { on: "connect", refuse: true }, { on: "connect", tls: "refuse" },
              { on: "binary_connect", tls: "expired_certificate" }, { on: "binary", packet: 10 },
              { on: "feedback", half_frame: true } ] }
            """)
        #expect(script.seed == 42)
        #expect(script.rules.count == 18)
        #expect(script.rules[0].latency == 20_000_000)
        #expect(script.rules[0].spread == 1_500_000_000)
        #expect(script.rules[0].match.token?.description == "dead*")
        #expect(script.rules[0].match.share == 0.5)
        #expect(script.rules[1].latency == 120_000_000_000)
        #expect(script.rules[1].streams == 1)
        #expect(script.rules[2].effect == .answer(.init(status: 429, reason: .tooManyRequests, retryAfter: 30)))
        #expect(script.rules[3].effect == .answer(.init(status: 418, reason: .custom, timestamp: 7)))
        #expect(script.customReasons == ["Teapot"])
        #expect(script.rules[5].effect == .goAway(.init(last: .back(3), code: 11, reason: "Shutdown", closes: true)))
        #expect(script.rules[6].effect == .goAway(.init(last: .stream(9), code: 11)))
        #expect(script.rules[7].effect == .reset(8))
        #expect(script.rules[16].effect == .packet(10))
    }

    static let faulty: [(String, String)] = [
        ("{", "not valid JSON5"), ("[]", "must be an object"), ("{rule: []}", "did you mean \"rules\""),
        ("{rules: {}}", "array of rules"),
        ("{xyzzy: 1}", "known keys: seed, rules"), ("{seed: -1}", "whole number"), ("{rules: [1]}", "rules[0]"),
        ("{rules: [{}]}", "does nothing"), ("{rules: [{latencey: '1s'}]}", "did you mean \"latency\""),
        ("{rules: [{latency: '1'}]}", "not a duration"), ("{rules: [{latency: 5}]}", "must be a string"),
        ("{rules: [{latency: '-1s'}]}", "not a duration"),
        ("{rules: [{latency: {fixd: '1s'}}]}", "did you mean \"fixed\""),
        ("{rules: [{close: true, wedge: true}]}", "one effect"), ("{rules: [{close: false}]}", "must be true;"),
        ("{rules: [{close: 1}]}", "true or false"), ("{rules: [{answer: {}}]}", "needs a status"),
        ("{rules: [{answer: {reason: 'Teapot'}}]}", "needs a status"),
        ("{rules: [{answer: {status: 99}}]}", "from 200 to 599"),
        ("{rules: [{answer: {status: 503, retryafter: 1}}]}", "did you mean \"retry_after\""),
        ("{rules: [{goaway: {last: 1, back: 1}}]}", "not both"),
        ("{rules: [{goaway: {code: 'NOERROR'}}]}", "not one of NO_ERROR"),
        ("{rules: [{goaway: 1}]}", "must be an object"), ("{rules: [{reset: true}]}", "whole number"),
        ("{rules: [{on: 'conect', refuse: true}]}", "not one of connect"),
        ("{rules: [{refuse: true}]}", "not possible on \"request\""),
        ("{rules: [{on: 'connect', answer: {status: 500}}]}", "use it on \"request\""),
        ("{rules: [{packet: 8}]}", "use it on \"binary\""),
        ("{rules: [{on: 'connect', tls: 'expired'}]}", "expired_certificate"),
        ("{rules: [{on: 'binary', streams: 1}]}", "HTTP/2"),
        ("{rules: [{on: 'connect', match: {token: 'ab'}, refuse: true}]}", "no token"),
        ("{rules: [{on: 'binary', match: {status: 200}, close: true}]}", "available only on"),
        ("{rules: [{match: {token: 'xyz'}, close: true}]}", "not a token"),
        ("{rules: [{match: {share: 2}, close: true}]}", "0 to 1"),
        ("{rules: [{match: {every: 0}, close: true}]}", "whole number"),
        ("{rules: [{match: {reason: 'BadToken'}, close: true}]}", "not one of Apple's reasons"),
        ("{rules: [{match: {push_type: 'alerts'}, close: true}]}", "not one of alert"),
        ("{rules: [{close: true, close: true}]}", "twice"),
        ("{rules: [{times: 0, close: true}]}", "whole number"), ("{rules: [{on: 'binary', packet: 256}]}", "0 to 255"),
        ("{rules: [{match: {tokn: 'ab'}, close: true}]}", "did you mean \"token\""),
    ]

    @Test("An invalid script is rejected with the problem", arguments: faulty)
    func saysWhatIsWrong(text: String, part: String) throws {
        let error = try #require(throws: ScriptError.self) { try script(text) }
        #expect(error.description.contains(part), "\(error)")
    }

    @Test("The error names the line and the rule")
    func namesTheLine() throws {
        let error = try #require(throws: ScriptError.self) {
            try script("{\n rules: [\n  { close: true },\n  { clos: true } ] }")
        }
        #expect(error.line == 4)
        #expect(error.path == "rules[1]")
    }

    @Test("The number of rules is limited")
    func boundsRules() {
        let rules = String(repeating: "{close: true},", count: 1001)
        #expect(throws: ScriptError.self) { try script("{rules: [\(rules)]}") }
    }
}

@Suite struct FaultTests {
    private static func provider(_ rules: String) throws -> Provider {
        try Provider(script: "{seed: 5, rules: [\(rules)]}")
    }

    @Test("A rule can answer a share of the requests to a token prefix")
    func answersByTokenAndShare() throws {
        let provider = try Self.provider(
            "{match: {token: '00fc*', share: 0.1}, answer: {reason: 'ServiceUnavailable', retry_after: 7}}")
        var refused = 0
        for _ in 0..<1000 {
            let reaction = provider.send()
            if reaction.status == 503 {
                refused += 1
                let (headers, body) = provider.text(of: reaction)
                #expect(headers["retry-after"] == "7")
                #expect(body == #"{"reason":"ServiceUnavailable"}"#)
            }
            #expect(provider.send([":path": "/3/device/" + String(repeating: "ab", count: 32)]).status == 200)
        }
        #expect((50...150).contains(refused), "\(refused)")
    }

    @Test("The same seed produces the same faults")
    func repeatsWithItsSeed() throws {
        func run(_ seed: Int) throws -> [UInt16] {
            let provider = try Provider(
                script:
                    "{seed: \(seed), rules: [{match: {share: 0.3}, answer: {status: 500}}, {latency: {spread: '9ms'}}]}"
            )
            return (0..<200).map { _ in provider.send() }.map { $0.status &+ UInt16(truncatingIfNeeded: $0.delay) }
        }
        #expect(try run(1) == run(1))
        #expect(try run(1) != run(2))
    }

    @Test("Rules can match by count and apply a limited number of times")
    func counts() throws {
        let provider = try Self.provider(
            "{match: {every: 3}, times: 2, answer: {status: 500}}, {match: {request: 2}, answer: {status: 429}}, {match: {after: 9}, answer: {status: 503}}"
        )
        let statuses = (1...12).map { _ in provider.send().status }
        #expect(statuses == [200, 429, 500, 200, 200, 500, 200, 200, 200, 503, 503, 503])
        provider.reconnect()
        #expect((1...3).map { _ in provider.send().status } == [200, 429, 200])
    }

    @Test("Latencies of several rules add up")
    func addsLatency() throws {
        let provider = try Self.provider(
            "{latency: '10ms'}, {latency: {fixed: '1ms', spread: '2ms'}}, {match: {request: 2}, answer: {status: 500}}")
        let first = provider.send()
        #expect((11_000_000..<13_000_000).contains(first.delay))
        #expect(first.status == 200)
        let second = provider.send()
        #expect(second.status == 500)
        #expect(second.delay >= 11_000_000)
        #expect(second.delay != first.delay)
    }

    @Test("A GOAWAY after a request ignores later requests")
    func goesAway() throws {
        let provider = try Self.provider("{match: {request: 3}, goaway: {reason: 'Shutdown'}}")
        #expect(provider.send().goAway == nil)
        #expect(provider.send().goAway == nil)
        let third = provider.send()
        #expect(third.action == .answer)
        #expect(third.status == 200)
        #expect(third.goAway?.lastStream == 5)
        #expect(third.goAway?.text == Array(#"{"reason":"Shutdown"}"#.utf8))
        let fourth = provider.send()
        #expect(fourth.action == .ignore)
        #expect(fourth.goAway == nil)
        #expect(provider.machine.log.unprocessedTotal == 1)
        #expect(provider.machine.log.acceptedTotal == 3)
    }

    @Test("A GOAWAY before a request ignores this request")
    func goesAwayBeforeTheLast() throws {
        let provider = try Self.provider("{match: {request: 4}, goaway: {back: 2, code: 'INTERNAL_ERROR'}}")
        for _ in 1...3 { #expect(provider.send().goAway == nil) }
        let fourth = provider.send()
        #expect(fourth.goAway?.lastStream == 3)
        #expect(fourth.goAway?.code == 2)
        #expect(fourth.goAway?.text == [])
        #expect(fourth.action == .ignore)
        // The transport drops the pending answer to the third request and reports it.
        provider.machine.log.markUnprocessed(3)
        #expect(provider.machine.log.acceptedTotal == 2)
        #expect(provider.machine.log.unprocessedTotal == 2)
        #expect(try Self.provider("{goaway: {back: 5}}").send().goAway?.lastStream == 0)
    }

    @Test("The stream limit can shrink and grow again")
    func shrinksTheStreamLimitAndRestoresIt() throws {
        let provider = try Self.provider(
            "{match: {reason: 'BadDeviceToken'}, streams: 1}, {match: {status: 200}, streams: 1000}")
        #expect(provider.send().streamLimit == 1000)
        #expect(provider.send().streamLimit == nil)
        #expect(provider.send([":path": "/3/device/xyz"]).streamLimit == 1)
        #expect(provider.send([":path": "/3/device/xyz"]).streamLimit == nil)
        #expect(provider.send().streamLimit == 1000)
    }

    @Test("A reset request counts as processed unless the code is REFUSED_STREAM")
    func resets() throws {
        let refused = try Self.provider("{reset: 'REFUSED_STREAM'}")
        let reaction = refused.send()
        #expect(reaction.action == .reset)
        #expect(reaction.resetCode == 7)
        #expect(refused.machine.log.unprocessedTotal == 1)
        let cancelled = try Self.provider("{reset: 'CANCEL'}")
        #expect(cancelled.send().resetCode == 8)
        #expect(cancelled.machine.log.unprocessedTotal == 0)
        #expect(cancelled.machine.log.acceptedTotal == 1, "the request was processed, but the client cannot know it")
        #expect(cancelled.machine.log.unansweredTotal == 1)
    }

    @Test("A silent connection answers nothing more")
    func fallsSilent() throws {
        let provider = try Self.provider("{match: {connection: 1, request: 2}, silence: true}")
        #expect(provider.send().action == .answer)
        #expect(provider.send().action == .silence)
        #expect(provider.connection.isSilent == true)
        #expect(provider.send().action == .silence)
        #expect(
            provider.machine.log.acceptedTotal == 2,
            "the request that triggered the rule was processed, later ones were not")
        provider.reconnect()
        #expect(provider.send().action == .answer)
    }

    @Test("A request is processed before the connection breaks, later ones are ignored")
    func breaksOff() throws {
        for (effect, action) in [("half_frame", Reaction.Action.halfFrame), ("close", .close)] {
            let provider = try Self.provider("{match: {request: 1}, \(effect): true}")
            #expect(provider.send().action == action)
            #expect(provider.send().action == .ignore)
            #expect(provider.machine.log.acceptedTotal == 1)
            #expect(provider.machine.log.unansweredTotal == 2)
        }
    }

    @Test("A wedged connection rejects every token until the client reconnects")
    func wedges() throws {
        let provider = try Self.provider("{match: {request: 2}, wedge: true}")
        #expect(provider.send().status == 200)
        #expect(provider.send().reason == .expiredProviderToken)
        #expect(
            provider.send(["authorization": "bearer \(Provider.jwt(at: after(1300)))"], at: after(1300)).reason
                == .expiredProviderToken)
        provider.reconnect()
        #expect(provider.send().status == 200)
    }

    @Test("A rule can answer with a custom reason")
    func answersInItsOwnWords() throws {
        let provider = try Self.provider("{answer: {status: 418, reason: 'Tea\"pot'}}")
        let reaction = provider.send()
        #expect(reaction.status == 418)
        #expect(provider.text(of: reaction).body == #"{"reason":"Tea\"pot"}"#)
        #expect(provider.control("GET", "/received").text.contains(#""reason":"Tea\"pot""#))
    }

    @Test("An answer with status 410 has a timestamp")
    func gives410ATime() throws {
        let provider = try Self.provider(
            "{match: {request: 1}, answer: {reason: 'Unregistered', timestamp: 123}}, {answer: {reason: 'Unregistered'}}"
        )
        #expect(provider.text(of: provider.send()).body == #"{"reason":"Unregistered","timestamp":123}"#)
        // The default timestamp is the time of the request, not of the start of the simulator.
        let later = WallTime(milliseconds: noon.milliseconds + 90_000)
        #expect(
            provider.text(of: provider.send(at: later)).body
                == #"{"reason":"Unregistered","timestamp":\#(later.milliseconds)}"#)
    }

    @Test("Rules can apply to new connections")
    func meetsConnections() throws {
        var machine = SimulatorMachine(
            Provider.settings(),
            script: try FaultScript(
                Array(
                    """
                    {rules: [
                      {on: 'connect', match: {connection: 1}, refuse: true}, {on: 'connect', match: {connection: 2}, tls: 'refuse'},
                      {on: 'connect', match: {connection: 3}, tls: 'expired_certificate'},
                      {on: 'connect', match: {connection: 4}, goaway: {reason: 'BadCertificate'}},
                      {on: 'connect', match: {connection: 5}, silence: true}, {on: 'connect', match: {connection: 6}, streams: 3, latency: '1s'},
                      {on: 'connect', match: {connection: 7}, close: true}, {on: 'binary_connect', refuse: true}]}
                    """.utf8)), now: noon)
        let first = machine.arrive(at: .provider)
        #expect(first.isRefused && first.number == 1)
        #expect(machine.arrive(at: .provider).tls == .refused)
        #expect(machine.arrive(at: .provider).tls == .expiredCertificate)
        let fourth = machine.arrive(at: .provider)
        #expect(fourth.goAway?.lastStream == 0)
        #expect(machine.open(fourth, environment: .production).lastStream == 0)
        let fifth = machine.arrive(at: .provider)
        #expect(machine.open(fifth, environment: .production).isSilent == true)
        let sixth = machine.arrive(at: .provider)
        #expect(sixth.delay == 1_000_000_000)
        #expect(machine.open(sixth, environment: .production).streamLimit == 3)
        let seventh = machine.arrive(at: .provider)
        #expect(seventh.closes)
        let eighth = machine.arrive(at: .provider)
        #expect(!eighth.isRefused && eighth.tls == .normal && !eighth.closes && eighth.goAway == nil)
        #expect(machine.arrive(at: .binary).isRefused)
        #expect(!machine.arrive(at: .feedback).isRefused)
    }
}
