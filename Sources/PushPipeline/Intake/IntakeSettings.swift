package import Glibc
package import PushLoop
package import PushModel
package import PushTransport
package import PushWire

/// Where intake listens, and what it lets in.
package struct IntakeSettings: Sendable {
    /// For requests with an answer; nil: none. Restart.
    package var router: String?
    /// For requests without an answer; nil: none. Restart.
    package var pull: String?
    /// For what is bound to TCP; the permissions of its file guard an `ipc://` endpoint. Restart.
    package var security = ZMQSecurity.none
    /// Permissions of the files of `ipc://` endpoints. Restart.
    package var ipcMode: mode_t = 0o600
    /// Live.
    package var rights = Rights()
    /// Live.
    package var apps: AppTable
    package var limits = PipelineLimits()
    /// Of both sockets together; more connections wait until some have gone.
    package var door = ZMQDoorLimits(connections: 2048)
    package var doorNews: @Sendable (ZMQDoor.News) -> Void = { _ in }
    /// What each app may hold; one that is not named has the standard limits. Live.
    package var appLimits: [AppID: AppLimits] = [:]
    /// How long message ids are remembered. Live.
    package var window = Duration.seconds(7 * 86_400)
    /// Called on intake's loop when an app has reached a limit, at most once a second for each.
    package var quotaReached: @Sendable (AppID, AppQuota, _ detail: String) -> Void = { _, _, _ in }
    /// The log that names rejected requests; nil for none.
    package var log: Logger?

    package init(router: String? = nil, pull: String? = nil, apps: AppTable) {
        self.router = router
        self.pull = pull
        self.apps = apps
    }

    /// What a socket that is bound there asks of its clients, in the socket's own ZAP domain.
    func security(of endpoint: String, for socket: PipelineSocket) -> ZMQSecurity {
        endpoint.hasPrefix("tcp://") ? security.inDomain(of: socket) : .none
    }

    /// An envelope of the largest size that is read, and some more. A batch is ten thousand envelopes of everyday size.
    /// A client that sends a longer frame is disconnected.
    static let maxFrameSize = 40 << 20
}

extension ZMQSecurity {
    var isServer: Bool {
        if case .curveServer = self { true } else { false }
    }

    /// The same keys in the socket's own ZAP domain, by which the ZAP handler knows the right that it asks for.
    package func inDomain(of socket: PipelineSocket) -> ZMQSecurity {
        if case .curveServer(let secretKey, _) = self {
            .curveServer(secretKey: secretKey, domain: socket.rawValue)
        } else {
            self
        }
    }
}

/// Where intake listens, with the ports that the system chose.
package struct IntakeEndpoints: Sendable, Equatable {
    package let router: String?
    package let pull: String?
}
