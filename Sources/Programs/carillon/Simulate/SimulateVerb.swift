import APNs
import FoundationEssentials
import PushGateways
import PushLoop
import PushModel
import PushSimulator
import PushTransport
import PushWire

/// `carillon simulate`: runs a simulated Apple push service.
struct SimulateVerb {
    static let verb = Verb(
        name: "simulate", summary: "run a simulated Apple push service: HTTP/2, legacy binary, feedback",
        options: [
            Option("host", value: "IP", about: "the address to listen on (127.0.0.1)"),
            Option(
                "port", value: "P", about: "the port of the HTTP/2 provider API (2197; 0 for any free port, also below)"
            ),
            Option("binary-port", value: "P", about: "the port of the legacy binary gateway (2195)"),
            Option("feedback-port", value: "P", about: "the port of the feedback service (2196)"),
            Option("store-port", value: "P", about: "the HTTPS port of the App Store's verifyReceipt (none)"),
            Option("fcm-port", value: "P", about: "the HTTP/2 port of Firebase Cloud Messaging (none)"),
            Option(
                "fcm-token-port", value: "P",
                about: "the HTTPS port that gives access tokens for it (any free port)"),
            Option("webpush-port", value: "P", about: "the HTTP/2 port of a push service of browsers (none)"),
            Option("control-port", value: "P", about: "the HTTP port for received requests, faults and devices (8474)"),
            Option("data", value: "DIR", about: "the directory for its certificates and keys (./simulator)"),
            Option(
                "environment", value: "NAME", offers: .choice(PushEnvironment.self),
                about: "production or sandbox (production)"),
            Option(
                "faults", value: "FILE", about: "a fault script to load (JSON5); GET / on the control port explains it"),
            Option("streams", value: "N", about: "the maximum number of open streams per connection (1000)"),
            Option(
                "open-streams",
                about:
                    "announce all streams from the start, where Apple allows one until the first valid token; for load tools that do not wait for SETTINGS"
            ),
            Option(
                "key", value: "FILE",
                about:
                    "accept provider tokens of this key as well: a public key in PEM, or the .p8 file, of which only the public part is used"
            ),
            Option("key-id", value: "ID", about: "the id of that key (from the file name, AuthKey_ID.p8)"),
            Option("team-id", value: "ID", about: "the team of that key (\(SimulatorFiles.teamID))"),
            Option("no-auth", about: "accept requests without a provider token or a certificate"),
            Option("records", value: "N", about: "the number of requests to remember (1000000)"),
            Option("json", about: "print the addresses as one line of JSON"),
        ],
        examples: [
            ("carillon simulate", "listen on the default ports until interrupted"),
            ("carillon simulate --port 0 --json", "listen on a free HTTP/2 port, for a script"),
            (
                "carillon simulate --fcm-port 2443",
                "simulate Firebase Cloud Messaging as well; its service account is simulator/firebase.json"
            ),
            (
                "carillon simulate --webpush-port 2444",
                "simulate Web Push as well; POST /subscriptions on the control port makes subscriptions"
            ),
            ("curl http://127.0.0.1:8474/received", "show the requests that a running simulator received"),
        ]
    ) { arguments in
        try await SimulateVerb(arguments: arguments).run()
    }

    private let arguments: Arguments

    private func run() async throws -> ExitCode {
        var files = try SimulatorFiles(directory: arguments.text("data") ?? "simulator")
        let script = try Self.script(arguments.text("faults"))

        let lookUps = BlockingPool(name: "look-ups", threadCount: 1, queueLimit: 64)
        let options = try Self.options(arguments, files: files, resolver: NameResolver(pool: lookUps))
        let loop = EventLoop(name: "simulator")
        let stop = Latch()
        let fcm = try Self.fcm(arguments, files: files, host: options.host)
        if fcm?.account.isNew == true { files.made.append(SimulatorAccount.name) }
        let webPush = try Self.webPush(arguments, files: files, host: options.host)
        let service: LoopBound<SimulatorService>
        do {
            service = try await loop.run {
                let service = try SimulatorService(on: loop, options: options, script: script)
                do {
                    service.fcm = try fcm?.open(on: loop)
                    service.webPush = try webPush.map { try WebPushService(on: loop, options: $0) }
                } catch {
                    service.stop()
                    throw error
                }
                return LoopBound(service, on: loop)
            }
        } catch {
            await loop.shutDown()
            throw Failure(.unavailable, "\(error)")
        }
        let signals = await loop.run {
            LoopBound(SignalSource(on: loop, signals: [.terminate, .interrupt]) { _ in stop.open() }, on: loop)
        }
        let addresses = await service.with { SimulatorAddresses($0, host: options.host) }
        Terminal.output.write(arguments.has("json") ? addresses.json(files) : addresses.text(files))

        await stop.wait()
        await signals.with { $0.cancel() }
        await service.stop()
        await loop.shutDown()
        await lookUps.shutDown()
        return .done
    }

