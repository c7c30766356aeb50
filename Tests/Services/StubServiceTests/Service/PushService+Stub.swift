import PushGateways
import PushModel
import PushWire

extension PushService {
    static let stub = PushService(.stub, reasons: .stub, codec: StubCodec()) { path, _, _ in
        CredentialFileDescription(
            content: "a key of the stub", facts: [.text("key", "4 characters")], next: "give it to the stub.",
            members: ["holds": "stub_key"])
    }
}

extension ServiceDescription {
    static let stub = ServiceDescription(
        owner: "Stub", address: "name", providerID: "location", renewal: "ask the stub for another key",
        misdirection: "check that the names are those of the app")
}

extension Probe {
    /// Asks the stub with a message to a name that has ended.
    static func stub(of app: AppID) -> Probe {
        Probe(StubScene.delivery(of: app, to: "gone-check")) { outcome in
            guard case .refused(let refusal) = outcome, refusal.reason == .addressEnded else { return nil }
            return Verdict(.accepted, "the stub knows the key, and not the made-up name", refusal: refusal)
        }
    }
}
