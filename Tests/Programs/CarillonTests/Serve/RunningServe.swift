import FoundationEssentials
import PushAPI
import PushLoop
import PushServer
import PushTransport
import TestSupport

@testable import carillon

/// A `carillon serve` process. Its log is merged into its output, so that a test can wait for lines of either.
final class RunningServe {
    let process: ChildProcess
    private(set) var served: StartReport
    private let file: String
    private var lines: [String] = []
    /// The number of lines that were already searched.
    private var place = 0

    static let words = ["env", "-u", "CARILLON_CONFIG", "-u", "CARILLON_DATA", ChildProcess.carillon]

    init(_ file: String, _ arguments: [String] = [], environment: [String] = []) async throws {
        self.file = file
        process = try ChildProcess(
            "sh",
            ["-c", "exec \"$@\" 2>&1", "sh", "env"] + environment + Self.words + ["serve", "--config", file, "--json"]
                + arguments)
        while true {
            guard let line = try await process.line() else {
                throw ChildProcess.NotStarted(description: "serve did not start: \(lines)")
            }
            lines.append(line)
            if line.hasPrefix("{\"apps\"") {
                served = try JSONDecoder().decode(StartReport.self, from: Data(line.utf8))
                return
            }
        }
    }

    /// Waits for the next line of the log that contains all these texts. The lines before it are not searched again.
    @discardableResult
    func line(_ words: String...) async throws -> String {
        while true {
            while place < lines.count {
                place += 1
                if words.allSatisfy({ lines[place - 1].contains($0) }) { return lines[place - 1] }
            }
            guard let next = try await process.line() else {
                throw ChildProcess.NotStarted(description: "serve ended before \(words): \(lines)")
            }
            lines.append(next)
        }
    }

    /// Whether one of the lines that were read so far contains this text.
    func hasSaid(_ words: String) -> Bool { lines.contains { $0.contains(words) } }

    func get(_ path: String) async throws -> (status: String, body: String) {
        let ended = try await ChildProcess.run(
            "curl", ["--silent", "--show-error", "-w", "\n%{http_code}", "\(served.http ?? "")\(path)"])
        let parts = ended.output.split(separator: "\n", omittingEmptySubsequences: false)
        return (parts.last.map(String.init) ?? "", parts.dropLast().joined(separator: "\n"))
    }

    func gateway(_ app: String = "shop", scaledTo range: String? = nil) async throws -> GatewayAnswer {
        let scale = range.map { ["--connections", $0] } ?? []
        let ended = try await ChildProcess.run(
            Self.words[0], Array(Self.words.dropFirst()) + ["scale", app, "--json", "--config", file] + scale)
        return try JSONDecoder().decode(GatewayAnswer.self, from: Data(ended.output.utf8))
    }

    func reload() { process.send(1) }

    /// Sends SIGTERM and waits for the end. The result contains the output that was not read before.
    func stop() async throws -> ChildProcess.Ended {
        process.send(15)
        return try await process.end()
    }
}

/// A simulated Apple push service, and the files of a Carillon that trusts it.
struct ServeScene {
    let simulator: RunningSimulator
    let directory: TemporaryDirectory

    init() async throws {
        simulator = try await RunningSimulator()
        directory = try TemporaryDirectory()
    }

    /// Returns the configuration of an app; the default credential is the provider key of the simulator.
    func app(
        _ name: String, topic: String? = nil, credential: String? = nil, gateway: String = "", port: String? = nil
    ) -> String {
        let key =
            "key: '\(simulator.field("key"))', key_id: '\(simulator.field("key_id"))', "
            + "team_id: '\(simulator.field("team_id"))'"
        return """
            \(name): { topic: '\(topic ?? "com.example.\(name)")', environment: 'production',
              credential: { \(credential ?? key) }, gateway: { \(gateway) },
              endpoint: { host: '127.0.0.1', port: \(port ?? simulator.field("provider")), trust: '\(simulator.field("ca"))' } },
            """
    }

    /// Settings with free ports for all sockets, because tests run in parallel.
    static let anyPorts =
        "intake: { router: 'tcp://127.0.0.1:0', pull: 'tcp://127.0.0.1:0' }, "
        + "events: { publish: 'tcp://127.0.0.1:0', replay: 'tcp://127.0.0.1:0' },"

    /// Writes the configuration and replaces an earlier one.
    @discardableResult
    func configure(_ apps: String..., http: String = "127.0.0.1:0", more: String = "") throws -> String {
        try directory.write(
            "carillon.json5",
            containing: """
                { data: 'data', http: { listen: '\(http)' }, \(Self.anyPorts) \(more)
                  apps: { \(apps.joined(separator: "\n")) } }
                """)
    }

    /// The CA that the simulator trusts.
    var authority: CertificateAuthority {
        get throws {
            let files = simulator.directory.path + "/simulator"
            return try CertificateAuthority(certificate: .file("\(files)/ca.pem"), key: .file("\(files)/ca.key"))
        }
    }

    /// Writes a new client certificate, which replaces an earlier one with that name.
    @discardableResult
    func issue(
        _ name: String = "push.pem", days: Int64 = 300, topic: String = "com.example.shop",
        by other: CertificateAuthority? = nil
    ) throws -> String {
        let authority = try other ?? self.authority
        let now = WallTime.current().milliseconds
        let issued = try authority.issue(
            CertificateRequest(
                commonName: "Push", usage: .client, userID: topic,
                validity: CertificateValidity(
                    notBefore: WallTime(milliseconds: now - 86_400_000),
                    notAfter: WallTime(milliseconds: now + days * 86_400_000 + 3_600_000))))
        return try directory.write(name, containing: issued.certificatePEM + issued.privateKeyPEM)
    }

    /// Writes a server certificate for the HTTP port.
    func issueServer(_ name: String, commonName: String, days: Int64 = 300) throws {
        let now = WallTime.current().milliseconds
        let issued = try authority.issue(
            CertificateRequest(
                commonName: commonName, usage: .server, ipAddresses: ["127.0.0.1"],
                validity: CertificateValidity(
                    notBefore: WallTime(milliseconds: now - 60 * 86_400_000),
                    notAfter: WallTime(milliseconds: now + days * 86_400_000 + 3_600_000))))
        _ = try directory.write(name, containing: issued.certificatePEM + issued.privateKeyPEM)
    }
}
