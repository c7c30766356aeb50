import PushConfiguration
import PushLoop
import PushPipeline
import PushTransport

/// Who may connect to the ZeroMQ sockets: the contexts of the sockets, their keys, and the handlers that admit clients.
struct PipelineAdmission: Sendable {
    /// Separate contexts for intake and events, so that neither waits for the other's I/O thread.
    let intake: ZMQContext
    let events: ZMQContext
    let security: PipelineSecurity
    let refused: RefusedHandshakes
    private let handlers: [ZAPHandler]

    /// Reads the server's keys, and starts to admit clients.
    static func open(_ configured: Configuration.Security, log: Logger) async throws -> PipelineAdmission {
        let security = try PipelineSecurity(configured)
        let (intake, events) = (try ZMQContext(), try ZMQContext())
        let refused = RefusedHandshakes(configured.directory, log: log)
        do {
            // The handlers are needed without CURVE too, because such sockets are also bound with a ZAP domain.
            let handlers = try [intake, events].map { context in
                try ZAPHandler(
                    in: context, admitting: configured.directory.users, observer: { refused.take($0) },
                    onFailure: { error in
                        log.error("fault in the ZAP thread, which admits ZeroMQ clients", [.error: "\(error)"])
                    })
            }
            return PipelineAdmission(
                intake: intake, events: events, security: security, refused: refused, handlers: handlers)
        } catch {
            await intake.terminate()
            await events.terminate()
            throw error
        }
    }

    /// Admits the clients of a changed configuration. A client without a right cannot reconnect when it returns.
    func admit(_ directory: ClientDirectory) throws {
        for handler in handlers { try handler.admit(directory.users) }
    }

    /// Ends the contexts, when their sockets are closed.
    func end() async {
        await intake.terminate()
        await events.terminate()
    }
}
