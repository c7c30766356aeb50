import PushLoop
import PushModel
import PushPipeline
import PushTransport

/// The server's key of `security`, made into what libzmq asks for.
///
/// Each socket has a ZAP domain of its own, by which the ZAP handler knows the right that it asks for.
struct PipelineSecurity: Sendable {
    /// For sockets on TCP: CURVE covers nothing else.
    private let security: ZMQSecurity
    /// What works but is probably not what was meant, each a sentence for the log.
    let warnings: [String]

    var isSecured: Bool {
        if case .curveServer = security { true } else { false }
    }

    /// Reads the server's keys. Blocks.
    init(_ security: Configuration.Security) throws(Failure) {
        guard let curve = security.curve else {
            (self.security, warnings) = (.none, [])
            return
        }
        let keys: CurveKeyPair
        do {
            keys = try CurveKeyFile.read(curve.secretKeyFile)
        } catch {
            throw Failure(.configuration, "security.curve: \(error.description)")
        }
        self.security = .curveServer(secretKey: keys.secretKey, domain: "carillon")
        warnings = SecretFile.cautions([curve.secretKeyFile])
    }

    func of(_ socket: PipelineSocket) -> ZMQSecurity { security.inDomain(of: socket) }
}

extension Configuration {
    /// Who may ask for events again. Without keys, whoever can connect; and keys are asked for on TCP alone.
    var observers: EventBusSettings.Observers {
        guard security.curve != nil, case .tcp = events.replay else { return .everybody }
        return .withKeys(security.directory.observers)
    }
}
