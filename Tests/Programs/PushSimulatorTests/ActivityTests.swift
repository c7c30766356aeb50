import JSON5
import PushLoop
import PushRandom
import Testing

@testable import PushSimulator

@Suite struct ActivityTests {
    @Test("A start makes an activity with a token, updates change what it shows, and an end ends it")
    func activitiesLiveAndEnd() throws {
        let provider = try Provider()
        let start = try #require(try provider.phone().first)
        let more = #","stale-date":\#(after(60).seconds),"relevance-score":50,"input-push-token":1"#
        #expect(provider.activity(start, aps: Provider.start(more: more)).status == 200)
        #expect(provider.warnings == [])
        var activity = try #require(try provider.lines("/activities").first)
        let token = try #require(activity["token"]?.string)
        #expect(token.count == 160 && token != start)
        #expect(activity["phone"]?.integer == 1 && activity["app"]?.string == "com.example.shop")
        #expect(activity["type"]?.string == "Delivery" && activity["name"]?.string == "order-1")
        #expect(activity["attributes"]?["n"]?.integer == 7)
        #expect(activity["content_state"]?["step"]?.integer == 0)
        #expect(activity["state"]?.string == "active" && activity["relevance_score"]?.integer == 50)
        #expect(activity["stale_date"]?.integer == after(60).seconds)
        #expect(try provider.tree("GET", "/activities/1", at: after(60))["state"]?.string == "stale")

        #expect(
            provider.activity(token, aps: Provider.update(2, timestamp: after(70).seconds), at: after(70)).status == 200
        )
        activity = try provider.tree("GET", "/activities/1", at: after(70))
        #expect(activity["content_state"]?["step"]?.integer == 2 && activity["state"]?.string == "active")
        #expect(activity["updates"]?["shown"]?.integer == 1 && activity["relevance_score"]?.integer == 50)

        let last = Provider.end(timestamp: after(80).seconds, more: #","content-state":{"step":3}"#)
        #expect(provider.activity(token, aps: last, at: after(80)).status == 200)
        activity = try provider.tree("GET", "/activities/1", at: after(81))
        #expect(activity["state"]?.string == "ended" && activity["ended_by"]?.string == "push")
        #expect(activity["content_state"]?["step"]?.integer == 3)
        #expect(activity["ended_at"]?.integer == after(80).milliseconds)
        let gone = provider.activity(token, aps: Provider.update(4, timestamp: after(90).seconds), at: after(90))
        #expect(gone.reason == .expiredToken && gone.status == 410 && gone.timestamp == after(80).milliseconds)
        #expect(try provider.tree("GET", "/activities/1")["content_state"]?["step"]?.integer == 3)
        #expect(provider.activity(start, aps: Provider.start("order-2"), at: after(90)).status == 200)
        #expect(try provider.lines("/activities", at: after(90)).map { $0["name"]?.string } == ["order-1", "order-2"])
        #expect(try provider.lines("/activities", "state=active", at: after(90)).count == 1)
    }

