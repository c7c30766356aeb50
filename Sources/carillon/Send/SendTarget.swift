import PushTransport

/// The intake that a message is handed to: the one that `--via` names, or the one of the configuration.
struct SendTarget {
    let endpoint: String
    let security: ZMQSecurity
    /// The data directory of that Carillon, if it is the one of the configuration.
    let directory: String?

    init(_ arguments: Arguments) throws(Failure) {
        if let endpoint = arguments.text("via") {
            guard ["tcp://", "ipc://"].contains(where: { endpoint.hasPrefix($0) && endpoint.count > $0.count }) else {
                throw Failure(.usage, "'--via' wants an endpoint: tcp://127.0.0.1:5560 or ipc:///run/carillon/intake")
            }
            self.endpoint = endpoint
            security = try Self.security(arguments, serverKey: nil)
            // The same Carillon, named by its endpoint.
            let here = (try? Configuration.load(file: nil))?.parsed.configuration
            directory = here.flatMap { (try? Self.endpoint(of: $0)) == endpoint ? $0.data : nil }
            return
        }
        let configuration: Configuration
        do {
            configuration = try Configuration.load(file: arguments.text("config")).parsed.configuration
        } catch {
            throw Failure(error.code, "\(error); or name the intake of a running Carillon with --via ENDPOINT")
        }
        endpoint = try Self.endpoint(of: configuration)
        directory = configuration.data
        var serverKey: String?
        if let curve = configuration.security.curve, case .tcp = configuration.intake.router {
            guard arguments.has("key-file") else {
                throw Failure(
                    .usage,
                    "the Carillon of the configuration asks for keys: --key-file FILE, whose public key is in "
                        + "security.clients")
            }
            if !arguments.has("server-key") { serverKey = try Self.publicKey(of: curve) }
        }
        security = try Self.security(arguments, serverKey: serverKey)
    }

    private static func publicKey(of curve: Configuration.Security.Curve) throws(Failure) -> String {
        do {
            return try CurveKeyFile.read(curve.secretKeyFile).publicKey.z85
        } catch {
            throw Failure(
                error.code, "\(error.description); or give --server-key, the public key of that Carillon")
        }
    }

    private static func endpoint(of configuration: Configuration) throws(Failure) -> String {
        switch configuration.intake.router {
        case .off:
            throw Failure(
                .configuration, "intake.router is off in the configuration; name another intake with --via ENDPOINT")
        case .ipc: return "\(configuration.intake.router)"
        case .tcp(let place):
            guard place.port != 0 else {
                throw Failure(
                    .configuration,
                    "intake.router takes any free port; give the endpoint that 'carillon serve' named with --via")
            }
            let everywhere = ["*": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"]
            return "tcp://\(HostPort(host: everywhere[place.host] ?? place.host, port: place.port))"
        }
    }

    /// - Parameter serverKey: of the configuration; `--server-key` goes first.
    private static func security(_ arguments: Arguments, serverKey: String?) throws(Failure) -> ZMQSecurity {
        switch (arguments.text("server-key") ?? serverKey, arguments.text("key-file")) {
        case (nil, nil): return .none
        case (nil, _?): throw Failure(.usage, "'--key-file' goes with '--server-key': whose intake it is")
        case (_?, nil): throw Failure(.usage, "'--server-key' goes with '--key-file': it wants to know who asks")
        case (let key?, let file?):
            let keys = try CurveKeyFile.read(file)
            do throws(ZMQError) {
                return .curveClient(keys: keys, serverKey: try CurvePublicKey(z85: key))
            } catch {
                throw Failure(.badInput, "'--server-key': \(error)")
            }
        }
    }
}
