import PushTransport
import Testing

@testable import PushSimulator

@Suite struct WebPushControlTests {
    @Test("Subscriptions are made in the form of browsers, and each has keys of its own")
    func makesSubscriptions() throws {
        let service = try PushService()
        let made = try service.control("POST", "/subscriptions", "count=20").text.split(separator: "\n")
            .map { try Sender.Subscription($0) }
        #expect(made.count == 20)
        #expect(Set(made.map(\.endpoint)).count == 20 && Set(made.map(\.point)).count == 20)
        #expect(Set(made.map(\.secret)).count == 20)
        for one in made {
            #expect(one.endpoint.hasPrefix("\(Sender.origin)/push/"))
            #expect(one.point.count == 65 && one.secret.count == 16)
            #expect(try service.send("to \(one.id)", to: one).status == 201)
        }
        let records = try service.lines("/webpush/received")
        #expect(records.map { $0["payload_text"]?.string } == made.map { "to \($0.id)" })
    }

    @Test("A subscription that has ended is answered with 410, and a forgotten one with 404")
    func endsSubscriptions() throws {
        let service = try PushService()
        let (one, two) = (try service.subscribe(), try service.subscribe())
        #expect(service.control("DELETE", "/subscriptions/\(one.id)").status == 200)
        let refused = try service.send(to: one)
        #expect(refused.status == 410 && refused.error?["errno"]?.integer == 106)
        #expect(try service.send(to: two).status == 201)
        #expect(try service.lines("/subscriptions").map { $0["state"]?.string } == ["unsubscribed", "active"])
        #expect(try service.lines("/subscriptions/\(two.id)").first?["received"]?.integer == 1)
        #expect(service.control("DELETE", "/subscriptions").status == 200)
        #expect(try service.send(to: two).status == 404)
        #expect(try service.lines("/subscriptions").isEmpty)
    }

