import Foundation
import TestSupport
import TestTraits
import Testing

@testable import RequestQueue

/// The cache before a real server that counts its requests.
@Suite(.waits) struct ResponseCacheTests {
    /// A cache with a clock that the test sets.
    private struct Scene {
        let server: FaultServer
        let directory: TemporaryDirectory
        let now = Locked<Int64>(Int64(Date().timeIntervalSince1970 * 1000))
        let cache: ResponseCache

        init(bounds: CacheBounds = CacheBounds(), onDisk: Bool = false) async throws {
            server = try await FaultServer()
            directory = try TemporaryDirectory()
            cache = try Self.cache(directory: onDisk ? directory.path : nil, bounds: bounds, now: now)
        }

        static func cache(directory: String?, bounds: CacheBounds = CacheBounds(), now: Locked<Int64>) throws
            -> ResponseCache
        {
            try ResponseCache(
                queue: RequestQueue(),
                directory: directory.map { URL(fileURLWithPath: $0).appendingPathComponent("cache") },
                bounds: bounds, clock: { now.withLock { $0 } })
        }

        func pass(_ seconds: Int64) { now.withLock { $0 += seconds * 1000 } }

        func request(_ key: String, _ query: KeyValuePairs<String, String>) throws -> Request {
            var request = Request.get(try server.url("/cached/\(key)", query))
            request.retry = .never
            return request
        }

        func get(
            _ key: String, _ query: KeyValuePairs<String, String> = ["Cache-Control": "max-age=60"],
            policy: CachePolicy = .cachedIfFresh, tags: Set<String> = [], fields: HeaderFields = [:]
        ) async throws -> String {
            var request = try request(key, query)
            request.fields = fields
            let answer = try await cache.send(request, policy: policy, tags: tags)
            return "\(String(decoding: answer.response.body, as: UTF8.self)) \(answer.source)"
        }
    }

    @Test func `A fresh response serves, a stale one is fetched`() async throws {
        let scene = try await Scene()
        #expect(try await scene.get("k") == "1 network")
        #expect(try await scene.get("k") == "1 cache")
        scene.pass(59)
        #expect(try await scene.get("k") == "1 cache")
        scene.pass(1)
        #expect(try await scene.get("k", policy: .refreshInBackground) == "1 stale")
        await wait(while: await !scene.cache.flights.isEmpty)
        #expect(try await scene.get("k") == "2 cache")
        #expect(try await scene.get("k", policy: .mustFetch) == "3 network")
        scene.pass(60)
        #expect(try await scene.get("k") == "4 network")
        let request = try scene.request("k", ["Cache-Control": "max-age=60"])
        #expect(await scene.cache.state(of: request) == .fresh(age: .zero))
        scene.pass(70)
        #expect(await scene.cache.state(of: request) == .stale(age: .seconds(70)))
        await #expect(throws: RequestError.self) { try await scene.get("k", policy: .onlyIfCached) }
        try await scene.cache.refresh(request)
        #expect(try await scene.get("k", policy: .onlyIfCached) == "5 cache")
        await scene.cache.invalidate(request.url)
        #expect(await scene.cache.state(of: request) == .absent)
    }

    @Test func `A stale response is validated, and the fields of the 304 are taken over`() async throws {
        let scene = try await Scene()
        let query: KeyValuePairs = ["Cache-Control": "max-age=60", "tag": "v1"]
        #expect(try await scene.get("k", query) == "1 network")
        scene.pass(61)
        let answer = try await scene.cache.send(scene.request("k", query))
        #expect(answer.source == .validated && answer.response.status == 200 && answer.response.body == Data("1".utf8))
        #expect(answer.response.fields["X-Validated"] == "2" && answer.response.fields["Content-Length"] == "1")
        #expect(try await scene.get("k", query) == "1 cache")
    }

    @Test func `Responses differ by the fields that Vary names`() async throws {
        let scene = try await Scene()
        let query: KeyValuePairs = ["Cache-Control": "max-age=60", "Vary": "Accept-Language"]
        #expect(try await scene.get("k", query, fields: ["Accept-Language": "de"]) == "1 network")
        #expect(try await scene.get("k", query, fields: ["Accept-Language": "fr"]) == "2 network")
        #expect(try await scene.get("k", query, fields: ["accept-language": " de", "X": "y"]) == "1 cache")
        #expect(try await scene.get("k", query, fields: ["Accept-Language": "fr"]) == "2 cache")
        for number in 0..<40 { _ = try await scene.get("k", query, fields: ["Accept-Language": "x\(number)"]) }
        #expect(await scene.cache.memoryBytes < 16 * 1000)
    }

