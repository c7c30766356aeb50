import PushModel
import PushTransport

/// The settings of a client as they are written, before the rules that combine several of them.
struct ClientDraft: Sendable {
    var publicKey: CurvePublicKey?
    /// The names of apps, which are not checked yet.
    var push: [String]?
    var observe: Bool?

    init(publicKey: CurvePublicKey? = nil, push: [String]? = nil, observe: Bool? = nil) {
        self.publicKey = publicKey
        self.push = push
        self.observe = observe
    }

    init(_ client: Configuration.Security.Client) {
        self.init(publicKey: client.publicKey, push: client.push.map(\.name), observe: client.observe)
    }

    static let settings: [Setting<ClientDraft>] = [
        Setting(
            "public_key", atOptional: \.publicKey, as: .publicKey, applies: .live,
            requirement: ": 40 characters of Z85, from `carillon keys curve`",
            documentation: "The public key, from `carillon keys curve`: 40 characters of Z85. Required."),
        Setting(
            "push", atOptional: \.push, as: .texts, applies: .live,
            documentation: "The apps to which the client may push. Default: none."),
        Setting(
            "observe", atOptional: \.observe, as: .boolean, applies: .live,
            documentation: "Whether the client may subscribe to events and replay them. Default: false."),
    ]
}
