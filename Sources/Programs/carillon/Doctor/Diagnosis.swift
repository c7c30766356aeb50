import PushAPI
import PushConfiguration
import PushGateways
import PushServer
import PushText
import PushTime

/// The conclusions from facts about an installation. It reads nothing itself.
struct Diagnosis {
    /// The least room of a healthy file system. The ledger writes ahead some 30 MiB, and copies it later.
    static let minDiskBytes: UInt64 = 64 << 20
    static let minInodes: UInt64 = 64
    static let minMemory: UInt64 = 64 << 20
    /// A message that is due waits seconds; after this time something is in the way.
    static let maxWait = Duration.seconds(300)
    static let soon = Duration.seconds(30 * 86_400)
    /// A backup that is older is worth a word.
    static let oldBackup = Duration.seconds(7 * 86_400)

    let facts: DoctorFacts

    /// All findings, in order of weight.
    var findings: [Finding] {
        (configuration + serverCertificate + directory + backup + disk + process + readiness + apps + running + machine)
            .byWeight
    }

    // MARK: Configuration

    private var configuration: [Finding] {
        guard facts.configurationFaults.isEmpty else {
            return facts.configurationFaults.map(configurationFault)
        }
        return startFaults.map { fault in
            // The text of a fault at the start says what to do.
            let isData = facts.directory.map { fault.description.contains("data directory \($0)") } ?? false
            let code: Finding.Code =
                isData && fault.code == .notPermitted
                ? .dataDirectory : fault.code == .configuration ? .configuration : .start
            return Finding(.fault, code, fault.description)
        }
            + facts.configurationWarnings.map { Finding(.warning, .configurationWarning, $0, at: facts.file) }
            + facts.cautions.map { Finding(.warning, .secretPermissions, $0) }
    }

    /// Returns the finding for a fault, whose text may begin with its place in the file.
    private func configurationFault(_ text: String) -> Finding {
        guard let file = facts.file, text.hasPrefix("\(file):"), let end = text.firstRange(of: ": ") else {
            return Finding(.fault, .configuration, text, at: facts.file)
        }
        return Finding(
            .fault, .configuration, String(text[end.upperBound...]), at: String(text[..<end.lowerBound]))
    }

    private var serverCertificate: [Finding] {
        guard let check = facts.serverCertificate, let found = check.finding(at: facts.now) else { return [] }
        return [
            Finding(
                found.isFault ? .fault : .warning, .credentialExpires, found.what, at: check.file,
                advice: ServerCertificateCheck.advice)
        ]
    }

    /// What would prevent a start. If a Carillon runs that cannot be asked, the endpoints are in use by it.
    private var startFaults: [StartError] {
        switch facts.process {
        case .none, .running: facts.startFaults
        case .silent, .forbidden: facts.startFaults.filter { $0.code != .unavailable }
        }
    }

    private var directory: [Finding] {
        let files = [("ledger.db", facts.ledger), ("registry.db", facts.registry)]
        return files.compactMap { name, file -> Finding? in
            let path = facts.directory.map { "\($0)/\(name)" } ?? name
            switch file {
            case .damaged(let why):
                return Finding(
                    .fault, .storeDamaged, "\(name) is damaged: \(why)", at: path,
                    advice: "check the disk, and restore the file from a backup")
            case .unreadable(let why):
                return Finding(
                    .fault, .notPermitted, "cannot read \(name): \(why)", at: path,
                    advice: "run this as the user of Carillon, or as root")
            case .version(let version) where name == "ledger.db" && version > InstallationFacts.newestLedger:
                return Finding(
                    .fault, .storeVersion,
                    "\(name) has version \(version), and this program reads up to \(InstallationFacts.newestLedger)",
                    at: path, advice: "install the version of Carillon that wrote it, or a newer one")
            case .version, .empty, nil: return nil
            }
        }
            + missing
            + facts.databaseFaults.map { Finding(.fault, .database, $0, advice: "see 'carillon store check'") }
            + facts.databaseWarnings.map { Finding(.warning, .database, $0, advice: "see 'carillon store check'") }
    }

    private var missing: [Finding] {
        let hasRun = facts.hasRun || facts.process != .none
        let lost = InstallationFacts.lostFile(ledger: facts.ledger, registry: facts.registry, hasRun: hasRun)
        let (name, file, content) =
            switch lost {
            case .ledger: ("ledger.db", facts.ledger, "waiting messages, outcomes and remembered ids")
            case .registry: ("registry.db", facts.registry, "devices and API keys")
            case nil: ("", nil, "")
            }
        guard lost != nil else { return [] }
        return [
            Finding(
                .fault, .storeDamaged, "\(name) is \(file == nil ? "missing" : "empty"): \(content) are lost",
                at: facts.directory, advice: "restore the directory from a backup; a start only makes an empty file")
        ]
    }

