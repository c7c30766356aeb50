import PushLoop
import PushModel
import PushPipeline
import PushTransport

/// Who may reach the sockets of the pipeline, and for what: the keys of `security`, made into what libzmq asks for.
///
/// Intake and events have a ZeroMQ context each, and each context a list of its own of who is let in: to subscribe asks
/// for a right, and a subscription has no answer in which to refuse it.
struct PipelineSecurity: Sendable {
    /// For sockets on TCP.
    let intake: ZMQSecurity
    let events: ZMQSecurity
    let isSecured: Bool

    /// Reads the server's keys. Blocks.
    init(_ security: Configuration.Security) throws(Failure) {
        guard let curve = security.curve else {
            (intake, events, isSecured) = (.none, .none, false)
            return
        }
        let keys: CurveKeyPair
        do {
            keys = try CurveKeyFile.read(curve.secretKeyFile)
        } catch {
            throw Failure(.configuration, "security.curve: \(error.description)")
        }
        intake = .curveServer(secretKey: keys.secretKey, domain: "intake")
        events = .curveServer(secretKey: keys.secretKey, domain: "events")
        isSecured = true
    }
}

extension Configuration.Security {
    /// For the sockets of intake: all of them. Who may push where is said in the answer, which is kinder than a
    /// connection that fails.
    var intakeClients: ClientDirectory { directory }

    /// For the sockets of events.
    var eventClients: ClientDirectory { ClientDirectory(directory.clients.filter(\.value.observe)) }
}

extension Configuration {
    /// Who may ask for events again. Without keys, whoever can connect; and keys are asked for on TCP alone.
    var observers: EventBusSettings.Observers {
        guard security.curve != nil, case .tcp = events.replay else { return .everybody }
        return .named(Set(security.eventClients.users.values))
    }
}
