import Foundation
import Testing

@testable import RequestQueue

/// Freshness, decisions and storage rules, without a network.
@Suite struct CacheRulesTests {
    static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    static let dateSeconds: Int64 = 784_111_777

    private func stored(_ fields: HeaderFields, status: Int = 200, after: Int64 = 0, delay: Int64 = 0) -> StoredResponse
    {
        StoredResponse(
            head: StoredResponse.Head(
                url: "", status: status, fields: StoredResponse.flat(fields), varying: [:], tags: [],
                requestedAt: (Self.dateSeconds + after - delay) * 1000, receivedAt: (Self.dateSeconds + after) * 1000),
            body: Data())
    }

    private func freshness(_ fields: HeaderFields, at seconds: Int64, after: Int64 = 0, delay: Int64 = 0) -> Freshness {
        Freshness(stored(fields, after: after, delay: delay), now: (Self.dateSeconds + seconds) * 1000)
    }

    @Test(
        arguments: [
            ("max-age=60", nil, 60), ("MAX-AGE=\"60\"", nil, 60), ("max-age=60, max-age=30", nil, 30),
            ("s-maxage=60", nil, 0), ("max-age=x", nil, 0), ("max-age=-1", nil, 0), ("max-age", nil, 0),
            ("max-age=99999999999999999999", nil, 1 << 31), (nil, "Sun, 06 Nov 1994 08:50:37 GMT", 60),
            ("max-age=10", "Sun, 06 Nov 1994 08:50:37 GMT", 10), (nil, "0", 0), (nil, nil, 0),
            ("private, x=\"a, max-age=5\", max-age=7", nil, 7),
        ] as [(String?, String?, Int64)])
    func `The lifetime is max-age, Expires or nothing`(_ control: String?, _ expires: String?, _ lifetime: Int64) {
        var fields: HeaderFields = ["Date": Self.date]
        fields["Cache-Control"] = control
        fields["Expires"] = expires
        #expect(freshness(fields, at: 0).lifetime == lifetime)
    }

