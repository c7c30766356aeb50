import PushModel
import PushTime
import PushTransport
import Testing

@testable import PushPipeline

/// Tests of the decisions without a socket.
@Suite struct IntakePartsTests {
    @Test(arguments: [
        (#"{"id":"a"}"#, "a"), (#" { "id" : "a b" , "app":1}"#, "a b"), (#"{"app":"x","id":"b"}"#, "b"),
        (#"{"to":{"id":"no"},"x":[{"id":"no"},"]"],"id":"yes"}"#, "yes"), (#"{"a":"\"","id":"c"}"#, "c"),
        (#"{"a":"\\","id":"d"}"#, "d"), (#"{"id":"\u00e9\"x"}"#, "é\"x"), (#"{"n":-1.5e3,"t":true,"id":"e" oops"#, "e"),
    ])
    func `an id is found without reading the rest`(_ text: String, _ id: String) {
        #expect(skim(text) == id)
    }

    @Test(arguments: [
        "", "{", "{}", "[]", #"{"id""#, #"{"id":"#, #"{"id":"a"#, #"{"id":1}"#, #"{"id":""}"#, #"{"x":{"id":"a"}}"#,
        #"{"x":"a","#, #""id":"a""#, #"{"id":"\x"}"#, "{\"id\":\"a\nb\"}", #"{"x":"\"id\":\"a\"}"#, "{\"\\",
    ])
    func `where there is no id, none is found`(_ text: String) {
        #expect(skim(text) == nil)
    }

    @Test func `an id of any length is no reason to answer with it`() {
        #expect(skim(#"{"id":"\#(String(repeating: "x", count: 129))"}"#) == nil)
        #expect(skim(#"{"id":"\#(String(repeating: "\\u0078", count: 128))"}"#) == String(repeating: "x", count: 128))
        let whole = #"{"app":"shop","to":{"tokens":["aa\"b"]},"id":"cut"}"#
        for length in whole.utf8.indices.dropLast(2) { #expect(skim(String(whole[..<length])) == nil) }
    }

    private func skim(_ text: String) -> String? {
        let bytes = Array(text.utf8)
        return bytes.withUnsafeBytes { EnvelopeSkim.id($0)?.text }
    }

    @Test func `a hundred events at once, then a hundred a second`() {
        var budget = RejectionBudget()
        var now = MonotonicTime(nanoseconds: 5_000_000_000)
        func allowed(of count: Int) -> Int { (0..<count).count { _ in budget.take(now: now).isAllowed } }
        func one() -> Bool { budget.take(now: now).isAllowed }
        let first = allowed(of: 1000)
        #expect(first == 100 && budget.skipped == 900)
        now = now + .milliseconds(9)
        let early = one()
        #expect(!early)
        now = now + .milliseconds(1)
        let next = budget.take(now: now)
        #expect(next.isAllowed && next.skipped == 901 && budget.skipped == 0)
        let another = one()
        #expect(!another)
        now = now + .seconds(3600)
        let later = allowed(of: 1000)
        #expect(later == 100)
    }

    @Test func `each client has a budget of its own, and without clients each app`() {
        var budgets = RejectionBudgets()
        let now = MonotonicTime(nanoseconds: 5_000_000_000)
        func allowed(_ client: String?, _ app: AppID?) -> Int {
            (0..<150).count { _ in budgets.take(client: client, app: app, now: now).isAllowed }
        }
        #expect(allowed("orders", IntakeScene.shop) == 100)
        // All requests of a client share one budget, whatever apps they name.
        #expect(allowed("orders", IntakeScene.news) == 0 && allowed("orders", nil) == 0)
        #expect(allowed("tenant", nil) == 100)
        #expect(allowed(nil, IntakeScene.shop) == 100 && allowed(nil, IntakeScene.news) == 100)
        #expect(allowed(nil, nil) == 100 && allowed(nil, nil) == 0)
    }

    @Test func `what waits for a producer is bounded for it and for all`() {
        var limits = WaitingAcks.Limits()
        limits.acks = 8
        limits.bytes = 100
        var waiting = WaitingAcks(limits)
        let now = MonotonicTime(nanoseconds: 0)
        func ack(_ size: Int) -> WaitingAcks.Ack {
            .init(kind: "ack/1", route: .direct, text: Array(repeating: 120, count: size))
        }
        for identity in 0..<5 as Range<UInt8> {
            let taken = (0..<3).map { _ in waiting.add(ack(1), for: [identity], now: now) }
            #expect(taken == (identity < 4 ? [true, true, false] : [false, false, false]))
        }
        #expect(waiting.count == 8 && waiting.bytes == 8 && waiting.holds([3]) && !waiting.holds([4]))
        var order: [UInt8] = []
        let outcome = waiting.retry(now: now) { identity, _ in
            if identity == [0] { return .unreachable }
            if identity == [1], order.contains(1) { return .wouldBlock }
            order.append(identity[0])
            return .sent
        }
        #expect(outcome == (5, 2))
        #expect(order.sorted() == [1, 2, 2, 3, 3] && waiting.count == 1 && waiting.bytes == 1)
        // Acks of a producer that does not read are finally dropped.
        let late = now + .seconds(31)
        let patient = waiting.retry(now: now + .seconds(30)) { _, _ in .wouldBlock }
        #expect(patient == (0, 0))
        let tired = waiting.retry(now: late) { _, _ in .wouldBlock }
        #expect(tired == (0, 1) && waiting.isEmpty && waiting.bytes == 0)
        let large = waiting.add(ack(101), for: [9], now: now)
        #expect(!large)
    }

    @Test func `lines that are said stand where they belong`() {
        var lines = BatchLines()
        lines.say { $0 += "first".utf8 }
        lines.asked()
        lines.asked()
        lines.say { $0 += "fourth".utf8 }
        lines.say { $0 += "fifth".utf8 }
        lines.asked()
        var text: [UInt8] = []
        lines.write(to: &text) { $1 += "asked \($0)".utf8 }
        #expect(String(decoding: text, as: UTF8.self) == "first\nasked 0\nasked 1\nfourth\nfifth\nasked 2")
        #expect(lines.requestCount == 3 && lines.lineCount == 6)
    }
}
