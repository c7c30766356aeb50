import JSON5
import PushLoop
import TestSupport
import TestTraits
import Testing

@testable import PushSimulator

@Suite struct ControlTests {
    private func tree(_ text: some StringProtocol) throws -> JSONTree {
        try #require(ByteView.lending(Array(text.utf8)) { JSONTree.strict($0) }, "\(text)")
    }

    private func lines(_ text: String) throws -> [JSONTree] {
        try text.split(separator: "\n").map { try tree($0) }
    }

    @Test("The help lists every path, and its example works")
    func explainsItself() throws {
        let help = try Provider().control("GET", "/")
        #expect(help.status == 200)
        for path in ["/state", "/counts", "/received", "/duplicates", "/faults", "/devices", "/feedback"] {
            #expect(help.text.contains(path))
        }
        let example = try #require(help.text.firstMatch(of: /--data '(.*)' ADDRESS/)).1
        #expect(try Provider().control("PUT", "/faults", "", String(example)).status == 200)
    }

    static let wrong: [(String, String, String, String, UInt16, String)] = [
        ("GET", "/recieved", "", "", 404, "did you mean /received?"),
        ("GET", "/nothing/at/all", "", "", 404, "GET / lists"),
        ("POST", "/received", "", "", 405, "use GET, DELETE"), ("DELETE", "/", "", "", 405, "use GET"),
        ("GET", "/received", "tokn=ab", "", 400, "did you mean \\\"token\\\"?"),
        ("GET", "/received", "token=xyz", "", 400, "hexadecimal"),
        ("GET", "/received", "limit=0", "", 400, "whole number"),
        ("GET", "/received", "limit=1e3", "", 400, "whole number"),
        ("GET", "/received", "since=-1", "", 400, "whole number"), ("GET", "/received", "id=7", "", 400, "8-4-4-4-12"),
        ("GET", "/received", "payload=maybe", "", 400, "payload=true"),
        ("GET", "/received", "topic=%2", "", 400, "%25"),
        ("GET", "/state", "x=1", "", 400, "remove the query"), ("PUT", "/faults", "", "{", 400, "JSON5"),
        ("PUT", "/faults", "", "{rules:[{clos: true}]}", 400, "did you mean \\\"close\\\""),
        ("PUT", "/faults", "", "[]", 400, "must be an object"), ("PUT", "/devices/xyz", "", "{}", 400, "hexadecimal"),
        ("PUT", "/devices/ab", "", "{state: 'dead'}", 400, "not one of active"),
        ("PUT", "/devices/ab", "", "{stat: 'bad'}", 400, "did you mean \\\"state\\\""),
        ("PUT", "/devices/ab", "", "{topics: 'a'}", 400, "array of bundle ids"),
        ("PUT", "/devices/ab", "", "", 400, "JSON5"),
        ("GET", "/devices/ab", "", "", 404, "GET /devices"), ("DELETE", "/devices/ab", "", "", 404, "GET /devices"),
        ("PUT", "/devices", "", "{devices: [{state: 'bad'}]}", 400, "\\\"token\\\" is missing"),
        ("PUT", "/devices", "", "{unknown: 'maybe'}", 400, "\\\"accept\\\" or \\\"reject\\\""),
        ("POST", "/feedback", "", "{token: 'a*'}", 400, "is not a token"),
        ("POST", "/feedback", "", "{}", 400, "is not a token"),
        ("POST", "/feedback", "", "{token: 'ab', time: 'x'}", 400, "whole number"),
        ("PATCH", "/devices/ab", "", "", 405, "use GET, PUT, DELETE"),
    ]

    @Test("An invalid request is answered with the problem and advice", arguments: wrong)
    func saysHowToDoItRight(
        method: String, path: String, query: String, body: String, status: UInt16, part: String
    ) throws {
        let provider = try Provider()
        let answer = provider.control(method, path, query, body)
        #expect(answer.status == status)
        #expect(answer.text.contains(part), "\(answer.text)")
        let error = try tree(answer.text)
        #expect(error["error"]?.string?.isEmpty == false)
        #expect(error["advice"]?.string?.isEmpty == false)
    }