    @Test("The list of subscriptions has pages")
    func listsSubscriptions() throws {
        let service = try PushService()
        _ = service.control("POST", "/subscriptions", "count=5&application_server_key=\(service.sender.publicText)")
        let pages = try [("limit=2", [1, 2]), ("since=2&limit=2", [3, 4]), ("since=4", [5]), ("since=5", [])].map {
            (try service.lines("/subscriptions", $0.0).compactMap { $0["number"]?.integer }, $0.1.map(Int64.init))
        }
        #expect(pages.allSatisfy { $0.0 == $0.1 })
        #expect(
            try service.lines("/subscriptions").first?["application_server_key"]?.string == service.sender.publicText)
    }

    @Test("The number of subscriptions is limited")
    func limitsSubscriptions() throws {
        let service = try PushService()
        let key = try AgreementKey.generate()
        for number in 0..<SubscriptionBook.maxCount - 1 {
            let id = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
            service.machine.book.add(id: id, key: key, secret: [])
        }
        #expect(service.control("POST", "/subscriptions", "count=2").status == 409)
        #expect(service.control("POST", "/subscriptions").status == 200)
        #expect(service.control("POST", "/subscriptions").status == 409)
    }

    @Test("The records can be filtered, counted and deleted")
    func filtersRecords() throws {
        let service = try PushService()
        let (one, two) = (try service.subscribe(), try service.subscribe())
        for number in 0..<6 {
            try service.send(to: number % 2 == 0 ? one : two, topic: number < 2 ? "aaaa" : nil)
        }
        try service.send(to: one) { $0.ttl = nil }
        func numbers(_ query: String) throws -> [Int64] {
            try service.lines("/webpush/received", query).compactMap { $0["number"]?.integer }
        }
        #expect(try numbers("id=\(one.id)") == [1, 3, 5, 7])
        #expect(try numbers("id=\(one.id)&status=201") == [1, 3, 5])
        #expect(try numbers("topic=aaaa") == [1, 2])
        #expect(try numbers("limit=2") == [6, 7])
        #expect(try numbers("since=2&limit=2") == [3, 4])
        let counts = try #require(try service.lines("/webpush/counts").first)
        #expect(counts["requests"]?.integer == 7 && counts["accepted"]?.integer == 6)
        #expect(counts["answers"]?.elements?.map { $0["count"]?.integer } == [6, 1])
        #expect(counts["subscriptions"]?["active"]?.integer == 2)
        #expect(service.control("DELETE", "/webpush/received").status == 200)
        #expect(try numbers("").isEmpty)
        try service.send(to: one)
        #expect(try numbers("") == [8])
    }

    @Test("The oldest records are forgotten when there are too many")
    func forgetsRecords() {
        var log = WebPushLog()
        var record = WebPushRecord()
        record.status = 201
        record.topic = "aaaa"
        record.text = [UInt8](repeating: 0, count: 1 << 20)
        for _ in 0..<100 { _ = log.append(record) }
        #expect(log.kept.count == WebPushLog.maxBytes >> 20)
        #expect(log.newest == 100 && log.total == 100)
        #expect(log[100 - UInt64(log.kept.count)] == nil && log[101 - UInt64(log.kept.count)]?.replacedBy != nil)
        #expect(log[0] == nil && log[101] == nil)
        record.text = nil
        for _ in 0..<WebPushLog.maxCount { _ = log.append(record) }
        #expect(log.kept.count == WebPushLog.maxCount)
        #expect(log.kept.first?.number == log.newest - UInt64(WebPushLog.maxCount) + 1)
        #expect(log[log.newest]?.replaces == log.newest - 1)
    }

    static let wrong: [(String, String, String, String, UInt16, String)] = [
        ("GET", "/webpush/recieved", "", "", 404, "did you mean /webpush/received?"),
        ("PUT", "/subscriptions", "", "", 405, "use GET, POST, DELETE"),
        ("POST", "/subscriptions/ab", "", "", 405, "use GET, DELETE"),
        ("POST", "/subscriptions", "count=0", "", 400, "whole number"),
        ("POST", "/subscriptions", "count=10001", "", 400, "whole number"),
        ("POST", "/subscriptions", "number=1", "", 400, "known parameters"),
        ("POST", "/subscriptions", "application_server_key=abc", "", 400, "P-256"),
        ("GET", "/subscriptions/ab", "", "", 404, "GET /subscriptions"),
        ("DELETE", "/subscriptions/xyz", "", "", 404, "GET /subscriptions"),
        ("GET", "/webpush/received", "id=xyz", "", 400, "hexadecimal"),
        ("GET", "/webpush/counts", "x=1", "", 400, "remove the query"),
        ("PUT", "/webpush/faults", "", "{", 400, "JSON5"),
        ("PUT", "/webpush/faults", "", "{rules: [{wedge: true}]}", 400, "rules[0]"),
        ("PUT", "/webpush/faults", "", "{rules: [{half_frame: true}]}", 400, "has the effects"),
        ("PUT", "/webpush/faults", "", "{rules: [{on: 'connect', tls: 'refuse'}]}", 400, "has the effects"),
        ("PUT", "/webpush/faults", "", "{rules: [{on: 'connect', latency: '1s'}]}", 400, "latency"),
        ("PUT", "/webpush/faults", "", "{rules: [{on: 'binary', close: true}]}", 400, "connect"),
        ("PUT", "/webpush/faults", "", "{rules: [{match: {push_type: 'alert'}, close: true}]}", 400, "push_type"),
        ("PUT", "/webpush/faults", "", "{rules: [{match: {reason: 'BadTopic'}, close: true}]}", 400, "reason"),
    ]

    @Test("An invalid request is answered with the problem and advice", arguments: wrong)
    func saysWhatIsWrong(
        method: String, path: String, query: String, body: String, status: UInt16, part: String
    ) throws {
        let service = try PushService()
        let answer = service.control(method, path, query, body)
        #expect(answer.status == status)
        #expect(answer.text.contains(part), "\(answer.text)")
    }

    @Test("The help lists every path, and its example works")
    func explainsItself() throws {
        let service = try PushService()
        let help = service.control("GET", "/webpush/")
        for path in ["/subscriptions", "/webpush/received", "/webpush/counts", "/webpush/faults"] {
            #expect(help.status == 200 && help.text.contains(path))
        }
        let example = try #require(help.text.firstMatch(of: /--data '(.*)' ADDRESS/)).1
        #expect(service.control("PUT", "/webpush/faults", "", String(example)).status == 200)
    }

    @Test("A simulator without the service says how to start it")
    func saysThatItIsMissing() throws {
        let answer = try Provider().control("POST", "/subscriptions")
        #expect(answer.status == 404 && answer.text.contains("--webpush-port"))
    }
}
