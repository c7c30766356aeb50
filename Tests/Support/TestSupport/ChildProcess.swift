import FoundationEssentials
import Glibc
import PushLoop

/// A program that a test starts, communicates with and waits for. It is killed if the object is released while it runs.
///
/// It uses `posix_spawn`, because Foundation's `Process` leaks memory at each start, which leak checks report.
package final class ChildProcess: @unchecked Sendable {
    // The conformance is unchecked: a test uses the process from one task at a time, and reading blocks on separate
    // threads.

    package struct Ended: Sendable {
        /// The exit code, or 128 plus the signal number.
        package let status: Int32
        package let output: String
        package let errors: String
    }

    package struct NotStarted: Error, CustomStringConvertible {
        package let description: String

        package init(description: String) {
            self.description = description
        }
    }

    private static let pool = BlockingPool(name: "child", threadCount: 32, queueLimit: 256)

    private let process: pid_t
    /// The number of the process.
    package var number: Int32 { process }
    private let output: CInt
    private let errors: CInt
    private var pending: [UInt8] = []
    private var hasEnded = false

    /// The path of the `carillon` program that this package built, next to the running tests.
    package static var carillon: String {
        var path = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &path, path.count - 1)
        let executable = String(decoding: path.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return executable[..<(executable.lastIndex(of: "/") ?? executable.startIndex)] + "/carillon"
    }

    /// Returns the path of a program in `PATH`; nil if it is not installed.
    package static func path(of program: String) -> String? {
        guard let list = getenv("PATH") else { return nil }
        return String(cString: list).split(separator: ":").map { "\($0)/\(program)" }.first { access($0, X_OK) == 0 }
    }

    /// A lock that prevents the start of a child between the creation of a pipe and the setting of its close-on-exec
    /// flag.
    private static let starting = Locked(())

    private static func makePipe(_ ends: inout [CInt]) -> Bool {
        starting.withLock { _ in
            pipe(&ends) == 0 && ends.allSatisfy { fcntl($0, F_SETFD, FD_CLOEXEC) == 0 }
        }
    }

    /// Starts a program with empty standard input.
    package init(_ program: String, _ arguments: [String], directory: String? = nil) throws {
        guard let path = program.contains("/") ? program : Self.path(of: program) else {
            throw NotStarted(description: "\(program) is not installed; Tools/setup installs what the tests need")
        }
        var outputEnds: [CInt] = [0, 0]
        var errorEnds: [CInt] = [0, 0]
        // The pipes are marked close-on-exec; otherwise a child of another test would keep these ends open.
        guard Self.makePipe(&outputEnds), Self.makePipe(&errorEnds) else {
            throw NotStarted(description: "cannot create a pipe: \(SystemError.current)")
        }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, outputEnds[1], 1)
        posix_spawn_file_actions_adddup2(&actions, errorEnds[1], 2)
        // Threads of a task pool block signals, and a child would inherit that. It must receive its SIGTERM.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        // Starting any server makes the test process ignore SIGPIPE, and a child would inherit that.
        var pipes = none
        sigaddset(&pipes, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &pipes)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        let (start, rest) = directory.map { ("/usr/bin/env", ["-C", $0, path] + arguments) } ?? (path, arguments)
        var words = ([start] + rest).map { strdup($0) } + [nil]
        defer { words.forEach { free($0) } }
        var process: pid_t = 0
        let result = Self.starting.withLock { _ in
            posix_spawn(&process, start, &actions, &attributes, &words, environ)
        }
        close(outputEnds[1])
        close(errorEnds[1])
        guard result == 0 else {
            close(outputEnds[0])
            close(errorEnds[0])
            throw NotStarted(description: "cannot start \(path): \(SystemError(number: result))")
        }
        self.process = process
        output = outputEnds[0]
        errors = errorEnds[0]
    }

    deinit {
        if !hasEnded {
            kill(process, SIGKILL)
            waitpid(process, nil, 0)
        }
        close(output)
        close(errors)
    }

    package func send(_ signal: CInt) {
        kill(process, signal)
    }

    /// Returns the next line of the output without the line break; nil at the end.
    package func line() async throws -> String? {
        try await Self.pool.run {
            while true {
                if let end = self.pending.firstIndex(of: UInt8(ascii: "\n")) {
                    let line = String(decoding: self.pending[..<end], as: UTF8.self)
                    self.pending.removeSubrange(...end)
                    return line
                }
                let bytes = Self.read(self.output)
                if bytes.isEmpty { return nil }
                self.pending += bytes
            }
        }
    }

    /// Waits for the program to end, and returns its status with the output that was not read yet.
    package func end() async throws -> Ended {
        async let errorText = Self.pool.run { Self.readAll(self.errors) }
        let outputText = try await Self.pool.run { Self.readAll(self.output) }
        let status = try await Self.pool.run {
            var status: CInt = 0
            while waitpid(self.process, &status, 0) < 0, errno == EINTR {}
            return status
        }
        hasEnded = true
        let whole = String(decoding: pending, as: UTF8.self) + outputText
        return Ended(
            status: status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f), output: whole,
            errors: try await errorText)
    }

    /// Runs a program to its end.
    package static func run(_ program: String, _ arguments: [String], directory: String? = nil) async throws -> Ended {
        try await ChildProcess(program, arguments, directory: directory).end()
    }

    private static func read(_ descriptor: CInt) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &bytes, bytes.count)
            if count >= 0 { return Array(bytes[..<count]) }
            if errno != EINTR { return [] }
        }
    }

    private static func readAll(_ descriptor: CInt) -> String {
        var all: [UInt8] = []
        while true {
            let bytes = read(descriptor)
            if bytes.isEmpty { return String(decoding: all, as: UTF8.self) }
            all += bytes
        }
    }
}

/// A temporary directory of one test, deleted when the object is released.
package final class TemporaryDirectory: Sendable {
    package let path: String

    package init() throws {
        var template = Array("/tmp/carillon-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw ChildProcess.NotStarted(description: "cannot create a temporary directory: \(SystemError.current)")
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    package func write(_ name: String, containing text: String) throws -> String {
        try write(name, bytes: Array(text.utf8))
    }

    package func write(_ name: String, bytes: [UInt8]) throws -> String {
        let file = "\(path)/\(name)"
        guard let stream = fopen(file, "we") else {
            throw ChildProcess.NotStarted(description: "cannot write \(file): \(SystemError.current)")
        }
        // Tests write keys and passwords with this function, and the program warns if others can read such files.
        fchmod(fileno(stream), 0o600)
        fwrite(bytes, 1, bytes.count, stream)
        fclose(stream)
        return file
    }
}