    @Test("The records contain the details of each request")
    func showsRecords() throws {
        let provider = try Provider()
        provider.send(["apns-collapse-id": "c\"é"])
        provider.send(
            ["apns-push-type": nil, "apns-priority": nil, "apns-expiration": nil, "apns-id": nil], "{}", at: after(5))
        provider.send([":path": "/3/device/\(String(repeating: "ab", count: 32))"], "nonsense")
        let all = try lines(provider.control("GET", "/received", "payload=true").text)
        #expect(all.map { $0["number"]?.integer } == [1, 2, 3])
        #expect(all[0]["token"]?.string == Provider.token)
        #expect(all[0]["topic"]?.string == "com.example.shop")
        #expect(all[0]["collapse_id"]?.string == "c\"é")
        #expect(all[0]["id"]?.string == Provider.id)
        #expect(all[0]["priority"]?.integer == 10)
        #expect(all[0]["expiration"]?.integer == 1_767_229_200)
        #expect(all[0]["push_type"]?.string == "alert")
        #expect(all[0]["payload"]?["aps"]?["alert"]?.string == "Hello")
        #expect(all[0]["at"]?.integer == noon.milliseconds)
        #expect(all[0]["accepted"]?.boolean == true)
        #expect(all[0]["reason"] == nil)
        #expect(
            all[1]["warnings"]
                == JSONTree(.array([JSONTree(.string("push_type_missing")), JSONTree(.string("aps_missing"))])))
        #expect(all[1]["priority"] == nil && all[1]["expiration"] == nil && all[1]["push_type"] == nil)
        #expect(all[1]["at"]?.integer == after(5).milliseconds)
        #expect(all[2]["reason"]?.string == "PayloadEmpty")
        #expect(all[2]["payload_text"]?.string == "nonsense")
        #expect(all[2]["duplicate"]?.boolean == true)
        #expect(try lines(provider.control("GET", "/received").text)[0]["payload"] == nil)
    }

    @Test("Records can be filtered")
    func filtersRecords() throws {
        let provider = try Provider()
        for number in 0..<20 {
            provider.send([
                ":path": "/3/device/\(number % 2 == 0 ? "aa" : "bb")0\(number % 10)",
                "apns-topic": number < 10 ? "a.b" : "c.d",
                "apns-priority": number % 5 == 0 ? "9" : "10",
            ])
        }
        provider.reconnect()
        provider.send()
        func numbers(_ query: String) throws -> [Int64] {
            try lines(provider.control("GET", "/received", query).text).compactMap { $0["number"]?.integer }
        }
        #expect(try numbers("token=aa*&topic=a.b") == [1, 3, 5, 7, 9])
        #expect(try numbers("token=AA04") == [5, 15])
        #expect(try numbers("status=400&reason=BadPriority") == [1, 6, 11, 16])
        #expect(try numbers("reason=PayloadEmpty") == [])
        #expect(try numbers("topic=never%2Eseen") == [])
        #expect(try numbers("since=18") == [19, 20, 21])
        #expect(try numbers("since=2&limit=3") == [3, 4, 5])
        #expect(try numbers("limit=2") == [20, 21])
        #expect(try numbers("since=99") == [])
        #expect(try numbers("connection=2") == [21])
        #expect(try numbers("id=\(Provider.id.uppercased())").count == 21)
        #expect(try numbers("token=\(Provider.token)") == [21])
    }

    @Test("Counts and records can be read and deleted")
    func countsAndForgets() throws {
        let provider = try Provider()
        for _ in 0..<3 { provider.send() }
        provider.send(["apns-priority": "9"])
        let counts = try tree(provider.control("GET", "/counts").text)
        #expect(counts["requests"]?.integer == 4)
        #expect(counts["accepted"]?.integer == 3)
        #expect(counts["duplicates"]?.integer == 3)
        #expect(counts["accepted_again"]?.integer == 2)
        guard let answers = counts["answers"]?.elements else { Issue.record("the response has no answers"); return }
        #expect(answers.map { $0["count"]?.integer } == [3, 1])
        #expect(answers[1]["reason"]?.string == "BadPriority")
        let duplicates = try lines(provider.control("GET", "/duplicates", "accepted=true").text)
        #expect(duplicates.count == 1)
        #expect(duplicates[0]["times"]?.integer == 4)
        #expect(duplicates[0]["accepted"]?.integer == 3)
        #expect(provider.control("DELETE", "/received").status == 200)
        #expect(try tree(provider.control("GET", "/counts").text)["requests"]?.integer == 0)
        #expect(provider.control("GET", "/received").text == "")
        #expect(provider.control("GET", "/duplicates").text == "")
        provider.send()
        #expect(
            try lines(provider.control("GET", "/received").text)[0]["number"]?.integer == 5, "the numbering continues")
        #expect(provider.machine.log.duplicateTotal == 0)
    }

    @Test("Fault rules can be replaced, extended and removed")
    func changesFaults() throws {
        let provider = try Provider()
        #expect(
            provider.control(
                "PUT", "/faults", "", "{seed: 3, rules: [{answer: {status: 500, reason: 'One'}, times: 1}]} // all"
            ).status == 200)
        #expect(
            provider.control("POST", "/faults", "", "{rules: [{answer: {status: 501, reason: 'Two'}}]}").status == 200)
        #expect(provider.text(of: provider.send()).body == #"{"reason":"One"}"#)
        #expect(provider.text(of: provider.send()).body == #"{"reason":"Two"}"#)
        let faults = try tree(provider.control("GET", "/faults").text)
        #expect(faults["seed"]?.integer == 3)
        guard let rules = faults["rules"]?.elements else { Issue.record("the response has no rules"); return }
        #expect(rules.map { $0["applied"]?.integer } == [1, 1])
        #expect(rules[0]["left"]?.integer == 0)
        #expect(rules[0]["rule"]?["answer"]?["reason"]?.string == "One")
        #expect(rules[1]["rule"]?["answer"]?["status"]?.integer == 501)
        #expect(provider.control("PUT", "/faults", "", "{rules: 1}").status == 400)
        #expect(provider.send().status == 501, "an invalid script changes nothing")
        #expect(provider.control("DELETE", "/faults").status == 200)
        #expect(provider.send().status == 200)
    }

    @Test("The state of devices can be set and removed")
    func changesDevices() throws {
        let provider = try Provider()
        let path = "/devices/\(Provider.token)"
        #expect(provider.control("PUT", path, "", "{state: 'unregistered'}").status == 200)
        let gone = provider.send(at: after(9))
        #expect(gone.reason == .unregistered)
        #expect(gone.timestamp == noon.milliseconds, "the time of the request is the default")
        #expect(provider.control("PUT", path, "", "{state: 'expired', since: 5}").status == 200)
        #expect(provider.send().timestamp == 5)
        #expect(try tree(provider.control("GET", path).text)["state"]?.string == "expired")
        #expect(provider.control("PUT", "/devices/0*", "", "{topics: ['x.y'], environment: 'sandbox'}").status == 200)
        #expect(provider.control("DELETE", path).status == 200)
        #expect(provider.send().reason == .badDeviceToken)
        let list = try lines(provider.control("GET", "/devices").text)
        #expect(list.count == 1)
        #expect(list[0]["token"]?.string == "0*")
        #expect(list[0]["topics"] == JSONTree(.array([JSONTree(.string("x.y"))])))
        #expect(provider.control("DELETE", "/devices").status == 200)
        #expect(provider.send().status == 200)
        let token = String(repeating: "ab", count: 32)
        let many = "{unknown: 'reject', devices: [{token: '\(token)'}, {token: 'cd*', state: 'bad'}]}"
        #expect(try tree(provider.control("PUT", "/devices", "", many).text)["known"]?.integer == 2)
        #expect(provider.send().reason == .badDeviceToken)
        #expect(provider.send([":path": "/3/device/\(token)"]).status == 200)
        #expect(provider.send([":path": "/3/device/cdef"]).reason == .badDeviceToken)
        let half = "{devices: [{token: 'ee', state: 'bad'}, {token: 'zz'}]}"
        #expect(provider.control("PUT", "/devices", "", half).status == 400)
        #expect(provider.control("GET", "/devices/ee").status == 404, "an invalid entry rejects the whole request")
    }

    @Test("Feedback entries can be added, read and removed")
    func changesFeedback() throws {
        let provider = try Provider()
        #expect(provider.control("POST", "/feedback", "", "{token: 'ABCD', time: 7}").status == 200)
        #expect(provider.control("POST", "/feedback", "", "{\"token\": \"ef\"}").status == 200)
        for _ in 0..<2 {
            let entries = try lines(provider.control("GET", "/feedback").text)
            #expect(entries.map { $0["token"]?.string } == ["abcd", "ef"])
            #expect(entries.map { $0["time"]?.integer } == [7, noon.seconds])
        }
        #expect(
            provider.machine.feedback.take() == [0, 0, 0, 7, 0, 2, 0xab, 0xcd] + Frames.number(UInt32(noon.seconds)) + [
                0, 1, 0xef,
            ])
        #expect(provider.control("GET", "/feedback").text == "")
        provider.machine.feedback.add([1], at: noon)
        #expect(provider.control("DELETE", "/feedback").status == 200)
        #expect(provider.machine.feedback.count == 0)
    }

    @Test("The state shows requests, records and checks")
    func showsItsState() throws {
        let provider = try Provider()
        provider.send()
        let state = try tree(provider.control("GET", "/state", at: after(1)).text)
        #expect(state["requests"]?.integer == 1)
        #expect(state["connections"]?.integer == 1)
        #expect(state["records"]?["kept"]?.integer == 1)
        #expect(state["records"]?["capacity"]?.integer == 1000)
        #expect(state["checks"]?["signatures"]?.boolean == true)
        #expect(state["now"]?.integer == after(1).milliseconds)
    }

    @Test("Random requests never crash the control port", .waits)
    func survivesNonsense() throws {
        let provider = try Provider()
        provider.send()
        var random = SeededRandom(seed: 8)
        let seeds =
            (Self.wrong + PhoneTests.wrong).map { ($0.0, $0.1, $0.2, $0.3) } + [
                ("POST", "/phones", "", "{app: 'a', kinds: ['voip'], activity_types: ['T'], budget: 3}"),
                ("POST", "/activities", "", "{phone: 1, type: 'T', attributes: {name: 'x'}, content_state: {n: 1}}"),
                ("POST", "/activities/1/dismiss", "", ""), ("DELETE", "/phones/2", "", ""),
                ("GET", "/activities", "phone=1&state=active&member=name&since=0&limit=5", ""),
                ("POST", "/devices/\(Provider.token)/rotate", "", ""),
                (
                    "PUT", "/faults", "",
                    "{rules: [{match: {share: 0.5, token: 'ab*'}, answer: {status: 500, reason: 'x'}}]}"
                ),
                ("GET", "/received", "token=00*&limit=5&since=0&payload=true", ""),
                ("PUT", "/devices", "", "{unknown: 'accept', devices: [{token: 'ab', topics: ['x'], since: 4}]}"),
            ]
        for _ in 0..<5000 {
            let seed = seeds.randomElement(using: &random)!
            func mutate(_ text: String) -> String {
                var bytes = Array(text.utf8)
                guard !bytes.isEmpty, Bool.random(using: &random) else { return text }
                for _ in 0..<2 {
                    let place = Int.random(in: 0..<bytes.count, using: &random)
                    bytes[place] = UInt8(truncatingIfNeeded: random.next())
                }
                return String(decoding: bytes, as: UTF8.self)
            }
            let answer = provider.control(seed.0, mutate(seed.1), mutate(seed.2), mutate(seed.3))
            #expect([200, 400, 404, 405, 409].contains(answer.status))
            _ = provider.send()
        }
    }
}