    @Test(
        "The lock screen shows an activity that has ended until its dismissal date, for at most four hours",
        arguments: [
            (nil, 4 * 3600 - 1, "ended"), (nil, 4 * 3600, "dismissed"), (0, 0, "dismissed"), (60, 59, "ended"),
            (60, 60, "dismissed"), (86_400, 4 * 3600 - 1, "ended"), (86_400, 4 * 3600, "dismissed"),
        ] as [(Int64?, Int64, String)])
    func endedActivitiesAreDismissed(date: Int64?, later: Int64, state: String) throws {
        let provider = try Provider()
        let token = try provider.startedActivity()
        let more = date.map { #","dismissal-date":\#(noon.seconds + $0)"# } ?? ""
        provider.activity(token, aps: Provider.end(more: more))
        #expect(try provider.tree("GET", "/activities/1", at: after(later))["state"]?.string == state)
    }

    @Test("An older timestamp is not shown; the same one is")
    func staleUpdatesAreNotShown() throws {
        let provider = try Provider()
        let token = try provider.startedActivity()
        #expect(provider.activity(token, aps: Provider.update(1, timestamp: after(10).seconds)).status == 200)
        #expect(provider.activity(token, aps: Provider.update(2, timestamp: after(9).seconds)).status == 200)
        #expect(provider.warnings == .activityStale)
        #expect(provider.activity(token, aps: Provider.end(timestamp: after(9).seconds)).status == 200)
        #expect(provider.warnings.contains(.activityStale))
        var activity = try provider.tree("GET", "/activities/1")
        #expect(activity["content_state"]?["step"]?.integer == 1 && activity["state"]?.string == "active")
        #expect(provider.activity(token, aps: Provider.update(3, timestamp: after(10).seconds)).status == 200)
        activity = try provider.tree("GET", "/activities/1")
        #expect(activity["content_state"]?["step"]?.integer == 3)
        #expect(activity["updates"]?["shown"]?.integer == 2 && activity["updates"]?["stale"]?.integer == 2)
    }

    static let incomplete: [String] = [
        "", #""event":"start""#, #""event":"update","timestamp":1"#, #""event":"update","content-state":{}"#,
        #""timestamp":1767225600,"content-state":{}"#, #""event":"stop","timestamp":1767225600,"content-state":{}"#,
        #""event":1,"timestamp":1767225600,"content-state":{}"#,
        #""event":"update","timestamp":1767225600.5,"content-state":{}"#,
        #""event":"update","timestamp":"1767225600","content-state":{}"#,
        #""event":"update","timestamp":-1,"content-state":{}"#,
        #""event":"update","timestamp":99999999999999999999,"content-state":{}"#,
        #""event":"update","timestamp":1767225600,"content-state":[]"#,
        #""event":"update","timestamp":1767225600,"content-state":null"#, Provider.start(),
    ]

    @Test("What is incomplete, or not for an update token, is accepted and not shown", arguments: incomplete)
    func incompleteUpdatesAreNotShown(_ aps: String) throws {
        let provider = try Provider()
        let token = try provider.startedActivity()
        #expect(provider.activity(token, aps: aps).status == 200)
        #expect(provider.warnings.contains(.activityNotShown))
        #expect(provider.warnings.list.contains("activity_not_shown"))
        let activity = try provider.tree("GET", "/activities/1")
        #expect(activity["content_state"]?["step"]?.integer == 0 && activity["updates"]?["not_shown"]?.integer == 1)
        #expect(try provider.lines("/activities").count == 1)
    }

    @Test(
        "What does not start an activity is accepted and not shown",
        arguments: [
            ("\"alert\"", "\"alret\""), ("\"attributes\"", "\"attribute\""), ("\"attributes-type\"", "\"type\""),
            ("\"Delivery\"", "\"Ride\""), ("\"content-state\"", "\"state\""), ("\"timestamp\"", "\"time\""),
            ("\"start\"", "\"update\""), ("{\"title\":\"a\",\"body\":\"b\"}", "true"), ("{\"step\":0}", "0"),
        ])
    func incompleteStartsAreNotShown(old: String, new: String) throws {
        let provider = try Provider()
        let start = try #require(try provider.phone().first)
        let aps = Provider.start().replacing(old, with: new)
        #expect(aps != Provider.start())
        #expect(provider.activity(start, aps: aps).status == 200)
        #expect(provider.warnings.contains(.activityNotShown))
        #expect(try provider.lines("/activities").isEmpty)
    }

    @Test("Escapes, white space and duplicate keys are read as JSON has them; a state keeps its bytes")
    func statesKeepTheirBytes() throws {
        let provider = try Provider()
        let token = try provider.startedActivity()
        let state = #"{ "big":12345678901234567890123, "x":[{"}":"\"{"},"é\n"], "step":1e2 }"#
        let aps =
            #" "\u0065vent" : "stop" , "event":"\u0075pdate","timestamp":1767225600 ,"content-state":{},"#
            + "\"content-state\":\n\t \(state) "
        #expect(provider.activity(token, aps: aps).status == 200)
        #expect(provider.control("GET", "/activities/1").text.contains("\"content_state\":\(state),"))
    }

    @Test("Only priority 10 spends the budget of updates, which fills again in an hour")
    func updatesHaveABudget() throws {
        let provider = try Provider()
        let start = try #require(
            try provider.phone("{app: 'com.example.shop', kinds: [], activity_types: ['Delivery'], budget: 2}").first)
        provider.activity(start, aps: Provider.start())
        let token = try #require(try provider.lines("/activities").first?["token"]?.string)
        for (step, priority) in [(1, "10"), (2, nil), (3, "10"), (4, "5")] {
            #expect(provider.activity(token, aps: Provider.update(step), priority: priority).status == 200)
            #expect(provider.warnings.contains(.activityOverBudget) == (step == 3))
        }
        var activity = try provider.tree("GET", "/activities/1")
        #expect(activity["content_state"]?["step"]?.integer == 4)
        #expect(activity["updates"]?["over_budget"]?.integer == 1 && activity["updates"]?["shown"]?.integer == 3)
        // Half an hour gives one of two back.
        provider.activity(token, aps: Provider.update(5), at: after(1799))
        #expect(provider.warnings.contains(.activityOverBudget))
        provider.activity(token, aps: Provider.update(6), at: after(1800))
        provider.activity(token, aps: Provider.update(7), at: after(1800))
        activity = try provider.tree("GET", "/activities/1", at: after(1800))
        #expect(activity["content_state"]?["step"]?.integer == 6)
        // An end is shown all the same.
        #expect(provider.activity(token, aps: Provider.end(), at: after(1800)).status == 200)
        #expect(try provider.tree("GET", "/activities/1", at: after(1800))["state"]?.string == "ended")
    }

