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
    /// A backup that is older is worth a word.
    static let oldBackup = Duration.seconds(7 * 86_400)

    let facts: DoctorFacts

    /// All findings, in order of weight.
    var findings: [Finding] {
        let own = configuration + serverCertificate + directory + backup + disk + process + apps + machine
        return (own + running(beside: own)).byWeight
    }

    // MARK: Configuration

    private var configuration: [Finding] {
        guard facts.configuration.faults.isEmpty else {
            return facts.configuration.faults.map(configurationFault)
        }
        return startFaults.map { fault in
            // The text of a fault at the start says what to do.
            let isData = facts.directory.map { fault.description.contains("data directory \($0)") } ?? false
            let code: Finding.Code =
                isData && fault.code == .notPermitted
                ? .dataDirectory : fault.code == .configuration ? .configuration : .start
            return Finding(.fault, code, fault.description)
        }
            + facts.configuration.warnings.map { Finding(.warning, .configurationWarning, $0, at: facts.file) }
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
            case .foreign(let what, let remedy):
                return Finding(.fault, .storeDamaged, what, at: facts.directory, advice: remedy)
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
            + facts.database.faults.map { Finding(.fault, .database, $0, advice: "see 'carillon store check'") }
            + facts.database.warnings.map { Finding(.warning, .database, $0, advice: "see 'carillon store check'") }
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
                    .note, .backup, "the last 'carillon backup' ended \(DurationText.distance(-age))",
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
        case .silent(let why, let holder):
            let holder = holder.map { " (process \($0))" } ?? ""
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
            if let version = facts.runningVersion, version != facts.version {
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

    /// Returns what the running Carillon finds, without what was found out here as well: the answer of a push service that
    /// was just asked says more.
    private func running(beside own: [Finding]) -> [Finding] {
        let blocked = Set(own.filter { $0.severity == .fault }.compactMap(\.app))
        return facts.found.filter { found in
            let isCovered = blocked.contains(found.app ?? "") && Self.ofConnection.contains(found.code)
            return !isCovered && !own.contains { $0.code == found.code && $0.place == found.place }
        }
    }

    private static let ofConnection: Set<Finding.Code> = [.notReady, .credential, .breaker]

    private var apps: [Finding] {
        facts.apps.flatMap { app -> [Finding] in
            var found: [Finding] = []
            if let fault = app.fault { found.append(Finding(.fault, .credential, fault, of: app.name)) }
            found += app.warnings.map { Finding(.warning, .secretPermissions, $0, of: app.name) }
            if let end = app.expiresAt,
                let expiry = Finding.expiry(of: app.name, at: nil, end, now: facts.now, renewal: app.renewal)
            {
                found.append(expiry)
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
                        .fault, code, "\(answer)\(verdict.meaning)", of: app.name,
                        at: "\(app.name) (\(app.service))", advice: verdict.advice))
            }
            return found
        }
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
        if let (directory, count) = facts.zones, count == 0 {
            found.append(
                Finding(
                    .note, .timeZones, "there is no time zone database: messages with at_local are refused",
                    at: directory, advice: "install tzdata, and reload"))
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
        if let (available, total) = facts.memory, available < Self.minMemory || available < total / 50 {
            found.append(
                Finding(
                    .warning, .memory, "\(Self.size(available)) of memory are available",
                    advice: "end other programs, or reduce dedupe.limit"))
        }
        return found
    }
}
