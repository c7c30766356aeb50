import Foundation
import TestSupport
import TestTraits
import Testing

@testable import RequestQueue

/// Downloads that are cut off, continued, and changed under way.
@Suite(.waits) struct DownloadTests {
    private struct Scene {
        let server: FaultServer
        let directory: TemporaryDirectory
        let queue = RequestQueue()
        var file: URL { URL(fileURLWithPath: directory.path).appendingPathComponent("file") }

        init() async throws {
            server = try await FaultServer()
            directory = try TemporaryDirectory()
        }

        func request(_ path: String, _ query: KeyValuePairs<String, String> = [:], attempts: Int = 8) throws -> Request
        {
            var request = Request.get(try server.url(path, query))
            request.retry = RetryRule(maxAttempts: attempts, firstPause: .milliseconds(1))
            return request
        }

        /// The bytes that the server has for a size and version.
        func content(_ size: Int, version: String = "1") -> Data {
            var block = Data()
            for number in 0..<max(0, (min(size, 65_536) + 31) / 32) {
                block += SHA256Digest.of("\(version)/\(number)".utf8)
            }
            var all = Data()
            while all.count < size { all += block }
            return all.prefix(size)
        }

        var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []).sorted() }
    }

    private func code(_ body: () async throws -> Response) async throws -> RequestError.Code? {
        do {
            _ = try await body()
            return nil
        } catch let error as RequestError {
            return error.code
        }
    }

    @Test func `A download appears when it is complete`() async throws {
        let scene = try await Scene()
        let response = try await scene.queue.download(scene.request("/file/f/200000"), to: scene.file)
        #expect(response.status == 200 && response.body.isEmpty && response.attempts == 1)
        #expect(try Data(contentsOf: scene.file) == scene.content(200_000) && scene.names == ["file"])
    }

    @Test func `Cut connections continue at the byte where they ended`() async throws {
        let scene = try await Scene()
        let request = try scene.request("/file/f/300000", ["cut": "70000"])
        let response = try await scene.queue.download(request, to: scene.file)
        #expect(response.status == 206 && response.attempts == 5)
        #expect(try Data(contentsOf: scene.file) == scene.content(300_000) && scene.names == ["file"])
    }

    @Test func `Another queue continues what an earlier one left`() async throws {
        let scene = try await Scene()
        let request = try scene.request("/file/f/300000", ["cut": "70000", "cuts": "1"], attempts: 1)
        #expect(try await code { try await scene.queue.download(request, to: scene.file) } == .connectionLost)
        #expect(scene.names == ["file.partial", "file.partial.json"])
        let response = try await RequestQueue().download(request, to: scene.file)
        #expect(response.status == 206 && response.fields["content-length"] == "230000")
        #expect(try Data(contentsOf: scene.file) == scene.content(300_000) && scene.names == ["file"])
    }

    @Test(arguments: ["change", "shift", "norange", "noetag"])
    func `Parts of two versions are never one file`(_ what: String) async throws {
        let scene = try await Scene()
        let query: KeyValuePairs<String, String> =
            switch what {
            case "change": ["cut": "70000", "cuts": "1", "change": "2"]
            case "shift": ["cut": "70000", "cuts": "1", "shift": "-1"]
            case "norange": ["cut": "70000", "cuts": "1", "norange": "1"]
            default: ["cut": "70000", "cuts": "1", "etag": "no"]
            }
        let response = try await scene.queue.download(scene.request("/file/f/300000", query), to: scene.file)
        #expect(response.status == 200)
        let version = what == "change" ? "2" : "1"
        #expect(try Data(contentsOf: scene.file) == scene.content(300_000, version: version) && scene.names == ["file"])
    }

    @Test func `A partial file that was damaged or belongs to another URL is not continued`() async throws {
        let scene = try await Scene()
        let request = try scene.request("/file/f/300000", ["cut": "70000", "cuts": "1"], attempts: 1)
        let partial = PartialFile(destination: scene.file, of: request.url)
        for damage in 0..<4 {
            let fresh = try scene.request("/file/\(damage)/300000", ["cut": "70000", "cuts": "1"], attempts: 1)
            #expect(try await code { try await scene.queue.download(fresh, to: scene.file) } == .connectionLost)
            let own = PartialFile(destination: scene.file, of: fresh.url)
            let version = try #require(own.resumable())
            #expect(version.count == 70_000 && partial.resumable() == nil)
            switch damage {
            case 0: try Data().write(to: own.description)
            case 1: try FileHandle(forWritingTo: own.bytes).truncate(atOffset: 69_999)
            case 2: try FileManager.default.removeItem(at: own.bytes)
            default:
                // Bytes behind the synced ones, as a crash leaves them, are cut off and fetched again.
                let handle = try FileHandle(forWritingTo: own.bytes)
                try handle.seekToEnd()
                try handle.write(contentsOf: Data(count: 1000))
                try handle.close()
            }
            let response = try await scene.queue.download(fresh, to: scene.file)
            #expect(response.status == (damage < 3 ? 200 : 206))
            #expect(try Data(contentsOf: scene.file) == scene.content(300_000))
        }
    }

    @Test func `A part with another date of change is of another version`() throws {
        let directory = try TemporaryDirectory()
        let url = try #require(URL(string: "https://a.example/file"))
        let partial = PartialFile(
            destination: URL(fileURLWithPath: directory.path).appendingPathComponent("file"), of: url)
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        for (changed, isSame) in [(date, true), ("Sun, 06 Nov 1994 08:49:38 GMT", false)] {
            try Data(count: 10).write(to: partial.bytes)
            try partial.save(
                PartialFile.Version(urlDigest: partial.urlDigest, validator: date, total: 20, count: 10))
            let sink = FileSink(partial, max: 100, maxOther: 100)
            let fields: HeaderFields = ["Content-Range": "bytes 10-19/20", "Last-Modified": changed]
            let isTaken = (try? sink.begin(ResponseHead(status: 206, fields: fields, url: url))) != nil
            #expect(isTaken == isSame && (partial.resumable() != nil) == isSame)
            _ = try? sink.end(isComplete: false)
        }
    }

    /// A head that comes after the end, when the file is that of another download.
    @Test(arguments: [200, 206, 416])
    func `A sink that has ended leaves the files to the next download`(_ status: Int) throws {
        let directory = try TemporaryDirectory()
        let url = try #require(URL(string: "https://a.example/file"))
        let file = URL(fileURLWithPath: directory.path).appendingPathComponent("file")
        let partial = PartialFile(destination: file, of: url)
        try Data("old, ".utf8).write(to: partial.bytes)
        try partial.save(PartialFile.Version(urlDigest: partial.urlDigest, validator: "\"1\"", total: 12, count: 5))
        let (first, second) = (FileSink(partial, max: 100, maxOther: 100), FileSink(partial, max: 100, maxOther: 100))
        _ = try first.end(isComplete: false)
        let rest: HeaderFields = ["Content-Range": "bytes 5-11/12", "ETag": "\"1\""]
        try second.begin(ResponseHead(status: 206, fields: rest, url: url))
        try second.write(Data("new".utf8))
        let fields = status == 206 ? rest : ["ETag": "\"2\""]
        #expect(throws: SinkFailure.self) { try first.begin(ResponseHead(status: status, fields: fields, url: url)) }
        try second.write(Data(" end".utf8))
        _ = try second.end(isComplete: true)
        #expect(try Data(contentsOf: file) == Data("old, new end".utf8))
    }

    @Test func `The head of an answer that comes after a cancellation does not reach the sink`() throws {
        let directory = try TemporaryDirectory()
        let url = try #require(URL(string: "https://a.example/file"))
        let partial = PartialFile(
            destination: URL(fileURLWithPath: directory.path).appendingPathComponent("file"), of: url)
        let transfer = Transfer(
            url: url, method: .get, body: try BodyPlan(.none), sink: FileSink(partial, max: 100, maxOther: 100),
            attempt: 1, progressed: { _ in }, ended: { _ in })
        transfer.cancel()
        try Data("of the next download".utf8).write(to: partial.bytes)
        transfer.received(ResponseHead(status: 200, fields: ["ETag": "\"1\""], url: url))
        transfer.received(Data("late".utf8))
        transfer.end(nil)
        #expect(try Data(contentsOf: partial.bytes) == Data("of the next download".utf8))
    }

    @Test func `The description of a partial file is without the URL and readable by its owner only`() async throws {
        let scene = try await Scene()
        let request = try scene.request("/file/f/300000", ["cut": "70000", "cuts": "1", "key": "s3cret"], attempts: 1)
        #expect(try await code { try await scene.queue.download(request, to: scene.file) } == .connectionLost)
        let description = PartialFile(destination: scene.file, of: request.url).description
        let text = try String(contentsOf: description, encoding: .utf8)
        #expect(!text.contains("s3cret") && !text.contains("127.0.0.1"), "\(text)")
        let attributes = try FileManager.default.attributesOfItem(atPath: description.path)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
    }

    @Test func `A file beyond the limit is refused and leaves nothing`() async throws {
        let scene = try await Scene()
        let promise = try scene.request("/promise")
        #expect(
            try await code { try await scene.queue.download(promise, to: scene.file, maxBytes: 1 << 30) }
                == .responseTooLarge)
        let endless = try scene.request("/endless")
        #expect(
            try await code { try await scene.queue.download(endless, to: scene.file, maxBytes: 1 << 20) }
                == .responseTooLarge)
        #expect(scene.names.isEmpty, "\(scene.names)")
    }

    @Test func `Ten gigabytes promised and one megabyte sent is an error and not a file`() async throws {
        let scene = try await Scene()
        let request = try scene.request("/promise", attempts: 2)
        #expect(try await code { try await scene.queue.download(request, to: scene.file) } == .connectionLost)
        #expect(!scene.names.contains("file"), "\(scene.names)")
    }

    @Test func `Another status is a response without a file`() async throws {
        let scene = try await Scene()
        let response = try await scene.queue.download(scene.request("/status/404"), to: scene.file)
        #expect(response.status == 404 && response.body == Data("status 404".utf8) && scene.names.isEmpty)
    }

    @Test func `Two downloads to one file at the same time are refused`() async throws {
        let scene = try await Scene()
        let first = await scene.queue.startDownload(try scene.request("/silent"), to: scene.file)
        #expect(
            try await code { try await scene.queue.download(scene.request("/file/f/10"), to: scene.file) }
                == .fileUnwritable)
        first.cancel()
        _ = try? await first.response
        #expect(try await scene.queue.download(scene.request("/file/f/10"), to: scene.file).status == 200)
    }

    @Test func `A destination that cannot be written is an error`() async throws {
        let scene = try await Scene()
        let file = scene.file.appendingPathComponent("missing/file")
        #expect(
            try await code { try await scene.queue.download(scene.request("/file/f/10"), to: file) } == .fileUnwritable)
    }
}
