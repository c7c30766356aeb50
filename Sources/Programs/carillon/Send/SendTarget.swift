import PushConfiguration
import PushTransport

/// The intake to which `send` submits a message: the one that `--via` names, or the one of the configuration.
struct SendTarget {
    let endpoint: String
    let security: ZMQSecurity
    /// The data directory of the target Carillon; nil if it is not the Carillon of the configuration.
    let directory: String?
    /// Whether the target is the Carillon of the configuration because nothing else is named.
    let isOwn: Bool

    init(_ arguments: Arguments) throws(Failure) {
        if let endpoint = arguments.text("via") {
            guard ["tcp://", "ipc://"].contains(where: { endpoint.hasPrefix($0) && endpoint.count > $0.count }) else {
                throw Failure(
                    .usage, "'--via' must be an endpoint: tcp://127.0.0.1:5560 or ipc:///run/carillon/intake")
            }
            self.endpoint = endpoint
            security = try Self.security(arguments, serverKey: nil)
            // The endpoint may be that of the Carillon of the configuration.
            let here = (try? Configuration.load(file: nil))?.parsed.configuration
            isOwn = false
            directory = here.flatMap { (try? Self.endpoint(of: $0)) == endpoint ? $0.data : nil }
            return
        }
        let configuration = try Failure.converting(
            advice: "or name the intake of a running Carillon with --via ENDPOINT"
        ) { () throws(StartError) in
            try Configuration.load(file: arguments.text("config")).parsed.configuration
        }
        endpoint = try Self.endpoint(of: configuration)
        directory = configuration.data
        isOwn = true
        var serverKey: String?
        if let curve = configuration.security.curve, case .tcp = configuration.intake.router {
            guard arguments.has("key-file") else {
                throw Failure(
                    .usage,
                    "the configuration has security.curve: give --key-file FILE, whose public key is in "
                        + "security.clients")
            }
            if !arguments.has("server-key") { serverKey = try Self.publicKey(of: curve) }
        }
        security = try Self.security(arguments, serverKey: serverKey)
    }

    private static func publicKey(of curve: Configuration.Security.Curve) throws(Failure) -> String {
        try Failure.converting(advice: "or give --server-key, the public key of the server") {
            () throws(StartError) in try CurveKeyFile.read(curve.secretKeyFile).publicKey.z85
        }
    }

    private static func endpoint(of configuration: Configuration) throws(Failure) -> String {
        switch configuration.intake.router {
        case .off:
            throw Failure(
                .configuration, "intake.router is off in the configuration; name an intake with --via ENDPOINT")
        case .ipc: return "\(configuration.intake.router)"
        case .tcp(let endpoint):
            guard endpoint.port != 0 else {
                throw Failure(
                    .configuration,
                    "intake.router has port 0; give the endpoint that 'carillon serve' printed with --via")
            }
            let everywhere = ["*": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"]
            return "tcp://\(HostPort(host: everywhere[endpoint.host] ?? endpoint.host, port: endpoint.port))"
        }
    }

    /// - Parameter serverKey: The server key of the configuration; `--server-key` overrides it.
    private static func security(_ arguments: Arguments, serverKey: String?) throws(Failure) -> ZMQSecurity {
        switch (arguments.text("server-key") ?? serverKey, arguments.text("key-file")) {
        case (nil, nil): return .none
        case (nil, _?): throw Failure(.usage, "'--key-file' needs '--server-key', the public key of the server")
        case (_?, nil): throw Failure(.usage, "'--server-key' needs '--key-file', the keys of this client")
        case (let key?, let file?):
            let keys = try Failure.converting { () throws(StartError) in try CurveKeyFile.read(file) }
            do throws(ZMQError) {
                return .curveClient(keys: keys, serverKey: try CurvePublicKey(z85: key))
            } catch {
                throw Failure(.badInput, "'--server-key': \(error)")
            }
        }
    }
}