    @Test func `Different credentials never share a response`() async throws {
        let scene = try await Scene()
        for (number, name) in ["Authorization", "Cookie", "X-Api-Key"].enumerated() {
            #expect(try await scene.get("k\(number)", fields: [name: "ada"]) == "1 network")
            #expect(try await scene.get("k\(number)", fields: [name: "bob"]) == "2 network")
            #expect(try await scene.get("k\(number)") == "3 network")
            #expect(try await scene.get("k\(number)", fields: [name: "ada"]) == "1 cache")
        }
    }

    @Test func `A server that fails is replaced within stale-if-error`() async throws {
        let scene = try await Scene()
        let query: KeyValuePairs = ["Cache-Control": "max-age=60, stale-if-error=60", "fail": "2"]
        #expect(try await scene.get("k", query) == "1 network")
        scene.pass(100)
        #expect(try await scene.get("k", query) == "1 stale")
        scene.pass(100)
        #expect(try await scene.get("k", query) == "failed network")
    }

    @Test func `A stored response does not replace a failure if the server must confirm it`() async throws {
        let scene = try await Scene()
        let query: KeyValuePairs = ["Cache-Control": "max-age=60, stale-if-error=60", "fail": "2"]
        #expect(try await scene.get("k", query) == "1 network")
        #expect(try await scene.get("k", query, policy: .mustFetch) == "failed network")
        #expect(try await scene.get("k", query) == "1 cache")
    }

    @Test(arguments: ["later": "no-store", "moves": "/ok"])
    func `An answer that cannot be stored removes the one that it replaces`(_ name: String, _ value: String)
        async throws
    {
        let scene = try await Scene()
        let url = try scene.server.url("/cached/k", ["Cache-Control": "max-age=60", name: value])
        #expect(try await scene.cache.send(.get(url)).source == .network)
        scene.pass(60)
        #expect(try await scene.cache.send(.get(url), policy: .refreshInBackground).source == .stale)
        await wait(while: await !scene.cache.flights.isEmpty)
        #expect(try await scene.cache.send(.get(url), policy: .refreshInBackground).source == .network)
    }

    @Test func `A server that cannot answer now does not remove a stored response`() async throws {
        let scene = try await Scene()
        let query: KeyValuePairs = ["Cache-Control": "max-age=60", "fail": "2"]
        #expect(try await scene.get("k", query) == "1 network")
        scene.pass(60)
        #expect(try await scene.get("k", query) == "failed network")
        #expect(try await scene.get("k", query, policy: .refreshInBackground) == "1 stale")
    }

    @Test func `A redirect is not stored for requests that follow it`() async throws {
        let scene = try await Scene()
        let url = try scene.server.url("/status/301", ["Cache-Control": "max-age=60", "Location": "/ok"])
        var request = Request.get(url)
        request.redirect = .never
        #expect(try await scene.cache.send(request).response.status == 301)
        #expect(try await scene.cache.send(.get(url)).response.body == Data("ok".utf8))
    }

    @Test func `A 304 that came by a redirect is about another response`() async throws {
        let scene = try await Scene()
        let query: KeyValuePairs = [
            "Cache-Control": "max-age=60", "tag": "t", "moves": "/cached/other?tag=t",
        ]
        #expect(try await scene.get("k", query) == "1 network")
        scene.pass(60)
        #expect(try await scene.get("k", query) == "2 network")
    }

    @Test func `A success of another method makes the stored response invalid`() async throws {
        let scene = try await Scene()
        #expect(try await scene.get("k") == "1 network")
        var put = Request.put(try scene.request("k", ["Cache-Control": "max-age=60"]).url, body: .data(Data("x".utf8)))
        _ = try await scene.cache.send(put)
        #expect(try await scene.get("k") == "3 network")
        put.url = try scene.server.url("/status/500")
        _ = try await scene.cache.send(put)
        #expect(try await scene.get("k") == "3 cache")
    }

