package import Glibc
package import PushModel
package import PushTransport

extension Configuration {
    /// The access rights of ZeroMQ clients. They are needed to bind an endpoint that other machines can reach.
    package struct Security: Sendable, Equatable {
        /// The keys of the server; nil without CURVE, which allows TCP on loopback only.
        package var curve: Curve?
        /// The clients, sorted by name.
        package var clients: [Client] = []
        /// Allows endpoints that other machines can reach without CURVE: everyone there may push and observe.
        package var insecure = false
        /// The permissions of the files of `ipc://` sockets. CURVE never covers these sockets: a process that may write
        /// to the file may push to every app and see every event.
        package var ipcMode = IPCMode.owner

        package enum IPCMode: String, Sendable, CaseIterable {
            case owner = "0600"
            case group = "0660"

            package var bits: mode_t { self == .owner ? 0o600 : 0o660 }
        }

        package struct Curve: Sendable, Equatable {
            /// The file with the server's key pair, made by `carillon keys curve`.
            package var secretKeyFile: String
        }

        package struct Client: Sendable, Equatable {
            /// The name in logs and events. It has the form of an app id.
            package var name: String
            package var publicKey: CurvePublicKey
            /// The apps to which the client may push.
            package var push: [AppID] = []
            /// Whether the client may subscribe to events.
            package var observe = false
        }
    }
}
