import FoundationEssentials
import Glibc
import PushLoop
package import PushTransport

/// A PostgreSQL server of one test, on a free port of the loopback address. It ends with the object, and also if this
/// process is killed. It trusts all clients unless the test gives it other rules.
package final class PostgreSQLServer: Sendable {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    package static let user = "carillon"
    package static let database = "postgres"

    /// The port of the server. It stays reserved while the server is down.
    package var port: UInt16 { reserved.number }
    /// The directory of the server's files.
    package let data: String
    private let directory: WatchedDirectory
    private let reserved: TakenPort

    /// The directory of the server's Unix socket.
    package var socketDirectory: String { directory.path }

    private init(in directory: WatchedDirectory) throws {
        guard let reserved = TakenPort() else { throw Failure(description: "cannot reserve a port: errno \(errno)") }
        self.directory = directory
        self.reserved = reserved
        data = directory.path + "/data"
    }

    deinit {
        directory.killProcesses()
        removeSegment()
    }

    // MARK: Start

    /// Starts a server on a copy of a database that is made once per process.
    ///
    /// - Parameters:
    ///   - settings: Further lines of `postgresql.conf`. The defaults keep what is written safe.
    ///   - certificate: The certificate of the server. Without it, the server does not offer TLS.
    ///   - rules: The lines of `pg_hba.conf`; nil trusts everyone.
    ///   - isOnDisk: Whether its files are on a disk, for measurements.
    package static func start(
        settings: [String: String] = [:], certificate: IssuedCertificate? = nil, rules: [String]? = nil,
        isOnDisk: Bool = false
    ) async throws -> PostgreSQLServer {
        let template = try await PostgreSQLTemplate.shared.path()
        var settings = settings
        return try await started(in: try WatchedDirectory(isOnDisk: isOnDisk)) { server in
            try await check(command(["cp", "-a", template, server.data]))
            if let certificate {
                settings["ssl"] = "on"
                settings["ssl_cert_file"] = try server.write("server.pem", certificate.certificatePEM)
                settings["ssl_key_file"] = try server.write("server.key", certificate.privateKeyPEM)
            }
            try server.append(settings, rules: rules)
        }
    }

    private static func started(
        in directory: WatchedDirectory, _ prepare: (PostgreSQLServer) async throws -> Void
    ) async throws -> PostgreSQLServer {
        let server = try PostgreSQLServer(in: directory)
        try await prepare(server)
        try await server.launch()
        return server
    }

    /// Starts the server again after ``kill()`` or ``stop()``.
    package func launch() async throws {
        let log = directory.path + "/log"
        do {
            try await Self.check(
                Self.command([Self.program("pg_ctl"), "-D", data, "-l", log, "-w", "-t", "86400", "start"]))
        } catch {
            let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            throw Failure(description: "PostgreSQL does not start: \(error): \(text.suffix(2000))")
        }
    }

    private func append(_ settings: [String: String], rules: [String]?) throws {
        var lines = settings
        lines["port"] = "\(port)"
        lines["listen_addresses"] = "127.0.0.1"
        lines["unix_socket_directories"] = directory.path
        let file = data + "/postgresql.conf"
        let old = try String(contentsOfFile: file, encoding: .utf8)
        let text = lines.sorted { $0.key < $1.key }.map { "\($0.key) = '\($0.value)'\n" }.joined()
        _ = try write("data/postgresql.conf", old + text)
        if let rules { _ = try write("data/pg_hba.conf", rules.joined(separator: "\n") + "\n") }
    }

    /// Writes a file that only the server's user can read.
    private func write(_ name: String, _ text: String) throws -> String {
        let file = directory.path + "/" + name
        try text.write(toFile: file, atomically: false, encoding: .utf8)
        chmod(file, 0o600)
        if let user = DatabaseUser.current { chown(file, user.id, user.group) }
        return file
    }

    // MARK: Standby

    /// Makes a standby and waits until it follows. If it is synchronous, commits of this server wait for it from now
    /// on.
    package func standby(named name: String = "standby", isSynchronous: Bool = true) async throws -> PostgreSQLServer {
        let server = try await Self.started(in: try directory.sibling()) { server in
            try await Self.check(
                Self.command([
                    Self.program("pg_basebackup"), "-D", server.data, "-R", "-X", "stream", "-c", "fast", "--no-sync",
                    "-d", "host=127.0.0.1 port=\(self.port) user=\(Self.user)",
                ]))
            try server.append(["cluster_name": name], rules: nil)
        }
        if isSynchronous {
            try await execute("ALTER SYSTEM SET synchronous_standby_names = '\(name)'", "SELECT pg_reload_conf()")
        }
        try await wait(
            until: "EXISTS (SELECT FROM pg_stat_replication WHERE application_name = '\(name)' AND "
                + "\(isSynchronous ? "sync_state = 'sync'" : "state = 'streaming'"))")
        return server
    }

    /// Makes the standby a primary, and waits until it accepts writes.
    package func promote() async throws {
        try await execute("SELECT pg_promote(true, 120)")
        try await wait(until: "NOT pg_is_in_recovery()")
    }

    // MARK: Signals

    private var processes: [pid_t] { WatchedDirectory.processes(in: data) }

    /// Kills all processes of the server at once, as a loss of power does.
    package func kill() async throws {
        while true {
            let processes = processes
            if processes.isEmpty { break }
            for process in processes { Glibc.kill(process, SIGKILL) }
            await pace()
        }
        removeSegment()
        // The killed process may not be reaped yet, and its number in these files would keep the server from starting.
        unlink(data + "/postmaster.pid")
        unlink(directory.path + "/.s.PGSQL.\(port).lock")
    }

    /// Removes the shared memory that a killed server leaves behind, because the system has a limited number of
    /// segments. The number of the segment is in the file of the server.
    private func removeSegment() {
        let lines = (try? String(contentsOfFile: data + "/postmaster.pid", encoding: .utf8))?.split(separator: "\n")
        guard let lines, lines.count > 6, let number = lines[6].split(separator: " ").last.flatMap({ CInt($0) }) else {
            return
        }
        shmctl(number, IPC_RMID, nil)
    }

    /// Stops all processes of the server without ending them. Its connections stay open, and nothing answers.
    package func pause() {
        // The first process may start others until it is stopped.
        for _ in 0..<2 { for process in processes { Glibc.kill(process, SIGSTOP) } }
    }

    package func resume() {
        for process in processes { Glibc.kill(process, SIGCONT) }
    }

    /// Kills one process of the server, such as the backend of a connection.
    package func killProcess(_ process: Int32) {
        if processes.contains(process) { Glibc.kill(process, SIGKILL) }
    }

    /// Ends the server in an orderly way, without waiting for its clients.
    package func stop() async throws {
        try await Self.check(
            Self.command([Self.program("pg_ctl"), "-D", data, "-m", "fast", "-w", "-t", "86400", "stop"]))
    }

    // MARK: SQL

    /// Runs statements through psql, each in a transaction of its own, and returns the rows of the last one.
    @discardableResult
    package func execute(_ statements: String...) async throws -> String {
        var arguments = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", "\(port)"]
        arguments += ["-U", Self.user, "-d", Self.database]
        for statement in statements { arguments += ["-c", statement] }
        let ended = try await ChildProcess.run("psql", arguments)
        guard ended.status == 0 else { throw Failure(description: "psql: \(ended.errors)") }
        return String(ended.output.drop { $0.isNewline }.reversed().drop { $0.isNewline }.reversed())
    }

    /// Waits until a condition holds.
    package func wait(until condition: String) async throws {
        try await TestSupport.wait(while: try await !wasMet(condition))
    }

    /// Looks at the server for a second, so that a state that is soon over is seen.
    private func wasMet(_ condition: String) async throws -> Bool {
        try await execute(
            """
            DO $$ BEGIN
                PERFORM set_config('test.met', 'no', false);
                FOR round IN 1..100 LOOP
                    IF \(condition) THEN
                        PERFORM set_config('test.met', 'yes', false);
                        RETURN;
                    END IF;
                    PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
                END LOOP;
            END $$
            """, "SELECT current_setting('test.met')") == "yes"
    }

    /// Returns a URL of this server, and of others behind it.
    package func url(user: String = user, with others: [PostgreSQLServer] = [], parameters: String = "") -> String {
        let hosts = ([self] + others).map { "127.0.0.1:\($0.port)" }.joined(separator: ",")
        return "postgres://\(user)@\(hosts)/\(Self.database)\(parameters)"
    }

    // MARK: Programs

    /// Returns the path of a program of PostgreSQL: Debian has the programs of servers outside of `PATH`.
    static func program(_ name: String) -> String {
        let root = "/usr/lib/postgresql"
        let versions = ((try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []).compactMap { Int($0) }
        for version in versions.sorted(by: >) {
            let path = "\(root)/\(version)/bin/\(name)"
            if access(path, X_OK) == 0 { return path }
        }
        return name
    }

    static func command(_ words: [String]) -> [String] { DatabaseUser.command(words) }

    static func check(_ words: [String]) async throws {
        // The output of pg_ctl would stay open in the server.
        let quoted = words.map { "'\($0)'" }.joined(separator: " ")
        let log = "/tmp/carillon-test-output-\(getpid())-\(UInt64.random(in: 0 ... .max))"
        defer { unlink(log) }
        let ended = try await ChildProcess.run("sh", ["-c", "cd / && \(quoted) >\(log) 2>&1"])
        guard ended.status == 0 else {
            let output = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            throw Failure(description: "\(words.joined(separator: " ")): status \(ended.status): \(output)")
        }
    }
}
