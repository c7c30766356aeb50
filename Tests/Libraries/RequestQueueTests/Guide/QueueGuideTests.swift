import Foundation
import RequestQueue
import TestSupport
import TestTraits
import Testing

// The examples of Documentation/RequestQueue.md. `GuideTextTests` compares the page with them.

@Suite(.waits) struct QueueGuideTests {
    @Test func `The examples of requests work`() async throws {
        let server = try await FaultServer()
        let url = try server.url("/echo")
        let secret = "secret"
        let directory = try TemporaryDirectory()
        let photo = URL(fileURLWithPath: try directory.write("photo.jpg", containing: "photo"))

        let response = try await RequestQueue.shared.send(.get(url))
        print(response.status, response.body.count)
        #expect(response.isSuccess)

        let queue = RequestQueue(
            limits: QueueLimits(maxRunning: 16, maxRunningPerHost: 4, maxWaiting: 1000, overflow: .dropLowest))

        var request = Request.post(url, body: try .json(["name": "Ada"]))
        request.fields["Authorization"] = "Bearer \(secret)"
        request.priority = .high
        request.timeouts = Timeouts(idle: .seconds(20), total: .seconds(120))
        let created = try await queue.send(request)
        let echo: Echo = try created.decoded()
        #expect(echo.body == #"{"name":"Ada"}"# && echo.fields["authorization"] == "Bearer secret")

        var form = MultipartForm()
        form.add("title", value: "Holiday")
        form.add("photo", file: photo, contentType: "image/jpeg")
        let upload = await queue.start(.post(url, body: .multipart(form)))
        for await progress in upload.progress {
            print("\(progress.sent) of \(progress.toSend) bytes")
        }
        let uploaded = try await upload.response
        #expect(uploaded.isSuccess)
    }

    @Test func `The examples of downloads and of the cache work`() async throws {
        let server = try await FaultServer()
        let url = try server.url("/cached/k", ["Cache-Control": "max-age=60"])
        let directory = try TemporaryDirectory()
        let folder = URL(fileURLWithPath: directory.path)
        let queue = RequestQueue()

        let file = folder.appendingPathComponent("map.bin")
        let downloaded = try await queue.download(.get(url), to: file, maxBytes: 1 << 30)
        #expect(downloaded.isSuccess && FileManager.default.fileExists(atPath: file.path))

        let cache = try ResponseCache(queue: queue, directory: folder.appendingPathComponent("cache"))
        let answer = try await cache.send(.get(url), policy: .refreshInBackground, tags: ["catalog"])
        print(answer.source, answer.response.status)
        await cache.invalidate(tag: "catalog")
        #expect(await cache.state(of: .get(url)) == .absent)
    }

    /// An observer that remembers what it was called with.
    private final class Recorder: RequestObserver {
        let calls = AsyncStream<String>.makeStream()

        func requestReceived(_ response: Response, id: UInt64) {
            calls.continuation.yield("received \(response.status)")
        }
        func requestFailed(_ error: RequestError, id: UInt64) { calls.continuation.yield("failed \(error.code)") }
        func requestCancelled(id: UInt64) { calls.continuation.yield("cancelled") }
    }

    @Test func `An observer is called once for each request`() async throws {
        let server = try await FaultServer()
        let queue = RequestQueue()
        let recorder = Recorder()
        _ = try await queue.start(.get(server.url("/ok")), observer: recorder).response
        var wrong = Request.get(try server.url("/ok"))
        wrong.fields["X"] = "a\nb"
        _ = try? await queue.start(wrong, observer: recorder).response
        let silent = await queue.start(.get(try server.url("/silent")), observer: recorder)
        silent.cancel()
        _ = try? await silent.response
        recorder.calls.continuation.finish()
        var calls: [String] = []
        for await call in recorder.calls.stream { calls.append(call) }
        #expect(calls == ["received 200", "failed invalidRequest", "cancelled"])
    }
}
