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

    /// Reads the server's keys. Blocks.
    init(_ security: Configuration.Security) throws(Failure) {
        guard let curve = security.curve else {
            self.security = .none
            return
        }
        let keys: CurveKeyPair
        do {
            keys = try CurveKeyFile.read(curve.secretKeyFile)
        } catch {
            throw Failure(.configuration, "security.curve: \(error.description)")
        }
        self.security = .curveServer(secretKey: keys.secretKey, domain: "carillon")
    }

    func of(_ socket: PipelineSocket) -> ZMQSecurity { security.inDomain(of: socket) }
}

extension Configuration {
    /// The clients that may see events, on the sockets that ask for keys. Without keys, whoever can connect.
    var observers: EventBusSettings.Observers {
        security.curve == nil ? .everybody : .withKeys(security.directory.observers)
    }
}
