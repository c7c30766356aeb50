import Glibc
import Synchronization
import Testing

@testable import PushLoop

@Suite struct LoggerTests {
    @Test("Text lines have columns") func lineForPeopleHasColumns() throws {
        let capture = try LineCapture()
        let logger = Logger("tls", to: LogOutput(capture, format: .text(colors: false)))
        logger.info(
            "connected", [.host: "api.example.com", .port: 443, .duration: Duration.microseconds(12_340), .size: 17])
        logger.warning("slow answer", [.reason: "no room left", .count: LogValue.bytes(4311)])
        #expect(
            capture.text == """
                2026-03-01T09:30:00.250Z INFO    tls        connected host=api.example.com port=443 duration=12.3ms size=17
                2026-03-01T09:30:00.250Z WARNING tls        slow answer reason="no room left" count=4311 B

                """)
    }

    @Test func `Lines for the journal begin with a priority and have no time`() throws {
        let capture = try LineCapture()
        let logger = Logger("tls", to: LogOutput(capture, format: .journal, level: .debug))
        logger.log(.debug, "resumed")
        logger.info("connected", [.port: 443])
        logger.notice("rotated")
        logger.warning("slow answer")
        logger.error("not\nreadable")
        #expect(
            capture.text == """
                <7>DEBUG   tls        resumed
                <6>INFO    tls        connected port=443
                <5>NOTICE  tls        rotated
                <4>WARNING tls        slow answer
                <3>ERROR   tls        not\\nreadable

                """)
    }

    @Test func `The journal is recognized by the device and the inode of the descriptor`() throws {
        let (first, second) = (try LineCapture(), try LineCapture())
        var status = stat()
        #expect(fstat(first.descriptor, &status) == 0)
        let name = "\(status.st_dev):\(status.st_ino)"
        #expect(JournalStream.isStream(name, descriptor: first.descriptor))
        #expect(!JournalStream.isStream(name, descriptor: second.descriptor))
        #expect(!JournalStream.isStream(name, descriptor: -1))
        #expect(!JournalStream.isStream("", descriptor: first.descriptor))
    }

    @Test("Colors are written only when requested") func colorsOnlyWhenRequested() throws {
        let plain = try LineCapture()
        Logger("a", to: LogOutput(plain, format: .text(colors: false))).error("x")
        #expect(!plain.text.contains("\u{1B}"))
        let colored = try LineCapture()
        Logger("a", to: LogOutput(colored, format: .text(colors: true))).error("x")
        #expect(colored.text.contains("\u{1B}[31mERROR  \u{1B}[0m"))
        #expect(LogFormat.text(for: plain.descriptor) == .text(colors: false))
    }

    @Test("A JSON line is one object") func lineForMachinesIsOneObject() throws {
        let capture = try LineCapture()
        let logger = Logger("intake", to: LogOutput(capture, format: .json)).with([.connection: 7])
        logger.notice(
            "drained \(3) sockets",
            [
                .host: "a\"b\\c", .duration: Duration.milliseconds(1500), .count: -2, .size: LogValue.bytes(9),
                .values: ["x", "y"], .reason: Double.nan, .error: SystemError(number: 2),
                .suppressed: true, .attempt: LogValue.time(testTime),
            ])
        #expect(
            capture.text == #"""
                {"ts":"2026-03-01T09:30:00.250Z","level":"notice","subsystem":"intake","message":"drained 3 sockets",\#
                "connection":7,"host":"a\"b\\c","duration":1.5,"count":-2,"size":9,"values":["x","y"],"reason":"nan",\#
                "error":"No such file or directory (errno 2)","suppressed":true,"attempt":"2026-03-01T09:30:00.250Z"}

                """#)
    }

    @Test("A disabled level evaluates nothing") func disabledLevelEvaluatesNothing() throws {
        let capture = try LineCapture()
        let output = LogOutput(capture, format: .json, level: .notice)
        let logger = Logger("x", to: output)
        var evaluated = 0
        func message() -> LogMessage {
            evaluated += 1
            return "evaluated"
        }
        func fields() -> LogFields {
            evaluated += 1
            return [.count: 1]
        }
        logger.log(.trace, message(), fields())
        logger.log(.debug, message(), fields())
        logger.info(message(), fields())
        #expect(evaluated == 0)
        #expect(capture.text.isEmpty)
        logger.notice(message(), fields())
        #expect(evaluated == 2)
        output.level = .debug
        logger.log(.debug, message(), fields())
        #expect(evaluated == 4)
        #expect(capture.lines.count == 2)
    }

    @Test("Levels are ordered and named") func levelsAreOrderedAndNamed() {
        #expect(LogLevel.allCases == LogLevel.allCases.sorted())
        for level in LogLevel.allCases { #expect(LogLevel(name: level.name) == level) }
        #expect(LogLevel(name: "loud") == nil)
    }

    @Test("Lines of many threads do not mix") func linesOfManyThreadsStayWhole() async throws {
        let capture = try LineCapture()
        let output = LogOutput(capture, format: .text(colors: false))
        await withTaskGroup { group in
            for task in 0..<8 {
                group.addTask {
                    let logger = Logger("task\(task)", to: output)
                    for number in 0..<250 { logger.info("line", [.count: number, .connection: task]) }
                }
            }
        }
        let lines = capture.lines
        #expect(lines.count == 2000)
        #expect(Set(lines).count == 2000)
        #expect(lines.allSatisfy { $0.hasPrefix("2026-03-01T09:30:00.250Z INFO    task") })
        #expect(output.lostLineCount == 0)
    }

    @Test("Lost lines are counted") func lostLinesAreCounted() throws {
        let output = LogOutput(
            sink: LogSink(descriptor: -1), format: .json, level: .info, limit: nil,
            clock: { (testTime, MonotonicTime(nanoseconds: 0)) })
        Logger("x", to: output).info("nowhere")
        #expect(output.lostLineCount == 1)
    }

    @Test("The rate limit reports suppressed lines") func rateLimitSaysWhatItLeftOut() throws {
        let capture = try LineCapture()
        let now = Atomic<Int64>(0)
        let output = LogOutput(
            sink: LogSink(descriptor: capture.descriptor), format: .text(colors: false), level: .info,
            limit: LogRateLimit(lines: 2, interval: .seconds(1)),
            clock: { (testTime, MonotonicTime(nanoseconds: now.load(ordering: .relaxed))) })
        let logger = Logger("x", to: output)
        func noisy() { logger.warning("again") }
        for _ in 0..<50 { noisy() }
        logger.info("another place")
        #expect(capture.lines.count == 3)
        now.store(1_000_000_000, ordering: .relaxed)
        noisy()
        let lines = capture.lines
        #expect(lines.count == 5)
        let report = "WARNING x          log lines suppressed by the rate limit: 48 like \"again\" suppressed=48"
        #expect(lines[3].contains(report))
        #expect(lines[4].hasSuffix("again"))
        for _ in 0..<5 { noisy() }
        output.flushSuppressed()
        #expect(capture.lines.last?.contains("suppressed by the rate limit: 4 like \"again\"") == true)
        let count = capture.lines.count
        output.flushSuppressed()
        #expect(capture.lines.count == count)
    }

    @Test("Log keys are validated") func keysAreChecked() async {
        #expect(LogKey("apns_id").name == "apns_id")
        await #expect(processExitsWith: .failure) { _ = LogKey("With Space") }
        await #expect(processExitsWith: .failure) { _ = LogKey("level") }
    }
}
