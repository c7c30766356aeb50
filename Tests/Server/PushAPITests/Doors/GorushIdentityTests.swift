import PushModel
import PushTime
import Testing

@testable import PushAPI

/// What makes a notification that is handed in again the same message.
@Suite struct GorushIdentityTests {
    private static let shop = AppID("shop")!

    private static func identity(
        _ text: String, notifID: String? = nil, key: String? = nil, position: Int = 0, app: AppID = shop
    ) -> GorushIdentity {
        GorushIdentity(of: Array(text.utf8)[...], for: app, notifID: notifID, key: key.map { ($0, position) })
    }

    @Test("A name holds with its content, and a key holds with its position")
    func names() {
        let first = Self.identity("{}", notifID: "n")
        #expect(first == Self.identity("{}", notifID: "n"))
        #expect(first != Self.identity("{ }", notifID: "n"))
        #expect(first != Self.identity("{}", notifID: "m"))
        #expect(first != Self.identity("{}", notifID: "n", app: AppID("news")!))
        #expect(first != Self.identity("{}"))
        let keyed = Self.identity("{}", notifID: "n", key: "k")
        #expect(keyed == Self.identity("[]", key: "k"))
        #expect(keyed != Self.identity("{}", key: "k", position: 1))
        #expect(keyed != Self.identity("{}", key: "l"))
    }

    @Test("The id begins with the name that the client knows, if an id can have it")
    func ids() {
        guard case .named(let id) = Self.identity("{}", notifID: "order 7"),
            case .named(let long) = Self.identity("{}", notifID: String(repeating: "x", count: 100)),
            case .named(let control) = Self.identity("{}", notifID: "a\u{0}b"),
            case .named(let steps) = Self.identity("{}", notifID: "a/../b")
        else {
            Issue.record("not named")
            return
        }
        #expect(id.text.hasPrefix("gorush-order 7-") && id.text.utf8.count == 15 + 32)
        #expect(long.text.utf8.count == 7 + 32 && control.text.utf8.count == 7 + 32)
        #expect(steps.text.utf8.count == 7 + 32)
    }

    /// A ledger that knows when ids were accepted.
    private struct Book {
        var accepted: [MessageID: WallTime] = [:]
        var lookUps = 0
        var stretches: GorushStretches

        init(startedAt: WallTime, limit: Int = 100) {
            stretches = GorushStretches(window: .seconds(60), at: startedAt, limit: limit)
        }

        mutating func take(_ hash: String, at now: WallTime, isAlone: Bool = true) async -> Bool {
            let at = stretches.begin(hash, at: now)
            let choice = stretches.choice(hash, at: at, isAlone: isAlone)
            if choice.question != nil { lookUps += 1 }
            let found = accepted.filter { $0.key == choice.question && $0.value >= stretches.start(of: at) }
            let id = stretches.id(choice, at: at, accepted: found)
            let isNew = accepted[id] == nil
            if isNew { accepted[id] = now }
            stretches.end(hash, acceptedAs: isNew ? id : nil, at: now)
            return isNew
        }
    }

    @Test("Within the window after a push it is one, whatever the time of its start is, and from then on it is another")
    func window() async {
        // A process that has just started looks up, one that runs for longer remembers, and one may start in between.
        for (age, restarts) in [(Int64(0), false), (600_000, false), (600_000, true)] {
            for offset in stride(from: Int64(0), to: 120_000, by: 1777) {
                let start = WallTime(milliseconds: 1_795_313_600_000 + offset)
                var book = Book(startedAt: start - .milliseconds(age))
                #expect(await book.take("h", at: start))
                for later in [Int64(0), 1, 999, 30_000, 59_000, 59_999] {
                    if restarts { book.stretches = Book(startedAt: start + .milliseconds(later)).stretches }
                    let again = await book.take("h", at: start + .milliseconds(later))
                    #expect(!again, "after \(later) ms from \(offset)")
                }
                #expect(await book.take("h", at: start + .milliseconds(60_000)), "from \(offset)")
                #expect(await book.take("other", at: start))
                #expect(age == 0 || restarts || book.lookUps == 0)
            }
        }
    }

    @Test func `A process that has read what the last one accepted looks nothing up, and finds all of it`() async {
        let start: WallTime = 1_795_313_600_000
        var book = Book(startedAt: start - .seconds(600))
        for number in 0..<50 { #expect(await book.take("\(number)", at: start + .milliseconds(Int64(number)))) }
        #expect(GorushIdentity.hash(of: "gorush-order 7-" + String(repeating: "a", count: 32)) == nil)
        // A hash has 32 digits.
        let hash = { (number: Int) in String(repeating: "0", count: 30) + "\(number + 10)" }
        var next = Book(startedAt: start + .seconds(30))
        for number in 0..<50 { #expect(await next.take(hash(number), at: start)) }
        let accepted = next.accepted.map { (id: $0.key.text, at: $0.value) }
        next.stretches = Book(startedAt: start + .seconds(30)).stretches
        next.stretches.recall(accepted)
        next.lookUps = 0
        for number in 0..<50 { #expect(await !next.take(hash(number), at: start + .seconds(59))) }
        #expect(await next.take(hash(60), at: start + .seconds(31)))
        #expect(next.lookUps == 0)
        for number in 0..<50 { #expect(await next.take(hash(number), at: start + .seconds(120))) }
    }

    @Test("What others may have accepted is looked up, and what is remembered is bounded")
    func memory() async {
        let start: WallTime = 1_795_313_600_000
        var book = Book(startedAt: start - .seconds(600), limit: 10)
        for number in 0..<100 {
            let now = start + .milliseconds(Int64(number))
            #expect(await book.take("\(number)", at: now))
            #expect(book.stretches.counts.remembered <= 20)
        }
        #expect(book.lookUps > 0)
        for number in 0..<100 { #expect(await !book.take("\(number)", at: start + .seconds(59))) }
        let before = book.lookUps
        #expect(await book.take("shared", at: start + .seconds(600)))
        #expect(book.lookUps == before)
        #expect(await book.take("elsewhere", at: start + .seconds(600), isAlone: false))
        #expect(book.lookUps == before + 1)
        #expect(book.stretches.counts.begun == 0)
    }

    @Test("Equal notifications that are under way have one time, and leave nothing behind")
    func underWay() {
        let stretches = GorushStretches(window: .seconds(60), at: 1_795_313_600_000)
        let (first, later): (WallTime, WallTime) = (1_795_313_600_000, 1_795_313_660_000)
        #expect(stretches.begin("h", at: first) == first)
        #expect(stretches.begin("h", at: later) == first)
        #expect(stretches.begin("other", at: later) == later)
        stretches.end("h", at: later)
        #expect(stretches.begin("h", at: later) == first)
        for hash in ["h", "h", "other", "h", "unknown"] { stretches.end(hash, at: later) }
        #expect(stretches.counts.begun == 0)
        #expect(stretches.begin("h", at: later) == later)
    }
}