    @Test func `Identical requests are one, and one waiter that leaves does not end it`() async throws {
        let scene = try await Scene()
        let request = Request.get(try scene.server.url("/hold/h", ["Cache-Control": "max-age=60"]))
        let cache = scene.cache
        let tasks = (0..<10).map { _ in Task { try? await cache.send(request) } }
        let count = Request.get(try scene.server.url("/count/h"))
        try await wait(while: try await RequestQueue().send(count).body != Data("1".utf8))
        // If only the first one waited so far, the request would end with it.
        await wait(while: await cache.flights.values.first?.waiterCount != tasks.count)
        tasks[0].cancel()
        #expect(await tasks[0].value == nil)
        _ = try await RequestQueue().send(.get(scene.server.url("/release/h")))
        for task in tasks[1...] { #expect(await task.value?.response.body == Data("held".utf8)) }
        #expect(try await RequestQueue().send(count).body == Data("1".utf8))
        #expect(try await cache.send(request).source == .cache)
    }

    @Test func `Requests with other rules are not identical`() async throws {
        let scene = try await Scene()
        let cache = scene.cache
        let large = Request.get(try scene.server.url("/hold/h", ["Cache-Control": "max-age=60"]))
        var small = large
        small.maxResponseBytes = 1
        let first = Task { [small] in try await cache.send(small) }
        await wait(while: await cache.flights.isEmpty)
        let second = Task { try await cache.send(large) }
        await wait(while: await cache.flights.values.map(\.waiterCount).reduce(0, +) != 2)
        _ = try await RequestQueue().send(.get(scene.server.url("/release/h")))
        await #expect(throws: RequestError.self) { try await first.value }
        #expect(try await second.value.response.body == Data("held".utf8))
    }

    @Test func `The last waiter that leaves ends the request, and a later one begins anew`() async throws {
        let scene = try await Scene()
        let request = Request.get(try scene.server.url("/hold/h", ["Cache-Control": "max-age=60"]))
        let cache = scene.cache
        let task = Task { try? await cache.send(request) }
        await wait(while: await cache.flights.isEmpty)
        task.cancel()
        #expect(await task.value == nil)
        _ = try await RequestQueue().send(.get(scene.server.url("/release/h")))
        #expect(try await cache.send(request).source == .network)
    }

    @Test func `An answer that was asked for before an invalidation is not stored`() async throws {
        let scene = try await Scene()
        let request = Request.get(try scene.server.url("/hold/h", ["Cache-Control": "max-age=60"]))
        let cache = scene.cache
        for step in 0..<3 {
            let task = Task { try await cache.send(request, tags: ["t"]) }
            await wait(while: await cache.flights.isEmpty)
            switch step {
            case 0: await cache.invalidate(request.url)
            case 1: await cache.invalidate(tag: "t")
            default: await cache.removeAll()
            }
            _ = try await RequestQueue().send(.get(scene.server.url("/release/h")))
            _ = try await task.value
            // The second and third answers come at once; only an invalidation before them counts.
            if step == 0 { #expect(await cache.state(of: request) == .absent) }
            await cache.removeAll()
        }
    }

    @Test func `An invalidation concerns all requests that are under way, whatever their tags`() async throws {
        let scene = try await Scene()
        let request = Request.get(try scene.server.url("/hold/h", ["Cache-Control": "max-age=60"]))
        let count = Request.get(try scene.server.url("/count/h"))
        let cache = scene.cache
        let tasks = ["a", "b"].map { tag in Task { try await cache.send(request, tags: [tag]) } }
        try await wait(while: try await RequestQueue().send(count).body != Data("2".utf8))
        await cache.invalidate(request.url)
        _ = try await RequestQueue().send(.get(scene.server.url("/release/h")))
        for task in tasks { _ = try await task.value }
        #expect(await cache.state(of: request) == .absent)
    }

    @Test func `A validation that was asked for before an invalidation stores nothing`() async throws {
        let scene = try await Scene()
        let request = Request.get(try scene.server.url("/hold/h", ["Cache-Control": "max-age=60", "ETag": "\"x\""]))
        _ = try await RequestQueue().send(.get(scene.server.url("/release/h")))
        let cache = scene.cache
        #expect(try await cache.send(request).source == .network)
        _ = try await RequestQueue().send(.get(scene.server.url("/rearm/h")))
        let task = Task { try await cache.send(request, policy: .mustFetch) }
        await wait(while: await cache.flights.isEmpty)
        await cache.invalidate(request.url)
        _ = try await RequestQueue().send(.get(scene.server.url("/release/h")))
        #expect(try await task.value.source == .validated)
        #expect(await cache.state(of: request) == .absent)
    }

    @Test(arguments: [true, false]) func `An invalidation by tag concerns requests without it for what is stored`(
        _ isValidated: Bool
    ) async throws {
        let scene = try await Scene()
        let fields: KeyValuePairs =
            isValidated ? ["Cache-Control": "max-age=60", "ETag": "\"x\""] : ["Cache-Control": "max-age=60"]
        let request = Request.get(try scene.server.url("/hold/h", fields))
        _ = try await RequestQueue().send(.get(scene.server.url("/release/h")))
        let cache = scene.cache
        #expect(try await cache.send(request, tags: ["catalog"]).source == .network)
        _ = try await RequestQueue().send(.get(scene.server.url("/rearm/h")))
        let task = Task { try await cache.send(request, policy: .mustFetch) }
        await wait(while: await cache.flights.isEmpty)
        await cache.invalidate(tag: "catalog")
        _ = try await RequestQueue().send(.get(scene.server.url("/release/h")))
        #expect(try await task.value.source == (isValidated ? .validated : .network))
        #expect(await cache.state(of: request) == .absent)
    }

    @Test(arguments: [true, false])
    func `An invalidation by tag concerns a request that began before the tagged response was stored`(
        _ comesFirst: Bool
    ) async throws {
        let scene = try await Scene()
        let request = Request.get(try scene.server.url("/hold/h", ["Cache-Control": "max-age=60"]))
        let cache = scene.cache
        let early = Task { try await cache.send(request) }
        await wait(while: await cache.flights.isEmpty)
        let now = await cache.now()
        let head = StoredResponse.Head(
            url: request.url.plain, status: 200, fields: ["Cache-Control", "max-age=60"], varying: [:],
            tags: ["catalog"], requestedAt: now, receivedAt: now)
        await cache.store(StoredResponse(head: head, body: Data()), request: request)
        if comesFirst { await cache.invalidate(tag: "catalog") }
        _ = try await RequestQueue().send(.get(scene.server.url("/release/h")))
        #expect(try await early.value.response.body == Data("held".utf8))
        // What replaces the tagged response has its tag.
        if !comesFirst { await cache.invalidate(tag: "catalog") }
        #expect(await cache.state(of: request) == .absent)
    }

    @Test func `Tags of a response are those of all calls that have stored it`() async throws {
        for query in [["Cache-Control": "max-age=60", "tag": "v"], ["Cache-Control": "max-age=60"]]
            as [KeyValuePairs<String, String>]
        {
            for tag in ["x", "y"] {
                let scene = try await Scene()
                _ = try await scene.get("k", query, tags: ["x"])
                _ = try await scene.get("k", query, policy: .mustFetch)
                _ = try await scene.get("k", query, policy: .mustFetch, tags: ["y"])
                await scene.cache.invalidate(tag: tag)
                #expect(await scene.cache.state(of: try scene.request("k", query)) == .absent)
            }
        }
    }

    @Test func `A response with too many tags is not stored`() async throws {
        let scene = try await Scene(bounds: CacheBounds(maxEntryBytes: 10_000))
        for number in 0..<300 {
            _ = try await scene.get("k", policy: .mustFetch, tags: ["tag\(number)"])
            #expect(await scene.cache.memoryBytes <= 10_000)
        }
        _ = try await scene.get("k", policy: .mustFetch, tags: Set((0..<300).map { "tag\($0)" }))
        #expect(await scene.cache.memoryBytes == 0)
    }

    @Test func `Responses are removed by tag, in memory and on disk`() async throws {
        let scene = try await Scene(onDisk: true)
        _ = try await scene.get("a", tags: ["x", "y"])
        _ = try await scene.get("b", tags: ["y"])
        _ = try await scene.get("c")
        let other = try Scene.cache(directory: scene.directory.path, now: scene.now)
        await other.invalidate(tag: "x")
        await scene.cache.invalidate(tag: "x")
        for (key, answer) in [("a", "2 network"), ("b", "1 cache"), ("c", "1 cache")] {
            #expect(try await scene.get(key) == answer)
        }
    }

    @Test func `Tags of responses that come and go after the first invalidation count, too`() async throws {
        let scene = try await Scene(onDisk: true)
        _ = try await scene.get("a", tags: ["x"])
        await scene.cache.invalidate(tag: "x")
        _ = try await scene.get("a", tags: ["x"])
        _ = try await scene.get("b", tags: ["x"])
        _ = try await scene.cache.refresh(scene.request("b", ["Cache-Control": "max-age=60"]), tags: ["y"])
        _ = try await scene.get("c", tags: ["y"])
        await scene.cache.invalidate(tag: "x")
        #expect(try await scene.get("a") == "3 network")
        #expect(try await scene.get("b") == "3 network")
        #expect(try await scene.get("c") == "1 cache")
        await scene.cache.invalidate(tag: "y")
        #expect(try await scene.get("b") == "3 cache")
        #expect(try await scene.get("c") == "2 network")
    }

    @Test func `Another process finds the responses on disk, and damaged ones are absent`() async throws {
        let scene = try await Scene(onDisk: true)
        for key in ["a", "b", "c"] { _ = try await scene.get(key) }
        let folder = URL(fileURLWithPath: scene.directory.path).appendingPathComponent("cache")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(files.count == 3)
        let size = try Data(contentsOf: folder.appendingPathComponent(files[0])).count
        try FileHandle(forWritingTo: folder.appendingPathComponent(files[0])).truncate(atOffset: UInt64(size - 1))
        try Data("left over".utf8).write(to: folder.appendingPathComponent("new-\(UUID())"))
        try Data("not ours".utf8).write(to: folder.appendingPathComponent("notes.txt"))
        let other = try Scene.cache(directory: scene.directory.path, now: scene.now)
        var sources: [CachedResponse.Source] = []
        for key in ["a", "b", "c"] {
            sources.append(try await other.send(scene.request(key, ["Cache-Control": "max-age=60"])).source)
        }
        #expect(sources.filter { $0 == .cache }.count == 2 && sources.filter { $0 == .network }.count == 1)
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(left.contains("notes.txt") && !left.contains { $0.hasPrefix("new-") })
        await other.removeAll()
        #expect(await other.diskBytes == 0)
        #expect(await other.memoryBytes == 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["notes.txt"])
    }

    @Test func `What is not of the cache stays in its directory, whatever its name`() async throws {
        let directory = try TemporaryDirectory()
        let folder = URL(fileURLWithPath: directory.path).appendingPathComponent("cache")
        let photos = folder.appendingPathComponent("new-photos")
        try FileManager.default.createDirectory(at: photos, withIntermediateDirectories: true)
        try Data("mine".utf8).write(to: photos.appendingPathComponent("cat"))
        let key = CacheKey(
            url: String(repeating: "a", count: 32), credentials: String(repeating: "b", count: 16),
            variant: String(repeating: "c", count: 16))
        try FileManager.default.createSymbolicLink(
            at: folder.appendingPathComponent(key.description), withDestinationURL: photos)
        let cache = try ResponseCache(directory: folder)
        #expect(await cache.storedURLs == 0)
        await cache.removeAll()
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(left.sorted() == [key.description, "new-photos"])
        #expect(try Data(contentsOf: photos.appendingPathComponent("cat")) == Data("mine".utf8))
    }

    @Test func `Responses that left both tiers are forgotten, and one in use stays in both`() async throws {
        let bounds = CacheBounds(memoryBytes: 1000, diskBytes: 6000)
        let scene = try await Scene(bounds: bounds, onDisk: true)
        for number in 0..<30 {
            _ = try await scene.get("k\(number)")
            #expect(try await scene.get("k0") == "1 cache")
        }
        let folder = URL(fileURLWithPath: scene.directory.path).appendingPathComponent("cache")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(await scene.cache.storedURLs == files.count)
    }

    @Test func `A response that is used in memory is not the first to leave the disk`() async throws {
        let scene = try await Scene(bounds: CacheBounds(diskBytes: 6000), onDisk: true)
        for number in 0..<30 {
            _ = try await scene.get("k\(number)")
            #expect(try await scene.get("k0") == "1 cache")
        }
        let other = try Scene.cache(directory: scene.directory.path, now: scene.now)
        let request = try scene.request("k0", ["Cache-Control": "max-age=60"])
        #expect(try await other.send(request).source == .cache)
    }

    @Test func `The bounds in bytes hold in both tiers`() async throws {
        let bounds = CacheBounds(memoryBytes: 3000, diskBytes: 6000, maxEntryBytes: 2000)
        let scene = try await Scene(bounds: bounds, onDisk: true)
        for number in 0..<30 { _ = try await scene.get("k\(number)") }
        #expect(await scene.cache.memoryBytes <= 3000)
        #expect(await scene.cache.diskBytes <= 6000)
        #expect(try await scene.get("k29") == "1 cache")
        #expect(try await scene.get("k0") == "2 network")
        let folder = URL(fileURLWithPath: scene.directory.path).appendingPathComponent("cache")
        let sizes = try FileManager.default.contentsOfDirectory(atPath: folder.path).map {
            try Data(contentsOf: folder.appendingPathComponent($0)).count
        }
        #expect(await scene.cache.diskBytes == sizes.reduce(0, +))
        let large = try scene.request(
            "large", ["Cache-Control": "max-age=60", "X": String(repeating: "x", count: 3000)])
        _ = try await scene.cache.send(large)
        #expect(await scene.cache.state(of: large) == .absent)
    }
}
