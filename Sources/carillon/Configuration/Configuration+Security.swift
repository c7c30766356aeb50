import PushModel
import PushTransport

extension Configuration {
    /// Who may come in over ZeroMQ. Needed to bind anything that other machines can reach.
    struct Security: Sendable, Equatable {
        /// Default none: no CURVE, and TCP on loopback only.
        var curve: Curve?
        /// In the order of their names. Live.
        var clients: [Client] = []
        /// Binds what other machines can reach without CURVE: anybody there may push. Default false. Restart.
        var insecure = false

        struct Curve: Sendable, Equatable {
            /// File with the server's key pair, made by `carillon keys curve`. Restart.
            var secretKeyFile: String
        }

        struct Client: Sendable, Equatable {
            /// What logs and events call it: of the form of an app id.
            var name: String
            /// 40 characters of Z85. Live.
            var publicKey: CurvePublicKey
            /// The apps it may push to. Default none. Live.
            var push: [AppID] = []
            /// Whether it may subscribe to events. Default false. Live.
            var observe = false
        }
    }
}
