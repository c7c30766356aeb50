import Glibc
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
        /// Permissions of the files of `ipc://` sockets, which CURVE never covers: whoever may write to the file may push
        /// to every app and see every event. Default `0600`, the user that Carillon runs as; `0660`: its group as well.
        /// Restart.
        var ipcMode = IPCMode.owner

        enum IPCMode: String, Sendable, CaseIterable {
            case owner = "0600"
            case group = "0660"

            var bits: mode_t { self == .owner ? 0o600 : 0o660 }
        }

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
