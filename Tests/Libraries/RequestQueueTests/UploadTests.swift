import Foundation
import TestSupport
import TestTraits
import Testing

@testable import RequestQueue

/// Bodies of requests, and their streaming from files.
@Suite(.waits) struct UploadTests {
    @Test func `A form with files arrives as a server reads it`() async throws {
        let server = try await FaultServer()
        let directory = try TemporaryDirectory()
        let file = URL(fileURLWithPath: directory.path).appendingPathComponent("a\"b.txt")
        try Data("file\r\n--x".utf8).write(to: file)
        var form = MultipartForm()
        form.add("title\r\n\"", value: "Grüße")
        form.add("file", file: file, contentType: "text/plain")
        form.add("bytes", data: Data([0, 1]), filename: "b.bin")
        let echo: Echo = try await RequestQueue().send(.post(server.url("/echo"), body: .multipart(form))).decoded()
        let type = try #require(echo.fields["content-type"])
        let script = """
            import sys, email.parser, email.policy
            body = bytes.fromhex(sys.argv[2])
            m = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(b'Content-Type: ' + sys.argv[1].encode() + b'\\r\\n\\r\\n' + body)
            for p in m.iter_parts():
                print(p.get_param('name', header='content-disposition'), p.get_filename(), p.get_content_type(), p.get_payload(decode=True).hex())
            """
        let hex = echo.body.unicodeScalars.map { String($0.value + 256, radix: 16).dropFirst() }.joined()
        let ended = try await ChildProcess.run("python3", ["-c", script, type, hex])
        #expect(
            ended.output == """
                title%0D%0A%22 None text/plain \(Self.hex("Grüße"))
                file a%22b.txt text/plain \(Self.hex("file\r\n--x"))
                bytes b.bin application/octet-stream 0001

                """, "\(ended.errors)")
    }

    private static func hex(_ text: String) -> String {
        text.utf8.map { String(Int($0) + 256, radix: 16).dropFirst() }.joined()
    }

    @Test func `A file that is missing or becomes shorter is an error, and is not retried`() async throws {
        let server = try await FaultServer()
        let directory = try TemporaryDirectory()
        let file = URL(fileURLWithPath: directory.path).appendingPathComponent("file")
        let queue = RequestQueue()
        await #expect(throws: RequestError.self) {
            try await queue.send(.put(server.url("/sink"), body: .file(file)))
        }
        // The plan still has the size of the file that was there when the attempt began.
        try Data(count: 100).write(to: file)
        let failure = Locked<RequestError?>(nil)
        let stream = BodyStream(BodyReader(try BodyPlan(.file(file)), failure: failure))
        try Data(count: 40).write(to: file)
        stream.open()
        var bytes = [UInt8](repeating: 0, count: 1000)
        #expect(stream.read(&bytes, maxLength: 1000) == 40 && stream.hasBytesAvailable)
        #expect(stream.read(&bytes, maxLength: 1000) == -1)
        #expect(failure.withLock { $0?.code } == .bodyUnreadable)
    }

    /// The bytes of a body are the same for every size of a read.
    @Test(arguments: [1, 2, 7, 64, 10_000]) func `A stream gives every byte once`(_ size: Int) throws {
        let directory = try TemporaryDirectory()
        let file = URL(fileURLWithPath: directory.path).appendingPathComponent("file")
        let content = Data((0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        try content.write(to: file)
        var form = MultipartForm()
        form.add("a", file: file)
        form.add("empty", value: "")
        form.add("b", data: content, filename: "b")
        let plan = try BodyPlan(.multipart(form))
        let stream = BodyStream(BodyReader(plan, failure: Locked(nil)))
        stream.open()
        var all = Data()
        var bytes = [UInt8](repeating: 0, count: size)
        while stream.hasBytesAvailable {
            let count = stream.read(&bytes, maxLength: size)
            try #require(count > 0)
            all.append(contentsOf: bytes[..<count])
        }
        var expected = Data()
        for part in form.encodedParts {
            switch part {
            case .bytes(let data): expected += data
            case .file: expected += content
            }
        }
        #expect(all == expected && Int64(all.count) == plan.count && stream.streamStatus == .atEnd)
    }

    @Test func `A file of 64 MiB is uploaded in flat memory, with its progress`() async throws {
        let server = try await FaultServer()
        let directory = try TemporaryDirectory()
        let file = URL(fileURLWithPath: directory.path).appendingPathComponent("file")
        let size: Int64 = 64 << 20
        #expect(FileManager.default.createFile(atPath: file.path, contents: nil))
        let handle = try FileHandle(forWritingTo: file)
        try handle.truncate(atOffset: UInt64(size))
        try handle.close()
        var form = MultipartForm()
        form.add("file", file: file)
        let running = await RequestQueue().start(.post(try server.url("/sink"), body: .multipart(form)))
        var last = TransferProgress()
        for await progress in running.progress {
            #expect(progress.sent >= last.sent && progress.sent <= progress.toSend)
            last = progress
        }
        let response = try await running.response
        #expect(response.body == Data("\(last.toSend)".utf8) && last.toSend > size)
        #expect(last.sent == last.toSend)
    }

    /// URLSession repeats a request by itself when a connection that it reuses turns out to have ended.
    @Test(arguments: ["close", "reset"]) func `A body is whole when a reused connection ends under it`(
        _ how: String
    ) async throws {
        let server = try await FaultServer()
        let queue = RequestQueue(limits: QueueLimits(maxRunning: 1))
        let content = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) })
        let digest = SHA256Digest.of(content).map { String(Int($0) + 256, radix: 16).dropFirst() }.joined()
        for _ in 0..<6 {
            var request = Request.put(try server.url("/drop", ["how": how]), body: .data(content))
            request.retry.firstPause = .milliseconds(1)
            let echo: Echo = try await queue.send(request).decoded()
            #expect(echo.bytes == content.count && echo.sha256 == digest)
        }
    }
}
