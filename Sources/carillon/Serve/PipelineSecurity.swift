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
        let keys = try CurveKeyFile.read(curve.secretKeyFile)
        intake = .curveServer(secretKey: keys.secretKey, domain: "intake")
        events = .curveServer(secretKey: keys.secretKey, domain: "events")
        isSecured = true
    }
}

extension Configuration.Security {
    private func clients(_ isIn: (Client) -> Bool) -> ClientDirectory {
        ClientDirectory(
            Dictionary(
                clients.filter(isIn).map { client in
                    (
                        client.publicKey,
                        Rights.Client(name: client.name, push: Set(client.push), observe: client.observe)
                    )
                }, uniquingKeysWith: { first, _ in first }))
    }

    /// All of them: who may push where is said in the answer, which is kinder than a connection that fails.
    var intakeClients: ClientDirectory { clients { _ in true } }

    var eventClients: ClientDirectory { clients(\.observe) }

    /// Without keys whoever can connect may observe.
    var observers: EventBusSettings.Observers {
        curve == nil ? .everybody : .named(Set(clients.filter(\.observe).map(\.name)))
    }
}
