import FoundationEssentials
import JSON5
import PushLoop
import PushSimulator
import PushTransport
import TestSupport
import Testing

/// Runs `carillon simulate` as a process, and verbs that connect to it. All output of the verbs is searched for secrets.
struct TrialScene {
    static let token = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"
    static let password = "s3same-4711"

    let simulator: RunningSimulator
    private let secrets: Secrets

    init(_ arguments: [String] = []) async throws {
        simulator = try await RunningSimulator(arguments)
        secrets = Secrets(files: [simulator.field("key"), simulator.field("certificate")])
    }

    var directory: TemporaryDirectory { simulator.directory }
    var trust: String { simulator.field("ca") }

    /// The options for the app, without its credential and port.
    var place: [String] {
        ["--topic", "com.example.shop", "--environment", "production", "--host", "127.0.0.1", "--trust", trust]
    }
    var key: [String] {
        place + ["--port", simulator.field("provider"), "--key", simulator.field("key"), "--team-id", "CARILLON01"]
    }
    var certificate: [String] {
        place + ["--port", simulator.field("provider"), "--certificate", simulator.field("certificate")]
    }
    var binary: [String] {
        place + ["--port", simulator.field("binary"), "--certificate", simulator.field("certificate"), "--binary"]
    }
    var device: [String] { ["--token", Self.token] }

    /// Runs a verb. If it connects, it has more time than it takes on a busy machine, unless the arguments name a time.
    func carillon(_ arguments: [String], input: String? = nil) async throws -> ChildProcess.Ended {
        let connects = ["send", "channels"].contains(arguments.first) || arguments.contains("--connect")
        let time = connects && !arguments.contains("--timeout") ? ["--timeout", "10m"] : []
        return try await secrets.run(arguments + time, directory: directory.path, input: input)
    }

    func send(_ arguments: [String], input: String? = nil) async throws -> ChildProcess.Ended {
        try await carillon(["send"] + arguments, input: input)
    }

    func tell(_ method: String, _ path: String, _ body: String) async throws {
        let ended = try await ChildProcess.run(
            "curl", ["--silent", "--fail-with-body", "-X", method, "--data", body, "\(simulator.control)\(path)"])
        try #require(ended.status == 0, "\(ended.output)")
    }

    func fault(_ rule: String) async throws {
        try await tell("PUT", "/faults", "{ rules: [{ \(rule) }] }")
    }
}

/// Secrets that no verb may print.
struct Secrets: Sendable {
    private let lines: [String]

    /// Reads the private keys of PEM files.
    init(files: [String]) {
        lines = files.flatMap { path -> [String] in
            let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
            return text.split(separator: "\n").drop { !$0.hasSuffix("PRIVATE KEY-----") }.dropFirst()
                .prefix { !$0.hasPrefix("-") }.map(String.init)
        }
    }

    var isEmpty: Bool { lines.isEmpty }

    func run(_ arguments: [String], directory: String, input: String? = nil) async throws -> ChildProcess.Ended {
        let clean = ["-u", "CARILLON_CONFIG", "-u", "CARILLON_DATA"]
        var words = clean + [ChildProcess.carillon] + arguments
        if let input {
            words = clean + ["sh", "-c", "printf %s \"$0\" | \"$@\"", input, ChildProcess.carillon] + arguments
        }
        let ended = try await ChildProcess.run("env", words, directory: directory)
        let said = (ended.output + ended.errors).lowercased()
        for secret in lines.map({ String($0.prefix(24)) }) + [
            TrialScene.password, String(TrialScene.token.prefix(16)),
            // The beginning of the header of a provider token.
            Data("{\"alg\":".utf8).base64EncodedString().replacing("=", with: ""),
            Data(Hex.decode(TrialScene.token)!).base64EncodedString(),
        ] {
            #expect(!said.contains(secret.lowercased()), "\(arguments.prefix(2)) printed a secret")
        }
        #expect(!said.contains("\u{1b}"))
        return ended
    }
}

/// Returns the object that `--json` prints, and checks that there is only one.
func object(_ ended: ChildProcess.Ended) throws -> JSONTree {
    #expect(ended.output.hasSuffix("}\n") && ended.output.utf8.count { $0 == 10 } == 1, "\(ended.output)")
    let tree = try JSON5Reader.read(Array(ended.output.utf8))
    #expect(tree.members != nil)
    return tree
}

extension JSONTree {
    var strings: [String]? { elements?.compactMap(\.string) }
}

/// Runs a simulated Apple push service in this process, with settings that the command line does not offer.
func withApple(
    key: ES256PrivateKey, settings change: (inout SimulatorService.Options) -> Void,
    _ body: (_ port: String, _ trust: String, TemporaryDirectory) async throws -> Void
) async throws {
    let certificates = TestCertificates.shared
    let directory = try TemporaryDirectory()
    let trust = try directory.write("ca.pem", containing: certificates.authority.certificatePEM)
    _ = try directory.write("AuthKey_ABC123DEFG.p8", containing: key.pem)
    var options = SimulatorService.Options(identity: certificates.serverIdentity, clientTrust: certificates.trust)
    options.settings.keys = [ProviderKey(keyID: "ABC123DEFG", teamID: "DEF123GHIJ")]
    options.publicKeys = ["ABC123DEFG": key.publicKey]
    change(&options)
    let loop = EventLoop(name: "apple")
    let (service, port) = try await loop.run { [options] in
        let service = try SimulatorService(on: loop, options: options)
        return (LoopBound(service, on: loop), service.providerAddress!.port)
    }
    let outcome: Result<Void, any Error>
    do {
        outcome = .success(try await body("\(port)", trust, directory))
    } catch {
        outcome = .failure(error)
    }
    await service.stop()
    await loop.shutDown()
    try outcome.get()
}