    /// Notes, because somebody may back up by other means, of which Carillon knows nothing.
    private var backup: [Finding] {
        let advice = "make one with 'carillon backup DIR', unless you back up by other means"
        switch facts.lastBackup {
        case .never:
            return [
                Finding(
                    .note, .backup, "'carillon backup' has not made a backup of the data directory",
                    at: facts.directory, advice: advice)
            ]
        case .ended(let time):
            let age = facts.now.milliseconds(since: time) / 1000
            guard age > Self.oldBackup.components.seconds else { return [] }
            return [
                Finding(
                    .note, .backup, "the last 'carillon backup' ended \(KeysShowVerb.distance(-age))",
                    at: facts.directory, advice: advice)
            ]
        case .unknown, nil: return []
        }
    }

    private var disk: [Finding] {
        guard let disk = facts.disk else { return [] }
        var found: [Finding] = []
        if disk.isReadOnly {
            found.append(
                Finding(
                    .fault, .diskReadOnly, "the file system of the data directory is read-only", at: facts.directory,
                    advice: "see the log of the kernel, then mount it writable"))
        }
        // What is left below the least room is full soon; below a twentieth, an operator should know.
        let size = Self.size(disk.availableBytes)
        if disk.availableBytes < Self.minDiskBytes {
            found.append(
                Finding(
                    .fault, .diskFull, "the file system of the data directory has \(size) left", at: facts.directory,
                    advice: "make room, or reduce events.retention.size and reload"))
        } else if disk.availableBytes < disk.sizeBytes / 20 {
            found.append(
                Finding(
                    .warning, .diskFull,
                    "the file system of the data directory has \(size) left of \(Self.size(disk.sizeBytes))",
                    at: facts.directory, advice: "make room, or reduce events.retention.size and reload"))
        }
        if disk.inodes > 0, disk.freeInodes < Self.minInodes {
            found.append(
                Finding(
                    .fault, .inodesUsedUp, "the file system has \(disk.freeInodes) inodes left, so no file can be made",
                    at: facts.directory, advice: "remove files that are not needed"))
        }
        return found
    }

    private static func size(_ bytes: UInt64) -> String { StatsScreen.size(bytes) }

    // MARK: The running Carillon

    private var process: [Finding] {
        switch facts.process {
        case .none:
            guard facts.directory != nil else { return [] }
            let advice = "start it with 'carillon serve', or with the service manager"
            let crashed = Finding(
                .warning, .crashed, "the last Carillon on the data directory did not end in order", at: facts.directory,
                advice: "see its log; the next start sends what is left, and some of it perhaps twice")
            return [
                Finding(
                    .note, .notRunning, "no Carillon runs on the data directory", at: facts.directory, advice: advice)
            ]
                + (facts.hasRunMark ? [crashed] : [])
        case .silent(let why):
            return [
                Finding(
                    .fault, .notAnswering,
                    "a Carillon\(holder) has locked the data directory and does not answer: \(why)",
                    at: facts.directory, advice: "see its log; it may be starting or ending, or its disk may hang")
            ]
        case .forbidden(let why):
            return [Finding(.fault, .notPermitted, why, at: facts.directory)]
        case .running:
            var found: [Finding] = []
            if let version = facts.statistics?.version, version != facts.version {
                found.append(
                    Finding(
                        .warning, .otherVersion,
                        "the running Carillon has version \(version), and this program \(facts.version)",
                        advice: "restart Carillon to run the installed version"))
            } else if facts.isExecutableReplaced {
                found.append(
                    Finding(
                        .warning, .otherVersion, "the program was replaced after Carillon had started",
                        advice: "restart Carillon to run the installed version"))
            }
            return found
        }
    }

    private var holder: String { facts.holder.map { " (process \($0))" } ?? "" }

    private var paused: Set<String> { Set(facts.gateways.filter { $0.pausedAt != nil }.map(\.app)) }

    private var readiness: [Finding] {
        let paused = paused
        // The answer of a push service that was just asked says more than the obstacle.
        let asked = facts.apps.filter { ($0.verdict.map { $0.kind != .accepted } ?? false) || $0.fault != nil }.map(
            \.name)
        let obstacles = (facts.statistics?.obstacles ?? []).filter { obstacle in
            !paused.union(asked).contains { obstacle.hasPrefix("\($0): ") || obstacle.hasPrefix("\($0) ") }
        }
        return obstacles.map(obstacle)
            + facts.gateways.compactMap { gateway in
                gateway.pausedAt.map {
                    Finding(
                        .note, .paused, "an operator has paused the app since \($0.iso8601)", at: gateway.app,
                        advice: "'carillon resume \(gateway.app)' continues")
                }
            }
    }

