import FoundationEssentials
import PushGateways
import PushLoop
import PushSimulator
import PushTransport
import PushWire

/// `carillon simulate`: the simulated Apple as a service.
struct SimulateVerb {
    static let verb = Verb(
        name: "simulate", summary: "a simulated Apple push service: HTTP/2, legacy binary, feedback",
        options: [
            Option("host", "IP", "address to listen on (127.0.0.1)"),
            Option("port", "P", "HTTP/2 provider API (2197; 0 for any free port, here and below)"),
            Option("binary-port", "P", "legacy binary gateway (2195)"),
            Option("feedback-port", "P", "feedback service (2196)"),
            Option("control-port", "P", "what it received, faults, devices, over HTTP (8474)"),
            Option("data", "DIR", "where its certificates and keys are kept (./simulator)"),
            Option("environment", "NAME", "production or sandbox (production)"),
            Option("faults", "FILE", "a fault script to begin with (JSON5); GET / on the control port explains it"),
            Option("streams", "N", "streams that a connection may have open (1000)"),
            Option(
                "open-streams",
                "announce all streams from the start, where Apple allows one until the first\nvalid token; for load tools that do not wait for SETTINGS"
            ),
            Option(
                "key", "FILE",
                "take provider tokens of this key too: a public key in PEM, or the .p8 itself, of\nwhich only the public half is used"
            ),
            Option("key-id", "ID", "the id of that key (from the name of the file, AuthKey_ID.p8)"),
            Option("team-id", "ID", "the team of that key (\(SimulatorFiles.teamID))"),
            Option("no-auth", "take requests without a provider token or a certificate"),
            Option("records", "N", "how many requests to remember (1000000)"),
            Option("json", "say the addresses as one line of JSON"),
        ],
        examples: [
            ("carillon simulate", "listen on the usual ports and stay until interrupted"),
            ("carillon simulate --port 0 --json", "on any free ports, for a script"),
            ("curl http://127.0.0.1:8474/received", "ask a running one what it received"),
        ]
    ) { arguments in
        try await SimulateVerb(arguments: arguments).run()
    }

    private let arguments: Arguments

    private func run() async throws -> ExitCode {
        let files = try SimulatorFiles(directory: arguments.text("data") ?? "simulator")
        let options = try Self.options(arguments, files)
        let script = try Self.script(arguments.text("faults"))

        let loop = EventLoop(name: "simulator")
        let stop = StopSignal()
        let service: LoopBound<SimulatorService>
        do {
            service = try await loop.run {
                LoopBound(try SimulatorService(on: loop, options, script: script), on: loop)
            }
        } catch {
            await loop.shutDown()
            throw Failure(.unavailable, "\(error)")
        }
        let signals = await loop.run {
            LoopBound(SignalSource(on: loop, [.terminate, .interrupt]) { _ in stop.ask() }, on: loop)
        }
        let places = await service.with { Places($0, host: options.host) }
        Terminal.output.write(arguments.has("json") ? places.json(files) : places.text(files))

        await stop.wait()
        await signals.with { $0.cancel() }
        await service.stop()
        await loop.shutDown()
        return .done
    }

    private static func options(_ arguments: Arguments, _ files: SimulatorFiles) throws -> SimulatorService.Options {
        var options = SimulatorService.Options(
            identity: files.server, clientTrust: .only([.file(files.authorityPath)]))
        options.expiredIdentity = files.expired
        options.host = arguments.text("host") ?? "127.0.0.1"
        options.providerPort = try arguments.port("port") ?? 2197
        options.binaryPort = try arguments.port("binary-port") ?? 2195
        options.feedbackPort = try arguments.port("feedback-port") ?? 2196
        options.controlPort = try arguments.port("control-port") ?? 8474
        switch arguments.text("environment") ?? "production" {
        case "production": options.environment = .production
        case "sandbox", "development": options.environment = .sandbox
        case let other: throw Failure(.usage, "'--environment' is production or sandbox, not '\(other)'")
        }
        options.settings.keys = [PushSimulator.ProviderKey(keyID: SimulatorFiles.keyID, teamID: SimulatorFiles.teamID)]
        options.publicKeys = [SimulatorFiles.keyID: files.providerKey.publicKey]
        try take(arguments, &options)
        options.settings.streamLimit = UInt32(try arguments.number("streams", in: 1...1_000_000) ?? 1000)
        options.settings.beginsWithOneStream = !arguments.has("open-streams")
        options.settings.requiresAuthentication = !arguments.has("no-auth")
        options.settings.records = try arguments.number("records", in: 0...100_000_000) ?? 1_000_000
        return options
    }

    /// The key of somebody's own configuration, so that it can be tried as it is.
    private static func take(_ arguments: Arguments, _ options: inout SimulatorService.Options) throws(Failure) {
        guard let path = arguments.text("key") else {
            for name in ["key-id", "team-id"] where arguments.text(name) != nil {
                throw Failure(.usage, "'--\(name)' goes with '--key FILE'")
            }
            return
        }
        let key: ES256PublicKey
        do {
            key = try ES256PublicKey(pem: .file(path))
        } catch {
            throw Failure(.badInput, "'--key': \(error)")
        }
        guard let keyID = arguments.text("key-id") ?? ProviderKeyName.keyID(in: path) else {
            throw Failure(
                .usage, "'--key \(path)': the name does not say the key id as AuthKey_ID.p8 does; add --key-id ID")
        }
        let teamID = arguments.text("team-id") ?? SimulatorFiles.teamID
        for id in [keyID, teamID] where !ProviderTokenText.isIdentifier(id) {
            throw Failure(.usage, "'\(id)' is no key id or team id: ten capital letters and digits")
        }
        options.settings.keys.removeAll { $0.keyID == keyID }
        options.settings.keys.append(PushSimulator.ProviderKey(keyID: keyID, teamID: teamID))
        options.publicKeys[keyID] = key
    }

    private static func script(_ path: String?) throws -> FaultScript {
        guard let path else { return FaultScript() }
        guard let text = FileManager.default.contents(atPath: path) else {
            throw Failure(.badInput, "cannot read the fault script \(path): check the path and its permissions")
        }
        do {
            return try FaultScript(Array(text))
        } catch {
            throw Failure(.badInput, "\(path): \(error)")
        }
    }
}