    private static func options(
        _ arguments: Arguments, files: SimulatorFiles, resolver: NameResolver
    ) throws -> SimulatorService.Options {
        var options = SimulatorService.Options(
            identity: files.server, clientTrust: .only([.file(files.authorityPath)]))
        options.expiredIdentity = files.expired
        options.host = arguments.text("host") ?? "127.0.0.1"
        options.providerPort = try arguments.port("port") ?? 2197
        options.binaryPort = try arguments.port("binary-port") ?? 2195
        options.feedbackPort = try arguments.port("feedback-port") ?? 2196
        options.controlPort = try arguments.port("control-port") ?? 8474
        options.resolver = resolver
        options.storePort = try arguments.port("store-port")
        do {
            options.store = try StoreSignature(root: files.authority)
        } catch {
            throw Failure(.unavailable, "\(error)")
        }
        switch arguments.text("environment") ?? "production" {
        case "production": options.environment = .production
        case "sandbox", "development": options.environment = .sandbox
        case let other: throw Failure(.usage, "'--environment' must be production or sandbox, not '\(other)'")
        }
        options.settings.keys = [PushSimulator.ProviderKey(keyID: SimulatorFiles.keyID, teamID: SimulatorFiles.teamID)]
        options.publicKeys = [SimulatorFiles.keyID: files.providerKey.publicKey]
        try addKey(arguments, to: &options)
        options.settings.streamLimit = UInt32(try arguments.number("streams", in: 1...1_000_000) ?? 1000)
        options.settings.beginsWithOneStream = !arguments.has("open-streams")
        options.settings.requiresAuthentication = !arguments.has("no-auth")
        options.settings.records = try arguments.number("records", in: 0...100_000_000) ?? 1_000_000
        return options
    }

    /// The simulated FCM with its account.
    private struct FCM: Sendable {
        let account: SimulatorAccount
        let options: FCMService.Options

        /// Listens, and writes the file of the account with the address of its token endpoint.
        func open(on loop: EventLoop) throws -> FCMService {
            let service = try FCMService(on: loop, options: options)
            do {
                try account.write(tokenAddress: service.audience)
            } catch {
                service.stop()
                throw error
            }
            return service
        }
    }

    /// Returns the simulated FCM; nil without `--fcm-port`.
    private static func fcm(_ arguments: Arguments, files: SimulatorFiles, host: String) throws -> FCM? {
        guard let port = try arguments.port("fcm-port") else {
            if arguments.has("fcm-token-port") { throw Failure(.usage, "'--fcm-token-port' needs '--fcm-port'") }
            return nil
        }
        let account = try SimulatorAccount(directory: files.directory)
        var options = FCMService.Options(identity: files.server, account: account.account)
        options.host = host
        options.port = port
        options.tokenPort = try arguments.port("fcm-token-port") ?? 0
        return FCM(account: account, options: options)
    }

    /// Returns the options of the simulated push service of browsers; nil without `--webpush-port`.
    private static func webPush(
        _ arguments: Arguments, files: SimulatorFiles, host: String
    ) throws -> WebPushService.Options? {
        guard let port = try arguments.port("webpush-port") else { return nil }
        var options = WebPushService.Options(identity: files.server)
        options.host = host
        options.port = port
        return options
    }

    /// Adds the key that `--key` names, so that a user can test an existing configuration unchanged.
    private static func addKey(_ arguments: Arguments, to options: inout SimulatorService.Options) throws(Failure) {
        guard let path = arguments.text("key") else {
            for name in ["key-id", "team-id"] where arguments.text(name) != nil {
                throw Failure(.usage, "'--\(name)' needs '--key FILE'")
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
                .usage,
                "'--key \(path)': the file name does not contain the key id, as AuthKey_ID.p8 does; give --key-id ID")
        }
        let teamID = arguments.text("team-id") ?? SimulatorFiles.teamID
        for id in [keyID, teamID] where !ProviderTokenText.isIdentifier(id) {
            throw Failure(.usage, "'\(id)' is not a key id or team id: 10 capital letters and digits")
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
