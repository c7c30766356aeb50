import FoundationEssentials
import Glibc
import PushAPI
import PushLoop
import TestSupport
import TestTraits
import Testing

@testable import carillon

/// Tests of `carillon doctor` as a process: each provokes a finding.
@Suite(.waits) struct DoctorTests {
    private struct Report: Decodable {
        struct Item: Decodable {
            let severity: String
            let code: String
            let what: String
            let `where`: String?
            let advice: String?
        }

        let ok: Bool
        let process: String
        let findings: [Item]

        func has(_ severity: Finding.Severity, _ code: Finding.Code, _ words: String = "") -> Bool {
            findings.contains {
                $0.severity == severity.rawValue && $0.code == code.rawValue
                    && (words.isEmpty || $0.what.contains(words))
            }
        }

        /// The codes without those of this machine, which a test cannot change.
        var codes: Set<String> {
            Set(findings.map(\.code)).subtracting(["clock", "memory", "descriptors", "disk_full", "not_running"])
        }
    }

    /// Runs the doctor; offline, unless `options` are given.
    ///
    /// - Parameter prefix: A command that runs it.
    private func examine(_ file: String, _ options: [String] = ["--offline"], prefix: [String] = []) async throws
        -> Report
    {
        let words =
            ["-u", "CARILLON_CONFIG", "-u", "CARILLON_DATA"] + prefix
            + [ChildProcess.carillon, "doctor", "--json", "--config", file] + options
            // More than a busy machine takes, unless the options name a time.
            + (options.contains("--timeout") ? [] : ["--timeout", "10m"])
        let ended = try await ChildProcess.run("env", words)
        #expect(ended.errors == "")
        let report = try JSONDecoder().decode(Report.self, from: Data(ended.output.utf8))
        #expect(ended.status == (report.ok ? 0 : 1), "\(ended.output)")
        #expect(report.ok == !report.findings.contains { $0.severity == "fault" })
        for finding in report.findings {
            #expect(Finding.Code(rawValue: finding.code) != nil && Finding.Severity(rawValue: finding.severity) != nil)
        }
        return report
    }

    private func data(of scene: ServeScene) -> String { "\(scene.directory.path)/data" }

    @Test func `Nothing is wrong with a stopped or running installation`() async throws {
        let scene = try await ServeScene()
        let file = try scene.configure(scene.app("shop"))
        let fresh = try await examine(file, ["--connect"])
        #expect(fresh.ok && fresh.process == "stopped" && fresh.codes == [] && fresh.has(.note, .notRunning))
        // Nothing is made.
        #expect(access(data(of: scene), F_OK) != 0)
        let serve = try await RunningServe(file)
        try await serve.line("connection.up")
        let running = try await examine(file, [])
        #expect(running.ok && running.process == "running" && running.codes == ["backup"], "\(running)")
        #expect(!running.has(.note, .notRunning))
        #expect(running.has(.note, .backup, "has not made a backup"))
        let backup = try await ChildProcess.run(
            ChildProcess.carillon, ["backup", "\(scene.directory.path)/backup", "--config", file])
        #expect(backup.status == 0, "\(backup.errors)")
        let saved = try await examine(file, [])
        #expect(saved.ok && saved.codes == [], "\(saved)")
        #expect(try await serve.stop().status == 0)
    }

    @Test func `Faults of the configuration are listed with their places`() async throws {
        let scene = try await ServeScene()
        let file = try scene.configure(scene.app("shop"), more: "nonsense: 1, dedupe: { window: 7 },")
        let report = try await examine(file)
        #expect(!report.ok && report.has(.fault, .configuration, "nonsense"))
        #expect(report.has(.fault, .configuration, "dedupe.window"))
        #expect(report.findings.first?.code == "configuration")
        let none = try await examine("\(scene.directory.path)/none")
        #expect(none.has(.fault, .configuration, "no such file"))
    }

    @Test func `A port that another process has is a fault`() async throws {
        let scene = try await ServeScene()
        let file = try scene.configure(scene.app("shop"), http: "127.0.0.1:\(scene.simulator.field("provider"))")
        let report = try await examine(file)
        #expect(report.has(.fault, .start, "http.listen") && report.has(.fault, .start, "in use"), "\(report)")
    }

    @Test func `A data directory that every user may write to is a fault`() async throws {
        let scene = try await ServeScene()
        let file = try scene.configure(scene.app("shop"))
        mkdir(data(of: scene), 0o700)
        chmod(data(of: scene), 0o777)
        #expect(try await examine(file).has(.fault, .dataDirectory, "every user may write"))
    }