    @Test("A budget never lets more through than it has, and all of it after an hour", arguments: [1, 3, 16, 100_000])
    func budgetsFill(_ updates: Int) {
        var budget = ActivityBudget()
        let count = { (now: Int64) in
            var budget = budget
            var spent = 0
            while budget.spend(of: updates, at: now), spent <= updates { spent += 1 }
            return spent
        }
        #expect(count(noon.milliseconds) == updates)
        for _ in 0..<updates { _ = budget.spend(of: updates, at: noon.milliseconds) }
        #expect(count(noon.milliseconds) == 0)
        #expect(count(after(3600).milliseconds) == updates)
        #expect(count(after(7200).milliseconds) == updates)
        let isSpent = budget.spend(of: 0, at: after(7200).milliseconds)
        #expect(!isSpent)
    }

    @Test("The token of an activity rotates; the old one has expired")
    func activityTokensRotate() throws {
        let provider = try Provider()
        let old = try provider.startedActivity()
        let new = try #require(try provider.tree("POST", "/devices/\(old)/rotate")["token"]?.string)
        #expect(provider.activity(old, aps: Provider.update(1)).reason == .expiredToken)
        #expect(provider.activity(new, aps: Provider.update(2)).status == 200)
        let activity = try provider.tree("GET", "/activities/1")
        #expect(activity["token"]?.string == new && activity["content_state"]?["step"]?.integer == 2)
        #expect(activity["old_tokens"]?.elements?.map(\.string) == [old])
    }

    @Test("A person dismisses an activity, whether it has ended or not", arguments: [false, true])
    func activitiesAreDismissed(hasEnded: Bool) throws {
        let provider = try Provider()
        let token = try provider.startedActivity()
        if hasEnded { provider.activity(token, aps: Provider.end()) }
        let dismissed = try provider.tree("POST", "/activities/1/dismiss", at: after(1))
        #expect(dismissed["state"]?.string == "dismissed")
        #expect(dismissed["ended_by"]?.string == (hasEnded ? "push" : "person"))
        #expect(provider.activity(token, aps: Provider.update(1)).reason == .expiredToken)
    }

