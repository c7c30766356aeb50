import FoundationEssentials
import PushAPI
import PushConfiguration
import PushLoop
import PushModel
import PushServer
import PushTime
import PushTransport

/// Gathers the facts about an installation. It changes nothing, and each step has a time limit.
struct Examination {
    /// The configuration that the user named.
    let file: String?
    let data: String?
    /// Whether push services and the database are contacted.
    let isOnline: Bool
    /// Whether the push service is asked to accept each credential.
    let probes: Bool
    let timeout: Duration
    /// The time for an answer of the running Carillon.
    let answerTime: Duration

    func facts() async -> DoctorFacts {
        var facts = DoctorFacts()
        let configuration = readConfiguration(&facts)
        facts.isClockSynchronized = InstallationFacts.isClockSynchronized
        facts.memory = InstallationFacts.memory
        let zones = TimeZoneDirectory(environment: ProcessInfo.processInfo.environment)
        facts.zones = (zones.path, zones.read().zones.count)
        if let directory = facts.directory {
            facts.disk = InstallationFacts.disk(of: directory)
            if configuration?.store == nil {
                facts.ledger = InstallationFacts.storedFile("\(directory)/ledger.db")
                facts.registry = InstallationFacts.storedRegistry(in: directory)
                if facts.ledger != nil { facts.lastBackup = BackupRecord(in: directory).last }
            }
            facts.hasRunMark = InstallationFacts.hasRunMark(in: directory)
            facts.hasRun = InstallationFacts.hasRun(in: directory)
            await askRunning(in: directory, &facts)
        }
        if let configuration {
            await examineApps(configuration, &facts)
            if isOnline, configuration.store != nil { await examineDatabase(&facts) }
        }
        return facts
    }

    private func readConfiguration(_ facts: inout DoctorFacts) -> Configuration? {
        facts.directory = try? Configuration.dataDirectory(flag: data, file: file)
        do {
            let (path, parsed) = try Configuration.load(file: file, flags: data.map { ["data": $0] } ?? [:])
            let configuration = parsed.configuration
            facts.file = path
            facts.directory = configuration.data
            facts.configuration.warnings = parsed.warnings.map(\.description)
            facts.cautions = StartCheck(configuration).cautions
            facts.startFaults = StartCheck.faults(of: configuration)
            facts.serverCertificate = ServerCertificateCheck(configuration.http)
            if configuration.http.listen != nil {
                let wanted = configuration.http.connections
                let allowed = InstallationFacts.httpConnections(descriptors: DescriptorLimit.raise(), wanted: wanted)
                facts.httpConnections = (wanted, allowed)
            }
            return configuration
        } catch {
            facts.file = ConfigurationFile.locate(flag: file, environment: ProcessInfo.processInfo.environment)
            // Several faults are below a line that counts them, and each begins with its place.
            let lines = error.description.split(separator: "\n").map(String.init)
            facts.configuration.faults = lines.count > 1 ? Array(lines.dropFirst()) : lines
            return nil
        }
    }

    // MARK: The running Carillon

    private func askRunning(in directory: String, _ facts: inout DoctorFacts) async {
        let client = APIClient(dataDirectory: directory, deadline: answerTime)
        let holder = InstallationFacts.holder(of: directory)
        do {
            facts.runningVersion = try await client.ask("GET", at: "/v1/stats", for: StatsAnswer.self).version
            facts.process = .running
        } catch let error as APIClientError {
            facts.process =
                switch error.code {
                case .notPermitted: .forbidden(error.description)
                case .notRunning where holder == nil: .none
                case .notRunning: .silent("its control socket is not open", holder: holder?.id)
                default: .silent(error.description, holder: holder?.id)
                }
            return
        } catch {
            facts.process = .silent("\(error)", holder: holder?.id)
            return
        }
        let list = try? await client.ask("GET", at: "/v1/findings", for: FindingList.self)
        facts.found =
            list?.findings
            ?? [
                Finding(
                    .warning, .notAnswering, "the running Carillon does not tell what it finds", advice: "see its log")
            ]
        if let id = holder?.id {
            facts.isExecutableReplaced = InstallationFacts.isExecutableReplaced(of: id) ?? false
            facts.descriptors = InstallationFacts.descriptors(of: id)
            if let limit = facts.descriptors?.limit, let (wanted, _) = facts.httpConnections {
                let allowed = InstallationFacts.httpConnections(descriptors: UInt64(clamping: limit), wanted: wanted)
                facts.httpConnections = (wanted, allowed)
            }
        }
    }

    // MARK: Outside

    private func examineApps(_ configuration: Configuration, _ facts: inout DoctorFacts) async {
        var checks = configuration.apps.map { AppCheck($0, timeout: timeout, now: facts.now, warnsOfExpiry: false) }
        if isOnline {
            checks = await CheckVerb.connect(checks, timeout: timeout) { app in probes ? app.probe : .connection }
        }
        facts.apps = checks.map { check in
            var app = DoctorFacts.App(name: check.app.id.name, service: check.app.address)
            app.fault = check.fault
            app.warnings = check.warnings
            app.expiresAt = check.gateway?.credentialEnd
            app.renewal = check.app.serviceDescription.renewal
            app.verdict = check.verdict
            return app
        }
    }

    private func examineDatabase(_ facts: inout DoctorFacts) async {
        do {
            let report = try await StoreCommand.report(file: file)
            facts.database.faults = report.faults.map(HiddenPassword.line)
            facts.database.warnings = report.warnings.map(HiddenPassword.line)
        } catch {
            facts.database.faults = [HiddenPassword.line("\(error)")]
        }
    }
}
