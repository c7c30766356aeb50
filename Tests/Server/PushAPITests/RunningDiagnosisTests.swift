import PushAPI
import PushLogic
import PushModel
import PushTime
import Testing

/// Tests of what is wrong with a running Carillon.
@Suite struct RunningDiagnosisTests {
    private static let start = WallTime(milliseconds: 1_767_225_600_000)

    private func findings(_ change: (inout RunningFacts) -> Void) -> [Finding] {
        var facts = RunningFacts(StatsAnswer(at: Self.start, startedAt: Self.start, ready: true))
        facts.statistics.apps = [app()]
        change(&facts)
        return RunningDiagnosis(facts).findings
    }

    private func codes(_ change: (inout RunningFacts) -> Void) -> [String] {
        findings(change).map { "\($0.severity) \($0.code.rawValue)" }
    }

    private func app(_ change: (inout StatsAnswer.App) -> Void = { _ in }) -> StatsAnswer.App {
        var app = StatsAnswer.App(app: "shop", state: "up")
        change(&app)
        return app
    }

    private func gateway(_ fault: ConnectionFault? = nil, pausedAt: WallTime? = nil) -> GatewayAnswer {
        GatewayAnswer(
            app: "shop", environment: "", state: "", scale: .init(1...2), queue: 0, credit: 0, connections: [],
            fault: fault.map { GatewayAnswer.Fault($0) }, pausedAt: pausedAt)
    }

    private func credential(_ state: CredentialAnswer.State, fault: String? = nil) -> CredentialAnswer {
        var credential = CredentialAnswer(app: AppID("shop"), kind: .key, state: state, name: "K", file: "k.p8")
        credential.fault = fault
        return credential
    }