    @Test("The system ends an activity after eight hours")
    func activitiesEndAfterEightHours() throws {
        let provider = try Provider()
        let token = try provider.startedActivity()
        let hours: Int64 = 8 * 3600
        #expect(provider.activity(token, aps: Provider.update(1), at: after(hours - 1)).status == 200)
        #expect(provider.activity(token, aps: Provider.update(2), at: after(hours)).reason == .expiredToken)
        let activity = try provider.tree("GET", "/activities/1", at: after(hours))
        #expect(activity["ended_by"]?.string == "system" && activity["state"]?.string == "dismissed")
    }

    @Test("An activity that an app starts has a token as well")
    func appsStartActivities() throws {
        let provider = try Provider()
        _ = try provider.phone()
        let body = "{phone: 1, type: 'Ride', attributes: {order: 'r-9'}, content_state: {left: 4}}"
        let token = try #require(try provider.tree("POST", "/activities", "", body)["token"]?.string)
        #expect(provider.activity(token, aps: Provider.update(1)).status == 200)
        let activity = try provider.tree("GET", "/activities/1", "member=order")
        #expect(activity["name"]?.string == "r-9" && activity["content_state"]?["step"]?.integer == 1)
        #expect(try provider.tree("GET", "/activities/1")["name"] == nil)
        #expect(try provider.lines("/activities", "member=order&phone=1").first?["name"]?.string == "r-9")
        #expect(try provider.lines("/activities", "phone=2").isEmpty)
    }

    @Test("An activity of a channel has no token, and its broadcasts update it")
    func broadcastsUpdateActivities() throws {
        let provider = try Provider()
        let channel = try BroadcastTests.newChannel(provider)
        let start = try #require(try provider.phone().first)
        provider.activity(start, aps: Provider.start("a", more: #","input-push-channel":"\#(channel)""#))
        provider.activity(start, aps: Provider.start("b"))
        #expect(provider.send(BroadcastTests.broadcast(channel), "{\"aps\":{\(Provider.update(5))}}").status == 200)
        var activities = try provider.lines("/activities")
        #expect(activities.map { $0["content_state"]?["step"]?.integer } == [5, 0])
        #expect(activities[0]["token"] == nil && activities[0]["channel"]?.string == channel)
        #expect(provider.send(BroadcastTests.broadcast(channel), "{\"aps\":{\(Provider.end())}}").status == 200)
        activities = try provider.lines("/activities")
        #expect(activities.map { $0["state"]?.string } == ["ended", "active"])
    }

    @Test("A phone shows what Apple has processed, whatever the provider learns of it")
    func faultsDecideWhatIsShown() throws {
        let provider = try Provider()
        let token = try provider.startedActivity()
        let step = { try provider.tree("GET", "/activities/1")["content_state"]?["step"]?.integer }
        _ = provider.control("PUT", "/faults", "", "{rules: [{answer: {status: 503, reason: 'ServiceUnavailable'}}]}")
        #expect(provider.activity(token, aps: Provider.update(1)).status == 503)
        #expect(try step() == 0)
        _ = provider.control("PUT", "/faults", "", "{rules: [{reset: 'REFUSED_STREAM'}]}")
        #expect(provider.activity(token, aps: Provider.update(2)).action == .reset)
        #expect(try step() == 0)
        _ = provider.control("PUT", "/faults", "", "{rules: [{close: true}]}")
        #expect(provider.activity(token, aps: Provider.update(3)).action == .close)
        #expect(try step() == 3)
    }

    @Test("A push-to-start token without a phone starts activities of any type")
    func tokensWithoutAPhoneStartActivities() throws {
        let provider = try Provider()
        #expect(provider.control("PUT", "/devices/00*", "", "{kind: 'push_to_start'}").status == 200)
        #expect(provider.activity(Provider.token, aps: Provider.start()).status == 200)
        let activity = try #require(try provider.lines("/activities").first)
        #expect(activity["phone"] == nil && activity["app"]?.string == "com.example.shop")
        #expect(provider.activity(activity["token"]?.string ?? "", aps: Provider.update(1)).status == 200)
        #expect(try provider.tree("GET", "/activities/1")["content_state"]?["step"]?.integer == 1)
    }

    // MARK: Bounds

    @Test("Activities that have ended are forgotten when there are too many, the oldest first")
    func activitiesAreForgotten() throws {
        let provider = try Provider(Provider.settings { $0.activityLimit = 10 })
        let start = try #require(try provider.phone().first)
        let keeper = try #require(
            try provider.tree("POST", "/activities", "", "{phone: 1, type: 'T'}")["token"]?.string)
        for number in 0..<100 {
            provider.activity(start, aps: Provider.start("n\(number)"))
            let token = try #require(provider.machine.phones.activities[UInt64(number + 2)]?.token)
            provider.activity(Hex.text(token), aps: Provider.end())
        }
        #expect(
            try provider.lines("/activities", "state=ended").map { $0["name"]?.string }
                == (91..<100).map { "n\($0)" })
        #expect(provider.machine.devices.count == 11, "the tokens of activities that are forgotten are gone")
        #expect(provider.activity(keeper, aps: Provider.update(1)).status == 200)
        #expect(try provider.tree("GET", "/activities/1")["updates"]?["shown"]?.integer == 1)
    }

