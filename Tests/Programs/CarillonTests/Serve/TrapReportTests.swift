import Glibc
import TestSupport
import TestTraits
import Testing

@testable import carillon

/// Tests of the last line of a process that a trap ends.
@Suite(.waits) struct TrapReportTests {
    @Test(arguments: [SIGILL, SIGABRT, SIGSEGV])
    func `A trap leaves a line with the last request, without what is secret in it`(_ signal: CInt) async throws {
        let scene = try await ServeScene()
        // Where Swift is installed, its own report of a crash comes in place of this one.
        let serve = try await RunningServe(
            try scene.configure(scene.app("shop")), environment: ["SWIFT_BACKTRACE=enable=no"])
        let token = String(repeating: "5ec7e7", count: 10) + "5ec7"
        #expect(try await serve.get("/v1/devices/\(token)?user=5ec7e7").status == "401")
        serve.process.send(signal)
        let ended = try await serve.process.end()
        #expect(ended.status == 128 + signal)
        let line = try #require(ended.output.split(separator: "\n").last { $0.contains("ends by signal") })
        #expect(line.hasPrefix("carillon: the process ends by signal \(signal) (SIG"), "\(line)")
        #expect(line.contains("the thread ") && line.contains("GET /v1/devices/{device}"), "\(line)")
        #expect(!line.contains("5ec7e7"), "\(line)")
    }
}
