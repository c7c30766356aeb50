import PushConfiguration
import PushLoop
import PushModel
import PushPipeline
import PushTransport

/// The security settings of the ZeroMQ sockets, made from the server's key in `security`.
///
/// Each socket has its own ZAP domain, from which the ZAP handler derives the right that the socket requires.
struct PipelineSecurity: Sendable {
    /// The security of sockets on TCP; CURVE does not cover others.
    private let security: ZMQSecurity

    /// Reads the server's keys. It blocks.
    init(_ security: Configuration.Security) throws(StartError) {
        guard let curve = security.curve else {
            self.security = .none
            return
        }
        let keys: CurveKeyPair
        do {
            keys = try CurveKeyFile.read(curve.secretKeyFile)
        } catch {
            throw StartError(.configuration, "security.curve: \(error.description)")
        }
        self.security = .curveServer(secretKey: keys.secretKey, domain: "carillon")
    }

    func of(_ socket: PipelineSocket) -> ZMQSecurity { security.inDomain(of: socket) }
}

extension Configuration {
    /// The clients that may receive events. Without CURVE, every client that can connect may.
    var observers: EventBusSettings.Observers {
        security.curve == nil ? .everybody : .withKeys(security.directory.observers)
    }
}