    @Test("Of a hundred thousand activities with rotated tokens, only as many as the limit are kept")
    func activitiesAreBounded() throws {
        var phones = SimulatedPhones(activityLimit: 1000)
        var devices = SimulatedDevices()
        var random = SeededRandom(seed: 3)
        let beginning = SimulatedPhones.Beginning(
            phone: 0, app: "a", type: [], attributes: [], content: [], timestamp: 0, channel: [1])
        for _ in 0..<100_000 {
            let number = try #require(phones.start(beginning, at: noon, in: &devices, random: &random))
            let token = try #require(phones.activities[number]?.token)
            var device = SimulatedDevices.Device(kind: .activity)
            device.activity = number
            _ = phones.rotate(token, of: device, at: noon, in: &devices, random: &random)
            phones.end(number, by: .push, at: noon, in: &devices)
        }
        #expect(phones.activityCount == 1000)
        #expect(phones.liveCount == 0)
        #expect(phones.subscribers.isEmpty)
        #expect(phones.ended.count < 4096)
        #expect(devices.count == 2000)
    }

    @Test("When all activities are live, no more are started")
    func liveActivitiesAreNotForgotten() throws {
        let provider = try Provider(Provider.settings { $0.activityLimit = 3 })
        let start = try #require(try provider.phone().first)
        for number in 0..<3 { provider.activity(start, aps: Provider.start("n\(number)")) }
        #expect(provider.warnings == [])
        #expect(provider.activity(start, aps: Provider.start("n3")).status == 200)
        #expect(provider.warnings == .activityNotShown)
        #expect(provider.control("POST", "/activities", "", "{phone: 1, type: 'T'}").status == 409)
        #expect(try provider.lines("/activities").map { $0["name"]?.string } == ["n0", "n1", "n2"])
        #expect(provider.control("POST", "/activities/2/dismiss").status == 200)
        #expect(provider.control("POST", "/activities", "", "{phone: 1, type: 'T'}").status == 200)
        #expect(try provider.lines("/activities").map { $0["activity"]?.integer } == [1, 3, 4])
    }

    @Test("A state that is too large is refused, by push and by the control port")
    func largeStatesAreRefused() throws {
        let provider = try Provider()
        let token = try provider.startedActivity()
        let text = String(repeating: "x", count: 5_000_000)
        let aps = Provider.update(1).replacing("{\"step\":1}", with: "{\"x\":\"\(text)\"}")
        #expect(provider.activity(token, aps: aps).reason == .payloadTooLarge)
        let body = "{phone: 1, type: 'T', content_state: {x: '\(text)'}}"
        #expect(provider.control("POST", "/activities", "", body).text.contains("larger than 4096 bytes"))
        #expect(try provider.lines("/activities").count == 1)
    }
}