    @Test func `Nothing is wrong with a server that works`() {
        #expect(codes { _ in } == [])
        #expect(
            codes {
                $0.statistics.apps = [
                    app { ($0.oldestWaitingMilliseconds, $0.oldestUnansweredMilliseconds) = (300_000, 15_000) }
                ]
                ($0.lastMinute.sent, $0.lastMinute.rejected, $0.lastMinute.lostAnswers) = (1000, 50, 0)
                $0.gateways = [gateway()]
                $0.credentials = [credential(.inUse)]
            } == [])
    }

    @Test(arguments: [(0, "more connections"), (49, "more connections"), (50, "50 Live Activities wait")])
    func `A backlog of Live Activities without an address needs no connections`(activities: Int, advice: String) throws
    {
        let found = findings {
            $0.statistics.apps = [app { ($0.waiting, $0.oldestWaitingMilliseconds) = (101, 301_000) }]
            $0.unaddressedActivities = ["shop": activities]
        }
        let finding = try #require(found.first)
        #expect(finding.code == .backlog && finding.advice?.contains(advice) == true)
    }

    // MARK: Readiness

    @Test func `An obstacle has its app first and its advice last`() throws {
        let obstacle = { (text: String) in findings { $0.statistics.obstacles = [text] } }
        let shop = try #require(obstacle("shop: halted: the provider refused the key; replace it").first)
        #expect(shop.app == "shop" && shop.place == "shop" && shop.severity == .fault && shop.code == .notReady)
        #expect(shop.what == "halted: the provider refused the key" && shop.advice == "replace it")
        let whole = try #require(obstacle("the registry hangs").first)
        #expect(whole.app == nil && whole.place == nil && whole.advice == "see 'carillon stats' and the log")
    }

    @Test func `What to do about a connection that fails follows from its code`() throws {
        for code in ConnectionFault.Code.allCases {
            let fault = ConnectionFault(code, sentence: "cannot connect; it was said")
            let found = findings {
                $0.statistics.obstacles = ["shop: no connection is open: \(fault.sentence)"]
                $0.gateways = [gateway(fault)]
            }
            let one = try #require(found.first)
            #expect(found.count == 1 && one.advice == code.advice ?? "it was said", "\(code)")
        }
    }

    @Test func `In a cluster, an obstacle of a node names it`() {
        let found = findings {
            $0.statistics.nodes = [StatsAnswer.Node("a"), StatsAnswer.Node("b")]
            $0.statistics.obstacles = ["node b: shop: connecting; wait", "node a: shop: paused by an operator"]
            $0.gateways = [gateway()]
        }
        #expect(found.map(\.what) == ["connecting, on node b", "paused by an operator, on node a"])
        #expect(found.map(\.app) == ["shop", "shop"])
    }

    @Test func `A storage that fails names the disk, and what does not prevent sending is a warning`() {
        let fault = findings {
            $0.statistics.ledger = StatsAnswer.Ledger()
            $0.statistics.ledger?.fault = "cannot write; no space"
            $0.statistics.obstacles = ["cannot write; no space", "a message waits"]
            $0.warnings = ["a message waits"]
        }
        #expect(fault.map(\.severity) == [.fault, .warning] && fault.map(\.code) == [.notReady, .notReady])
        #expect(fault.first?.advice == "check the disk of the data directory: free space, and permission to write")
    }

    @Test func `An app that an operator has paused is one finding, and its backlog is none`() {
        let found = findings {
            $0.statistics.obstacles = ["shop: paused by an operator"]
            $0.statistics.apps = [app { $0.oldestWaitingMilliseconds = 900_000 }]
            $0.gateways = [gateway(pausedAt: Self.start)]
        }
        #expect(found.map(\.code) == [.paused] && found.map(\.severity) == [.warning])
    }

    @Test func `One cause is one finding`() {
        let found = codes {
            $0.statistics.obstacles = ["shop: halted: the provider refused the key; replace it"]
            $0.credentials = [credential(.inUse, fault: "the provider refused the key; replace it")]
            $0.openBreakers = ["shop"]
        }
        #expect(found == ["fault not_ready"])
        #expect(codes { $0.openBreakers = ["shop"] } == ["warning breaker"])
    }

    // MARK: Apps

    @Test func `Push services of browsers that fail are one finding of their app, with their causes`() throws {
        let fault = ConnectionFault(.notTrusted, sentence: "the certificate of push.test is not trusted")
        let failing = [FailingOrigin("push.test", fault: fault), FailingOrigin("*.other.test", fault: nil)]
        let found = findings {
            $0.failing = ["shop": failing]
            $0.lastMinute.deferred = 100
        }
        let finding = try #require(found.first)
        #expect(found.count == 1 && finding.code == .breaker && finding.severity == .warning && finding.app == "shop")
        #expect(finding.what.contains("\(fault); *.other.test: the last requests"), "\(finding.what)")
        #expect(finding.advice?.hasPrefix(try #require(fault.code.advice)) == true)
        // Their backlog is not one of too few connections.
        let backlog = findings {
            $0.failing = ["shop": failing]
            $0.statistics.apps = [app { ($0.waiting, $0.oldestWaitingMilliseconds) = (1, 301_000) }]
        }.first { $0.code == .backlog }
        #expect(backlog?.advice?.contains("more connections") == false)
        let many = findings { $0.failing = ["shop": (0..<9).map { FailingOrigin("p\($0).test", fault: nil) }] }
        #expect(many.first?.what.hasSuffix("and 6 more") == true)
    }

    @Test func `Apps are judged by their statistics`() {
        #expect(codes { $0.statistics.apps = [app { $0.oldestWaitingMilliseconds = 300_001 }] } == ["warning backlog"])
        #expect(
            codes { $0.statistics.apps = [app { $0.oldestUnansweredMilliseconds = 15_001 }] } == [
                "warning slow_answers"
            ])
        #expect(codes { $0.statistics.apps = [app { $0.isBrakeOn = true }] } == ["warning brake"])
    }

    @Test func `Advice about addresses is that of the push service`() {
        let found = findings {
            $0.statistics.apps = [
                app {
                    ($0.isBrakeOn, $0.brakeAdvice, $0.brakeReason) = (true, "check the names of the app", "OTHER_APP")
                    ($0.brakeDeactivated, $0.brakeDeactivatedSince) = (2, Self.start)
                }
            ]
        }
        #expect(
            found.map(\.advice) == [
                "check the names of the app, and 'carillon check --connect', then run 'carillon devices reactivate "
                    + "--app shop --reason OTHER_APP --since \(Self.start.iso8601) --dry-run', and again without --dry-run"
            ])
        let text = found.map { "\($0.what) \($0.advice ?? "")" }.joined().lowercased()
        for word in ["apple", "apns", "topic", "environment", "baddevicetoken"] {
            #expect(!text.contains(word), "\(text)")
        }
    }

    @Test(arguments: [(CredentialAnswer.State.inUse, "warning"), (.kept, "warning"), (.unusable, "fault")])
    func `A credential that cannot be used is reported`(_ state: CredentialAnswer.State, _ severity: String) {
        #expect(codes { $0.credentials = [credential(state, fault: "refused")] } == ["\(severity) credential"])
    }

    @Test(arguments: [(30, nil), (29, "warning"), (0, "fault"), (-1, "fault")] as [(Int64, String?)])
    func `The end of a certificate is a warning and then a fault`(_ days: Int64, _ severity: String?) {
        let found = codes {
            var one = credential(.inUse)
            one.expiresAt = WallTime(milliseconds: Self.start.milliseconds + days * 86_400_000)
            $0.credentials = [one]
        }
        #expect(found == severity.map { ["\($0) credential_expires"] } ?? [])
    }

    // MARK: The whole

    @Test func `Messages of apps that are not in the configuration are reported`() {
        func found(waiting: UInt64) -> [String] {
            codes {
                $0.statistics.apps = [app { $0.waiting = 2 }]
                $0.statistics.backlog = StatsAnswer.Backlog(waiting: waiting)
            }
        }
        #expect(found(waiting: 2) == [] && found(waiting: 5) == ["warning backlog"])
    }

    @Test func `The last minute is judged`() {
        #expect(codes { ($0.lastMinute.sent, $0.lastMinute.rejected) = (94, 6) } == ["warning rejections"])
        #expect(codes { ($0.lastMinute.sent, $0.lastMinute.rejected) = (0, 4) } == [])
        let lost = findings { $0.lastMinute.lostAnswers = 1 }
        #expect(lost.map(\.code) == [.unknownOutcomes])
        #expect(lost.first?.what == "1 attempt in the last minute got no answer")
        #expect(findings { $0.lastMinute.lostAnswers = 2 }.first?.what == "2 attempts in the last minute got no answer")
        #expect(codes { $0.lastMinute.deferred = 10 } == ["warning deferrals"])
        #expect(codes { $0.lastMinute.deferred = 9 } == [])
        #expect(codes { ($0.lastMinute.deferred, $0.lastMinute.sent) = (100, 1) } == [])
        #expect(codes { ($0.lastMinute.deferred, $0.statistics.ready) = (100, false) } == [])
        #expect(codes { ($0.lastMinute.deferred, $0.openBreakers) = (100, ["shop"]) } == ["warning breaker"])
        let busy = findings { $0.lastMinute.busy = 1 }
        #expect(busy.map(\.code) == [.intakeFull])
        #expect(busy.first?.advice?.contains("carillon scale") == true)
        let full = findings {
            $0.lastMinute.busy = 1
            var ledger = StatsAnswer.Ledger()
            ledger.fault = "the disk is full"
            $0.statistics.ledger = ledger
        }
        #expect(full.first { $0.code == .intakeFull }?.advice == "the ledger cannot write: 'carillon stats' says why")
    }

    @Test func `A webhook that is halted, or fails for long, is reported`() {
        func found(_ state: WebhookAnswer.State, failures: Int = 0) -> [Finding] {
            findings {
                $0.webhooks = [
                    WebhookAnswer(
                        name: "billing", host: "h:443", state: state, prefixes: ["device/"], position: 1, lag: 7,
                        lastStatus: 503, failures: failures)
                ]
            }
        }
        #expect(found(.idle) == [] && found(.backingOff, failures: 9) == [] && found(.sending, failures: 1) == [])
        for (state, failures, words) in [(.disabled, 1, "410"), (.paused, 0, "paused"), (.sending, 10, "answered 503")]
            as [(WebhookAnswer.State, Int, String)]
        {
            let one = found(state, failures: failures).first
            #expect(one?.code == .webhook && one?.severity == .warning && one?.place == "webhook billing")
            #expect(one?.what.contains(words) == true && one?.what.contains("7 event numbers") == true, "\(one as Any)")
        }
        let damaged = findings {
            $0.webhooks = [
                WebhookAnswer(
                    name: "billing", host: "h:443", state: .disabled, reason: .damaged, prefixes: [], position: 0,
                    lag: 7)
            ]
        }.first
        #expect(damaged?.what.contains("position could not be read") == true, "\(damaged as Any)")
        #expect(damaged?.what.contains("410") == false && damaged?.advice?.contains("'seek N'") == true)
        let shortest = (1..<RunningDiagnosis.maxWebhookFailures).reduce(Duration.zero) {
            $0 + WebhookMachine.pause(afterFailures: $1, random: 1)
        }
        #expect(shortest > .seconds(120), "a receiver that restarts is reported")
    }

    @Test func `A webhook whose settings could not be used is reported`() {
        for (isRunning, words) in [(true, "goes on with its earlier settings"), (false, "has not begun")] {
            let one = findings {
                $0.webhookFaults = ["billing": "webhooks.billing.secret_file cannot be used: it is gone"]
                guard isRunning else { return }
                $0.webhooks = [
                    WebhookAnswer(name: "billing", host: "h:443", state: .idle, prefixes: [], position: 1, lag: 0)
                ]
            }.first
            #expect(one?.code == .webhook && one?.severity == .warning && one?.place == "webhook billing")
            #expect(one?.what.contains("secret_file") == true && one?.what.contains(words) == true, "\(one as Any)")
            #expect(one?.advice?.contains("carillon reload") == true)
        }
    }

    @Test func `What was lost since the start is reported`() {
        #expect(codes { $0.losses.events = 1 } == ["warning events_lost"])
        #expect(codes { $0.losses.published = 7 } == ["warning deaf_subscribers"])
        #expect(codes { $0.losses.acks = 7 } == ["note deaf_subscribers"])
    }
}
