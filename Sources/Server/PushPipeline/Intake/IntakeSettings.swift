package import Glibc
package import PushLoop
package import PushModel
package import PushTransport
package import PushWire

/// The endpoints of intake, and what it accepts there.
package struct IntakeSettings: Sendable {
    /// The endpoint for requests with an ack; nil for none. A change needs a restart.
    package var router: String?
    /// The endpoint for requests without an ack; nil for none. A change needs a restart.
    package var pull: String?
    /// The security of TCP endpoints; file permissions protect an `ipc://` endpoint. A change needs a restart.
    package var security = ZMQSecurity.none
    /// The permissions of the files of `ipc://` endpoints. A change needs a restart.
    package var ipcMode: mode_t = 0o600
    /// The rights of each client. A reload changes them.
    package var rights = Rights()
    /// The configured apps. A reload changes them.
    package var apps: AppTable
    package var limits = PipelineLimits()
    /// The limits for the connections of both sockets together. Above the limit, new connections wait until others have
    /// closed.
    package var connectionLimits = ZMQConnectionLimits(connections: 2048)
    package var connectionEvents: @Sendable (ZMQGuard.Event) -> Void = { _ in }
    /// The limits of each app; an app that is not listed has the default limits. A reload changes them.
    package var appLimits: [AppID: AppLimits] = [:]
    /// How long message ids are remembered. A reload changes it.
    package var window = Duration.seconds(7 * 86_400)
    /// Called on intake's loop when an app has reached a limit, at most once a second for each app and limit.
    package var quotaReached: @Sendable (AppID, AppQuota, _ detail: String) -> Void = { _, _, _ in }
    /// Returns the nodes of the cluster, as the JSON that answers `cluster/1`. Called on intake's loop.
    package var nodes: @Sendable () -> [UInt8] = { Array("{}".utf8) }
    /// The logger for rejected requests; nil for none.
    package var log: Logger?

    package init(router: String? = nil, pull: String? = nil, apps: AppTable) {
        self.router = router
        self.pull = pull
        self.apps = apps
    }

    /// The security of a socket that is bound to `endpoint`, in the socket's own ZAP domain.
    func security(of endpoint: String, for socket: PipelineSocket) -> ZMQSecurity {
        endpoint.hasPrefix("tcp://") ? security.inDomain(of: socket) : .none
    }

    /// The largest frame that is read: one envelope of the maximum size with a margin, or a batch of ten thousand
    /// envelopes of common size. A client that sends a longer frame is disconnected.
    static let maxFrameSize = 40 << 20
}

extension ZMQSecurity {
    var isServer: Bool {
        if case .curveServer = self { true } else { false }
    }

    /// The same keys in the ZAP domain of `socket`. The ZAP handler derives from the domain which right a connection
    /// needs.
    package func inDomain(of socket: PipelineSocket) -> ZMQSecurity {
        if case .curveServer(let secretKey, _) = self {
            .curveServer(secretKey: secretKey, domain: socket.rawValue)
        } else {
            self
        }
    }
}

/// The bound endpoints of intake, with the port numbers that the system chose.
package struct IntakeEndpoints: Sendable, Equatable {
    package let router: String?
    package let pull: String?
}
