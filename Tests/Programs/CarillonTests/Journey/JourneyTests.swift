import FoundationEssentials
import TestSupport
import TestTraits
import Testing

/// Tests of `Tools/run` with the program that was built for the tests.
@Suite(.serialized, .waits) struct JourneyTests {
    private static let promises = [
        "A device that Apple reports as gone gets no further requests",
        "Accepted means carried out, even after SIGKILL",
        "Once per device: repeated requests, overlapping audiences, a restart",
        "A crash duplicates at most what was in flight", "Every attempt has the apns-id that anyone can compute",
        "A monitor misses nothing, even across a restart",
    ]

    private static var program: String {
        var path = #filePath.split(separator: "/")
        path.removeLast(5)
        return "/" + path.joined(separator: "/") + "/Tools/run"
    }

    /// The directory for all files and processes of the script.
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func start(_ arguments: [String]) throws -> ChildProcess {
        try ChildProcess("env", ["TMPDIR=\(directory.path)", Self.program] + arguments)
    }

    /// Returns the files and processes that the script left behind.
    private func remains() throws -> [String] {
        let files = try FileManager.default.contentsOfDirectory(atPath: directory.path).filter {
            $0.hasPrefix("carillon-")
        }
        let processes = try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { process in
            let place = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/cwd")
            return place?.hasPrefix(directory.path) == true
        }
        return files + processes
    }

    /// Waits until no files and processes are left. A process that was signaled may end a moment after the script.
    private func endOfAll() async {
        await wait(while: (try? remains()) != [])
    }

    @Test func `Every promise holds, and no files or processes are left behind`() async throws {
        let ended = try await start(["--once", "--binary", ChildProcess.carillon]).end()
        #expect(ended.status == 0, "\(ended.output)\(ended.errors)")
        for promise in Self.promises { #expect(ended.output.contains("  held: \(promise)")) }
        #expect(ended.output.contains("Every promise held"))
        #expect(!ended.output.contains("\u{1b}"), "there are no colors without a terminal")
        await endOfAll()
    }

    @Test func `A duplicate in the record of the push service is reported`() async throws {
        // The push service accepts the first request for this device and does not respond, so it is sent again.
        let faults = try directory.write(
            "faults.json5", containing: "{ rules: [{ match: { request: 2 }, reset: 'INTERNAL_ERROR', times: 1 }] }")
        let wrapped = try directory.write(
            "carillon",
            containing: """
                #!/bin/sh
                if [ "$1" = simulate ]; then set -- "$@" --faults '\(faults)'; fi
                exec '\(ChildProcess.carillon)' "$@"
                """)
        _ = try await ChildProcess.run("chmod", ["+x", wrapped])
        let ended = try await start(["--once", "--binary", wrapped]).end()
        #expect(ended.status == 1, "\(ended.output)\(ended.errors)")
        #expect(ended.output.contains("BROKEN: \(Self.promises[2])"), "\(ended.output)")
        #expect(ended.output.contains("NOT EVERY PROMISE HELD"))
        await endOfAll()
    }

    /// After the walk the script and its processes keep running until they are stopped.
    @Test(arguments: [(15, 143), (2, 0)] as [(CInt, Int32)])
    func `A signal stops all processes and removes all files`(signal: CInt, status: Int32) async throws {
        let running = try start(["--binary", ChildProcess.carillon])
        var shown: [String] = []
        while let line = try await running.line(), !line.hasPrefix("It stays up") { shown.append(line) }
        let ending = shown.suffix(30).joined(separator: "\n")
        #expect(try remains().count > 3, "a directory, and at least three processes, unless it ended:\n\(ending)")
        running.send(signal)
        #expect(try await running.end().status == status)
        await endOfAll()
    }

    @Test(arguments: [
        (["--onec"], "--onec is not an option"), (["--binary"], "Usage:"),
        (["--binary", "no-such-file"], "there is no program no-such-file"),
    ])
    func `Usage errors are explained`(arguments: [String], text: String) async throws {
        let ended = try await start(arguments).end()
        #expect(ended.status == 64)
        #expect(ended.errors.contains(text))
    }
}
