package import PushModel
package import PushWire

extension PushService {
    package static let apns = PushService(.apns, reasons: .apns, codec: APNsCodec.unconfigured) { path, password, now in
        try KeyFile.read(path, password: password).description(of: path, at: now)
    }
}

extension ServiceDescription {
    package static let apns = ServiceDescription(
        owner: "Apple", address: "token", deliveryID: "apns-id", providerID: "apns-unique-id",
        renewal: "create a new certificate on Apple's developer site, replace the file, and run 'carillon reload'",
        misdirection: "check topic and environment of the app")

    /// The words for the binary protocol, which Apple has ended, and which simulators and private gateways speak.
    static let binaryAPNs: ServiceDescription = {
        var description = apns
        description.wireProtocol = "the binary protocol over TLS"
        description.answers = false
        description.accepted =
            "the service received it and sent no error; the binary protocol has no other confirmation"
        return description
    }()
}

extension APNsSettings {
    package var description: ServiceDescription { wireProtocol == .binary ? .binaryAPNs : .apns }

    /// What tells the app apart at APNs, by the names of its settings.
    package var identity: [(name: String, value: String)] {
        [("topic", topic.text), ("environment", environment.rawValue)]
    }
}