    /// Returns the finding for an obstacle, whose text has its app first and its advice last.
    private func obstacle(_ text: String) -> Finding {
        let place = (facts.statistics?.apps ?? []).map(\.app).first { text.hasPrefix("\($0): ") }
        let rest = place.map { String(text.dropFirst($0.count + 2)) } ?? text
        guard let end = rest.ranges(of: "; ").last else {
            return Finding(.fault, .notReady, rest, at: place, advice: "see 'carillon stats' and the log")
        }
        return Finding(
            .fault, .notReady, String(rest[..<end.lowerBound]), at: place, advice: String(rest[end.upperBound...]))
    }

    /// The apps for which one finding says why nothing is sent.
    private var blocked: Set<String> { Set((readiness + apps).filter { $0.severity == .fault }.compactMap(\.app)) }

    private var apps: [Finding] {
        facts.apps.flatMap { app -> [Finding] in
            var found: [Finding] = []
            if let fault = app.fault { found.append(Finding(.fault, .credential, fault, at: app.name)) }
            found += app.warnings.map { Finding(.warning, .secretPermissions, $0, at: app.name) }
            if let end = app.expiresAt {
                let left = end.milliseconds(since: facts.now) / 1000
                if left <= 0 {
                    found.append(
                        Finding(
                            .fault, .credentialExpires, "the certificate expired \(KeysShowVerb.distance(left))",
                            at: app.name, advice: app.renewal ?? Self.renewal))
                } else if left < Self.soon.components.seconds {
                    found.append(
                        Finding(
                            .warning, .credentialExpires, "the certificate expires \(KeysShowVerb.distance(left))",
                            at: app.name, advice: app.renewal ?? Self.renewal))
                }
            }
            if let verdict = app.verdict, verdict.kind != .accepted {
                let code: Finding.Code =
                    switch verdict.kind {
                    case .credentialRefused: .credentialRefused
                    case .configuration, .badInput: .credential
                    default: .unreachable
                    }
                let answer = verdict.refusal.map { "\($0.status)\($0.reason.map { " \($0)" } ?? ""): " } ?? ""
                found.append(
                    Finding(
                        .fault, code, "\(answer)\(verdict.meaning)", at: "\(app.name) (\(app.service))",
                        advice: verdict.advice))
            }
            return found
        }
    }

    /// What the running Carillon reports, besides what prevents sending.
    private var running: [Finding] {
        guard let statistics = facts.statistics else { return [] }
        var found: [Finding] = []
        let (paused, blocked) = (paused, blocked)
        for app in statistics.apps {
            let wait = app.oldestWaitingMilliseconds ?? 0
            if wait > Self.maxWait.wholeMilliseconds, !paused.contains(app.app) {
                found.append(
                    Finding(
                        .warning, .backlog,
                        "\(app.waiting ?? 0) messages wait; the oldest has been due for "
                            + PlainText.age(wait / 1000), at: app.app,
                        advice: "see the state of the app in 'carillon scale \(app.app)'; more connections may help"))
            }
            if app.isBrakeOn == true {
                found.append(
                    Finding(
                        .warning, .brake,
                        "too many tokens are rejected: devices are not deactivated until an operator has looked"
                            + Self.deactivated(app),
                        at: app.app,
                        advice: "\(app.brakeAdvice ?? "check the settings of the app"), and 'carillon check --connect'"
                            + Self.reactivation(app)))
            }
            if !blocked.contains(app.app), let metrics = facts.metrics,
                metrics.value("carillon_breaker_open", app: app.app) == 1
            {
                found.append(
                    Finding(
                        .warning, .breaker, "the circuit breaker is open: connections to the push service fail",
                        at: app.app, advice: "see 'carillon scale \(app.app)' for the reason; it retries by itself"))
            }
        }
        found += facts.credentials.filter { !blocked.contains($0.app ?? "") }.compactMap { credential in
            credential.fault.map {
                Finding(
                    credential.state == .inUse ? .warning : credential.state == .kept ? .warning : .fault, .credential,
                    $0, at: credential.app,
                    advice: "correct the files\(credential.app == nil ? "" : " of the app"), and run 'carillon reload'")
            }
        }
        return found + removedApps + configurationInForce + losses
    }

    private static let renewal = "create a new one, replace the file, and run 'carillon reload'"