    @Test func `Each form of a URL has one stored response, and another URL has another one`() throws {
        func digest(_ text: String) throws -> String { CacheKey.digest(of: try #require(URL(string: text))) }
        let same = [
            "http://example.com/?q=1", "http://example.com:80/?q=1", "HTTP://Example.COM?q=1",
            "http://example.com/?q=1#part",
        ]
        #expect(Set(try same.map(digest)).count == 1)
        let others = [
            "http://example.com/", "http://example.com/?", "http://example.com/?q=1", "http://example.com/?Q=1",
            "https://example.com/", "https://example.com:80/", "http://example.com:443/", "http://example.com/a",
            "http://example.com/A", "http://example.com/a/", "http://example.com/%61", "http://ann@example.com/",
            "http://ann:b@example.com/", "http://ann:@example.com/", "http://[::1]/", "http://example.com.:80/",
        ]
        #expect(Set(try others.map(digest)).count == others.count)
        let base = try #require(URL(string: "http://example.com/x/y"))
        let relative = try #require(URL(string: "../a?q", relativeTo: base))
        #expect(CacheKey.digest(of: relative) == (try digest("http://example.com/a?q")))
    }

    @Test func `Without a lifetime, a tenth of the time since the last change is guessed`() {
        let fields: HeaderFields = ["Date": Self.date, "Last-Modified": "Sun, 06 Nov 1994 08:32:57 GMT"]
        #expect(freshness(fields, at: 0).lifetime == 100)
        let old: HeaderFields = ["Date": Self.date, "Last-Modified": "Sun, 06 Nov 1984 08:32:57 GMT"]
        #expect(freshness(old, at: 0).lifetime == 86_400)
        #expect(Freshness(stored(fields, status: 403), now: 0).lifetime == 0)
    }

    @Test func `The age counts the way, earlier caches and the time in this one`() {
        let fields: HeaderFields = ["Date": Self.date, "Age": "50", "Cache-Control": "max-age=100"]
        #expect(freshness(fields, at: 0).age == 50 && freshness(fields, at: 49).isFresh)
        #expect(!freshness(fields, at: 50).isFresh)
        #expect(freshness(fields, at: 5, delay: 5).age == 60)
        // The date is 80 seconds before the arrival, which is more than the age that was named.
        #expect(freshness(fields, at: 80, after: 80).age == 80)
        #expect(!freshness(fields, at: -3600).isFresh, "a clock that was set back makes nothing fresh")
        #expect(!freshness(["Cache-Control": "max-age=100, no-cache"], at: 0).isFresh)
    }

    @Test func `Policies and directives decide together`() {
        func decide(
            _ control: String, at seconds: Int64, _ policy: CachePolicy = .cachedIfFresh, wish: String? = nil
        ) -> CacheDecision {
            var request = HeaderFields()
            request["Cache-Control"] = wish
            let fresh = freshness(["Date": Self.date, "Cache-Control": control], at: seconds)
            return CacheDecision.decide(fresh, request: request, policy: policy)
        }
        #expect(decide("max-age=60", at: 59) == .serve && decide("max-age=60", at: 60) == .ask)
        #expect(
            decide("max-age=60", at: 0, .mustFetch) == .ask
                && decide("max-age=60", at: 0, .refreshInBackground) == .serve)
        #expect(decide("max-age=60", at: 90, .refreshInBackground) == .serveAndRefresh)
        #expect(decide("max-age=60, must-revalidate", at: 90, .refreshInBackground) == .ask)
        #expect(decide("max-age=60, no-cache", at: 0, .refreshInBackground) == .ask)
        #expect(decide("max-age=60, stale-while-revalidate=30", at: 90) == .serveAndRefresh)
        #expect(decide("max-age=60, stale-while-revalidate=30", at: 91) == .ask)
        #expect(decide("max-age=60, stale-while-revalidate=30, must-revalidate", at: 90) == .ask)
        #expect(
            decide("max-age=60", at: 60, .onlyIfCached) == .refuse
                && decide("max-age=60", at: 0, .onlyIfCached) == .serve)
        #expect(
            decide("max-age=60", at: 0, wish: "no-cache") == .ask
                && decide("max-age=60", at: 10, wish: "max-age=9") == .ask)
        #expect(decide("max-age=60", at: 50, wish: "min-fresh=20") == .ask)
        #expect(
            decide("max-age=60", at: 80, wish: "max-stale=20") == .serve
                && decide("max-age=60", at: 60, wish: "only-if-cached") == .refuse)
        #expect(CacheDecision.decide(nil, request: [:], policy: .onlyIfCached) == .refuse)
        #expect(CacheDecision.decide(nil, request: [:], policy: .cachedIfFresh) == .ask)
    }

    @Test(
        arguments: [
            (200, "max-age=1", nil, true), (200, "no-store", nil, false), (200, "private, max-age=1", nil, true),
            (200, nil, nil, true), (206, "max-age=1", nil, false), (404, nil, nil, true), (403, nil, nil, false),
            (403, "max-age=1", nil, true), (200, "max-age=1", "*", false), (200, "max-age=1", "Accept, *", false),
            (200, "max-age=1", "Accept", true),
        ] as [(Int, String?, String?, Bool)])
    func `Only what the rules permit is stored`(_ status: Int, _ control: String?, _ vary: String?, _ may: Bool) throws
    {
        var response = Response(status: status, url: try #require(URL(string: "https://a.example/")))
        response.fields["Cache-Control"] = control
        response.fields["Vary"] = vary
        #expect(CacheDecision.mayStore(response, request: [:]) == may)
        #expect(!CacheDecision.mayStore(response, request: ["Cache-Control": "no-store"]))
        response.redirects = 1
        #expect(!CacheDecision.mayStore(response, request: [:]))
    }

    @Test func `The age of a validated response is that of its 304`() throws {
        var entry = stored(["Date": Self.date, "Age": "500", "ETag": "\"x\"", "Cache-Control": "max-age=600"])
        let url = try #require(URL(string: "https://a.example/"))
        let later = entry.head.receivedAt + 1_000_000
        entry.update(from: Response(status: 304, url: url), requestedAt: later, receivedAt: later)
        #expect(Freshness(entry, now: later).age == 0 && entry.fields["ETag"] == "\"x\"")
        entry.update(from: Response(status: 304, fields: ["Age": "7"], url: url), requestedAt: later, receivedAt: later)
        #expect(Freshness(entry, now: later).age == 7)
    }

    @Test func `A failure is replaced only within stale-if-error`() {
        func may(_ control: String, at seconds: Int64, wish: HeaderFields = [:]) -> Bool {
            CacheDecision.mayReplaceFailure(
                freshness(["Date": Self.date, "Cache-Control": control], at: seconds), request: wish)
        }
        #expect(may("max-age=60, stale-if-error=30", at: 90) && !may("max-age=60, stale-if-error=30", at: 91))
        #expect(!may("max-age=60", at: 60) && may("max-age=60", at: 59))
        #expect(may("max-age=60", at: 60, wish: ["Cache-Control": "stale-if-error=10"]))
        #expect(!may("max-age=60, stale-if-error=30, must-revalidate", at: 61))
    }

    @Test func `A file that was cut off or changed anywhere is absent`() throws {
        var entry = stored(["ETag": "\"x\"", "Cache-Control": "max-age=60"])
        entry.body = Data("body of the response".utf8)
        let data = try EntryCoding.encode(entry)
        #expect(EntryCoding.decode(data) == entry && EntryCoding.decodeHead(data) == entry.head)
        for count in 0..<data.count { try #require(EntryCoding.decode(data.prefix(count)) == nil, "\(count) bytes") }
        try #require(EntryCoding.decode(data + [0]) == nil)
        for bit in 0..<(data.count * 8) {
            var changed = data
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            try #require(EntryCoding.decode(changed) == nil, "bit \(bit)")
        }
        var random = Jitter(seed: 3)
        for _ in 0..<2000 {
            let noise = Data(
                (0..<Int.random(in: 0...80, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) })
            #expect(EntryCoding.decode(noise) == nil && EntryCoding.decode(Data("CRQ1".utf8) + noise) == nil)
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>) func `The list removes the least recently used`(_ seed: UInt64)
        throws
    {
        var random = Jitter(seed: seed)
        var list = RecentList<Int, Int>(maxSize: 100)
        var model: [(key: Int, value: Int, size: Int)] = []
        for _ in 0..<2000 {
            let key = Int.random(in: 0..<30, using: &random)
            switch Int.random(in: 0...3, using: &random) {
            case 0:
                list.remove(key)
                model.removeAll { $0.key == key }
            case 1:
                let place = model.firstIndex { $0.key == key }
                #expect(list.use(key) == place.map { model[$0].value })
                if let place { model.append(model.remove(at: place)) }
            default:
                let (value, size) = (Int.random(in: 0...9, using: &random), Int.random(in: 1...110, using: &random))
                let removed = list.set(key, to: value, size: size)
                model.removeAll { $0.key == key }
                var expected: [Int] = []
                if size > 100 {
                    expected = [key]
                } else {
                    model.append((key, value, size))
                    while model.reduce(0, { $0 + $1.size }) > 100 { expected.append(model.removeFirst().key) }
                }
                try #require(removed == expected)
            }
            try #require(list.size == model.reduce(0) { $0 + $1.size } && Set(list.keys) == Set(model.map(\.key)))
        }
    }
}