    @Test func `Files that this user may not use are faults`() async throws {
        let scene = try await ServeScene()
        let file = try scene.configure(scene.app("shop"))
        let serve = try await RunningServe(file)
        #expect(try await serve.stop().status == 0)
        chmod(scene.directory.path, 0o755)
        chmod(scene.simulator.directory.path, 0o755)
        chmod(data(of: scene), 0o755)
        chmod(file, 0o644)
        // As root, another user is tried, because root may use every file.
        if geteuid() != 0 { chmod("\(data(of: scene))/ledger.db", 0) }
        let other = geteuid() == 0 ? ["setpriv", "--reuid", "65534", "--clear-groups"] : []
        let report = try await examine(file, prefix: other)
        #expect(report.has(.fault, .notPermitted, "ledger.db"), "\(report)")
        if geteuid() == 0 { #expect(report.has(.fault, .dataDirectory, "Permission denied"), "\(report)") }
    }

    @Test(arguments: [
        ("size=8m", Finding.Code.diskFull), ("size=200m,nr_inodes=20", .inodesUsedUp), ("size=200m,ro", .diskReadOnly),
    ])
    func `A full or read-only disk is a fault`(_ options: String, _ code: Finding.Code) async throws {
        let scene = try await ServeScene()
        let file = try scene.configure(scene.app("shop"))
        mkdir(data(of: scene), 0o700)
        let mount = "mount -t tmpfs -o mode=700,\(options) tmpfs \"$0\" && exec \"$@\""
        let report = try await examine(
            file,
            prefix: ["unshare", geteuid() == 0 ? "-m" : "-rm", "sh", "-c", mount, data(of: scene)])
        #expect(report.has(.fault, code), "\(report)")
        for other in [Finding.Code.diskFull, .inodesUsedUp, .diskReadOnly] where other != code {
            #expect(!report.has(.fault, other))
        }
    }

    @Test func `Files that are damaged or of a newer version are faults`() async throws {
        let scene = try await ServeScene()
        let file = try scene.configure(scene.app("shop"))
        mkdir(data(of: scene), 0o700)
        _ = try scene.directory.write("data/ledger.db", containing: String(repeating: "x", count: 4096))
        #expect(try await examine(file).has(.fault, .storeDamaged, "ledger.db"))
        var header = Array("SQLite format 3\0".utf8) + [UInt8](repeating: 0, count: 4080)
        header[62] = 3
        _ = try scene.directory.write("data/ledger.db", bytes: header)
        #expect(try await examine(file).has(.fault, .storeVersion, "has version 768"))
    }

    @Test func `A registry that is lost is a fault, and the next start reports it`() async throws {
        let scene = try await ServeScene()
        let file = try scene.configure(scene.app("shop"))
        #expect(try await RunningServe(file).stop().status == 0)
        for end in ["", "-wal", "-shm"] { unlink("\(data(of: scene))/registry.db\(end)") }
        #expect(try await examine(file).has(.fault, .storeDamaged, "registry.db is missing"))
        let serve = try await RunningServe(file)
        try await serve.line("registry.db is missing or empty, devices and API keys are lost")
        #expect(try await examine(file, []).codes == ["backup"])
        #expect(try await serve.stop().status == 0)
    }

    @Test func `A process that has the lock and does not answer is a fault`() async throws {
        let scene = try await ServeScene()
        let file = try scene.configure(scene.app("shop"))
        mkdir(data(of: scene), 0o700)
        let holder = try ChildProcess(
            "flock", ["-F", "\(data(of: scene))/carillon.lock", "sh", "-c", "echo locked; exec sleep 3600"])
        #expect(try await holder.line() == "locked")
        let report = try await examine(file)
        #expect(report.has(.fault, .notAnswering) && report.process == "not_answering", "\(report)")
        holder.send(9)
        _ = try await holder.end()
    }

    @Test func `A crash is reported, and the next run removes the mark`() async throws {
        let scene = try await ServeScene()
        let file = try scene.configure(scene.app("shop"))
        let serve = try await RunningServe(file)
        serve.process.send(9)
        _ = try await serve.process.end()
        #expect(try await examine(file).has(.warning, .crashed))
        #expect(try await RunningServe(file).stop().status == 0)
        #expect(try await examine(file).codes == ["backup"])
    }

    @Test func `Credentials that are missing, expired or open to others are reported`() async throws {
        let scene = try await ServeScene()
        try scene.issue("soon.pem", days: 5, topic: "com.example.soon")
        // A gateway does not load a certificate that has expired.
        try scene.issue("past.pem", days: -1, topic: "com.example.past")
        try scene.issue("open.pem", days: 300, topic: "com.example.open")
        chmod("\(scene.directory.path)/open.pem", 0o644)
        let file = try scene.configure(
            scene.app("soon", credential: "certificate: 'soon.pem'"),
            scene.app("past", credential: "certificate: 'past.pem'"),
            scene.app("open", credential: "certificate: 'open.pem'"),
            scene.app("none", credential: "key: 'none.p8', key_id: 'ABC123DEFG', team_id: 'DEF123GHIJ'"))
        let report = try await examine(file)
        func at(_ app: String) -> [String] {
            report.findings.filter { $0.where == app }.map { "\($0.severity) \($0.code)" }
        }
        #expect(at("soon") == ["warning credential_expires"], "\(report)")
        #expect(at("past").contains { $0.hasPrefix("fault credential") }, "\(report)")
        #expect(at("open") == ["warning secret_permissions"], "\(report)")
        #expect(at("none") == ["fault credential"], "\(report)")
    }

    @Test func `Push services that are unknown, unreachable or refuse the credential are reported`() async throws {
        let scene = try await ServeScene()
        let wrong =
            "key: '\(scene.simulator.field("key"))', key_id: 'WRONG12345', team_id: '\(scene.simulator.field("team_id"))'"
        var apps = [scene.app("shop"), scene.app("wrong", credential: wrong), scene.app("closed", port: "1")]
        apps.append(
            scene.app("unknown").replacing("host: '127.0.0.1'", with: "host: 'push.invalid'"))
        let file = try scene.directory.write(
            "carillon.json5",
            containing: "{ data: 'data', http: { listen: 'off' }, \(ServeScene.anyPorts) apps: { \(apps.joined()) } }")
        let report = try await examine(file, ["--connect", "--timeout", "60s"])
        func codes(_ app: String) -> [String] {
            report.findings.filter { $0.where?.hasPrefix("\(app) ") == true }.map(\.code)
        }
        #expect(codes("shop") == [] && codes("wrong") == ["credential_refused"], "\(report)")
        #expect(codes("closed") == ["unreachable"] && codes("unknown") == ["unreachable"], "\(report)")
        let offline = try await examine(file)
        #expect(offline.codes.isDisjoint(with: ["unreachable", "credential_refused"]), "\(offline)")
    }

    @Test func `A database that cannot be reached is a fault`() async throws {
        let scene = try await ServeScene()
        let file = try scene.configure(
            scene.app("shop"),
            more: "store: 'postgres://carillon@127.0.0.1:1/carillon?sslmode=disable', "
                + "cluster: { node: 'a', listen: 'tcp://127.0.0.1:5580' },")
        let report = try await examine(file, ["--timeout", "10s"])
        #expect(report.has(.fault, .database), "\(report)")
    }

    /// The apps that are not ready. A pause is intended.
    private func notReady(_ report: Report) -> [String?] {
        report.findings.filter { $0.severity == "fault" && $0.code == "not_ready" }.map(\.where)
    }

    @Test func `The state of a running Carillon is examined`() async throws {
        let scene = try await ServeScene()
        let file = try scene.configure(scene.app("shop"), scene.app("closed", port: "1"))
        let serve = try await RunningServe(file)
        try await serve.line("connection.up")
        let pause = try await ChildProcess.run(ChildProcess.carillon, ["pause", "shop", "--config", file])
        #expect(pause.status == 0)
        try scene.configure(
            scene.app("shop"), scene.app("closed", port: "1"),
            more: "dedupe: { window: '2d' }, security: { ipc_mode: '0660' },")
        let report = try await examine(file)
        #expect(report.has(.warning, .paused) && notReady(report) == ["closed"], "\(report)")
        #expect(report.has(.warning, .restartNeeded, "security.ipc_mode"), "\(report)")
        #expect(report.has(.note, .restartNeeded, "dedupe.window"), "\(report)")
        serve.process.send(9)
        _ = try await serve.process.end()
    }

    @Test func `A low limit of open files is noted`() async throws {
        let scene = try await ServeScene()
        let file = try scene.configure(scene.app("shop"))
        let report = try await examine(file, prefix: ["prlimit", "--nofile=512:512"])
        #expect(report.has(.note, .descriptors, "HTTP connections"), "\(report)")
    }

    @Test func `The text names the first thing to do first, and fits a terminal`() async throws {
        let scene = try await ServeScene()
        let file = try scene.configure(scene.app("shop", port: "1"))
        let ended = try await ChildProcess.run(ChildProcess.carillon, ["doctor", "--config", file])
        #expect(
            ended.status == 1 && ended.output.hasPrefix("\(file): Carillon does not run\n\nfault: shop (127.0.0.1:1): ")
        )
        #expect(ended.output.contains("\n  → ") && ended.output.contains("1 fault"))
        let both = try await ChildProcess.run(ChildProcess.carillon, ["doctor", "--offline", "--connect"])
        #expect(both.status == 64)
    }
}
