import Foundation
import TestSupport
import TestTraits
import Testing

@testable import RequestQueue

/// The queue and the cache with nginx.
@Suite(.waits) struct NginxTests {
    private struct Scene {
        let directory: TemporaryDirectory
        let process: ChildProcess
        let port: Int

        init() async throws {
            directory = try TemporaryDirectory()
            let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .appendingPathComponent("Servers/nginx_server.py").path
            process = try ChildProcess("python3", ["-B", script, directory.path])
            guard let line = try await process.line(), let port = Int(line) else {
                throw ChildProcess.NotStarted(description: "nginx did not start: \(try await process.end().errors)")
            }
            self.port = port
            // The port is known before nginx listens.
            var request = Request.get(try url("files/"))
            request.retry = .never
            await wait(while: (try? await RequestQueue().send(request)) == nil)
        }

        func url(_ path: String) throws -> URL { try #require(URL(string: "http://127.0.0.1:\(port)/\(path)")) }

        func serve(_ name: String, _ content: Data) throws {
            try content.write(to: URL(fileURLWithPath: "\(directory.path)/files/\(name)"))
        }
    }

    private static func content(_ count: Int) -> Data {
        var jitter = Jitter(seed: 5)
        return Data((0..<count).map { _ in UInt8(truncatingIfNeeded: jitter.next()) })
    }

    @Test func `Many requests at the same time are answered, over connections that end often`() async throws {
        let scene = try await Scene()
        try scene.serve("a", Data("hello".utf8))
        let queue = RequestQueue()
        let url = try scene.url("files/a")
        let answers = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<300 {
                group.addTask { (try? await queue.send(.get(url)))?.body == Data("hello".utf8) }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(answers == 300)
    }

    @Test func `A download that was cancelled continues with a range`() async throws {
        let scene = try await Scene()
        // nginx sends what fits into its buffers at once; the rest waits for the limit of the rate.
        let content = Self.content(3 << 20)
        try scene.serve("big", content)
        let file = URL(fileURLWithPath: "\(scene.directory.path)/download")
        let first = await RequestQueue().startDownload(.get(try scene.url("slow/big")), to: file)
        for await progress in first.progress where progress.received > 100_000 { first.cancel() }
        await #expect(throws: RequestError.self) { try await first.response }
        let partial = PartialFile(destination: file, of: try scene.url("slow/big"))
        let start = try #require(partial.resumable()?.count)
        #expect(start > 100_000 && start < content.count)
        // The same bytes at another URL are not continued.
        #expect(PartialFile(destination: file, of: try scene.url("files/big")).resumable() == nil)
        try FileManager.default.removeItem(at: file.appendingPathExtension("partial.json"))
        try partial.save(
            PartialFile.Version(
                urlDigest: PartialFile(destination: file, of: try scene.url("files/big")).urlDigest,
                validator: try #require(
                    try await RequestQueue().send(Request(.head, url: scene.url("files/big"))).fields["ETag"]),
                total: Int64(content.count), count: start))
        let response = try await RequestQueue().download(.get(scene.url("files/big")), to: file)
        #expect(response.status == 206 && response.fields["Content-Length"] == "\(Int64(content.count) - start)")
        #expect(try Data(contentsOf: file) == content)
    }

    @Test func `Stored responses serve, are validated, and change with the file`() async throws {
        let scene = try await Scene()
        try scene.serve("page", Data("first".utf8))
        let cache = try ResponseCache(queue: RequestQueue())
        let fresh = Request.get(try scene.url("files/page"))
        #expect(try await cache.send(fresh).source == .network)
        #expect(try await cache.send(fresh).source == .cache)
        let stale = Request.get(try scene.url("stale/page"))
        #expect(try await cache.send(stale).source == .network)
        #expect(try await cache.send(stale).source == .validated)
        try scene.serve("page", Data("second, longer".utf8))
        let changed = try await cache.send(stale)
        #expect(changed.source == .network && changed.response.body == Data("second, longer".utf8))
        #expect(try await cache.send(fresh).response.body == Data("first".utf8))
        #expect(try await cache.send(fresh, policy: .mustFetch).response.body == Data("second, longer".utf8))
    }

    @Test func `An upload that is too large gets its 413 or a lost connection, and no hang`() async throws {
        let scene = try await Scene()
        var request = Request.post(try scene.url("files/a"), body: .data(Self.content(5 << 20)))
        request.retry = .never
        do {
            #expect(try await RequestQueue().send(request).status == 413)
        } catch {
            #expect(error.code == .connectionLost)
        }
    }

    @Test func `A moved file is found, and missing ones are responses`() async throws {
        let scene = try await Scene()
        try scene.serve("a", Data("hello".utf8))
        let response = try await RequestQueue().send(.get(scene.url("moved/a")))
        #expect(response.redirects == 1 && response.url.path == "/files/a" && response.body == Data("hello".utf8))
        #expect(try await RequestQueue().send(.get(scene.url("files/missing"))).status == 404)
    }
}