    private static func deactivated(_ app: StatsAnswer.App) -> String {
        guard let count = app.brakeDeactivated, let since = app.brakeDeactivatedSince else { return "" }
        return "; \(count == 1 ? "1 device was" : "\(count) devices were") deactivated before, since \(since.iso8601)"
    }

    private static func reactivation(_ app: StatsAnswer.App) -> String {
        guard let since = app.brakeDeactivatedSince, let reason = app.brakeReason else { return "" }
        return ", then run 'carillon devices reactivate --app \(app.app) --reason \(reason) --since "
            + "\(since.iso8601) --dry-run', and again without --dry-run"
    }

    /// Messages of apps that are not in the configuration in force, such as after an app got another name.
    private var removedApps: [Finding] {
        guard let statistics = facts.statistics, let all = statistics.backlog?.waiting else { return [] }
        let known = statistics.apps.reduce(UInt64(0)) { $0 + ($1.waiting ?? 0) }
        guard all > known else { return [] }
        return [
            Finding(
                .warning, .backlog, "\(all - known) messages wait for apps that are not in the configuration",
                advice: "see 'carillon messages --state waiting'; add their apps again, or cancel the messages")
        ]
    }

    private var configurationInForce: [Finding] {
        guard let running = facts.running else { return [] }
        let waiting = running.differences
        let restart = waiting.filter { $0.applies == "restart" }.map(\.path)
        let reload = waiting.filter { $0.applies != "restart" }.map(\.path)
        var found: [Finding] = []
        if !restart.isEmpty {
            found.append(
                Finding(
                    .warning, .restartNeeded, "these settings of the file need a restart: \(Self.list(restart))",
                    at: running.file, advice: "restart Carillon"))
        }
        if !reload.isEmpty {
            found.append(
                Finding(
                    .note, .restartNeeded, "these settings of the file are not in force: \(Self.list(reload))",
                    at: running.file, advice: "run 'carillon reload'"))
        }
        return found
    }

    private var losses: [Finding] {
        guard let metrics = facts.metrics else { return [] }
        var found: [Finding] = []
        let lost = metrics.sum("carillon_ledger_events_lost_total")
        if lost > 0 {
            found.append(
                Finding(
                    .warning, .eventsLost,
                    "\(Self.whole(lost)) events were lost since the start, because the ledger could not write them",
                    advice: "check the disk; what these events reported is not in any record"))
        }
        let unheard = metrics.sum("carillon_events_dropped_total")
        if unheard > 0 {
            found.append(
                Finding(
                    .warning, .deafSubscribers,
                    "\(Self.whole(unheard)) events were not published since the start, because subscribers did not read",
                    advice: "find the slow monitor; it can replay what it missed"))
        }
        let acks = metrics.sum("carillon_intake_dropped_acks_total")
        if acks > 0 {
            found.append(
                Finding(
                    .note, .deafSubscribers,
                    "\(Self.whole(acks)) acknowledgments were dropped since the start, because producers had disconnected or "
                        + "did not read", advice: "producers send such messages again, which is safe"))
        }
        return found
    }

    // MARK: Machine

    private var machine: [Finding] {
        var found: [Finding] = []
        if facts.isClockSynchronized == false {
            found.append(
                Finding(
                    .warning, .clock, "no time service keeps the clock of this machine",
                    advice:
                        "run systemd-timesyncd or chrony: push services refuse tokens whose time is wrong by an hour"))
        }
        if let (open, limit) = facts.descriptors, open > limit - limit / 10 {
            found.append(
                Finding(
                    .warning, .descriptors, "Carillon has \(open) of \(limit) files open",
                    advice: "raise LimitNOFILE of its unit, or ulimit -n, and restart it"))
        }
        if let (wanted, allowed) = facts.httpConnections, allowed < wanted {
            found.append(
                Finding(
                    .note, .descriptors,
                    "the limit of open files leaves \(allowed) HTTP connections, and http.connections is \(wanted)",
                    advice: "raise LimitNOFILE of the unit, or ulimit -n, if so many clients connect"))
        }
        if let available = facts.availableMemory, let total = facts.totalMemory,
            available < Self.minMemory || available < total / 50
        {
            found.append(
                Finding(
                    .warning, .memory, "\(Self.size(available)) of memory are available",
                    advice: "end other programs, or reduce dedupe.limit"))
        }
        return found
    }

    private static func whole(_ number: Double) -> String { Int64(exactly: number.rounded()).map { "\($0)" } ?? "many" }

    private static func list(_ paths: [String]) -> String {
        paths.prefix(5).joined(separator: ", ") + (paths.count > 5 ? " and \(paths.count - 5) more" : "")
    }
}
