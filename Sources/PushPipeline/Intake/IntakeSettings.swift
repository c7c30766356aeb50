package import PushTransport
package import PushWire

/// Where intake listens, and what it lets in.
package struct IntakeSettings: Sendable {
    /// For requests with an answer; nil: none. Restart.
    package var router: String?
    /// For requests without an answer; nil: none. Restart.
    package var pull: String?
    /// For what is bound to TCP. Restart.
    package var security = ZMQSecurity.none
    /// Whether `security` holds for `ipc://` as well, which the rights on its directory guard otherwise. Restart.
    package var securesIPC = false
    /// Live.
    package var rights = Rights()
    /// Live.
    package var apps: AppTable
    package var limits = PipelineLimits()

    package init(router: String? = nil, pull: String? = nil, apps: AppTable) {
        self.router = router
        self.pull = pull
        self.apps = apps
    }

    /// What a socket that is bound there asks of its clients.
    func security(of endpoint: String) -> ZMQSecurity {
        endpoint.hasPrefix("tcp://") || (securesIPC && endpoint.hasPrefix("ipc://")) ? security : .none
    }

    /// The largest audience is a hundred thousand tokens of a hundred bytes: 20 MB of envelope. A batch is ten thousand
    /// envelopes of everyday size.
    static let maxFrameSize = 96 << 20
}

extension ZMQSecurity {
    var isServer: Bool {
        if case .curveServer = self { true } else { false }
    }
}

/// Where intake listens, with the ports that the system chose.
package struct IntakeEndpoints: Sendable, Equatable {
    package let router: String?
    package let pull: String?
}
