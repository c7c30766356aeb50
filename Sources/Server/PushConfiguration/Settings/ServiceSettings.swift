package import APNs
package import FCM
package import PushGateways
package import PushModel
package import PushWire
package import WebPush

/// The settings of an app that belong to its push service.
package enum ServiceSettings: Sendable, Equatable {
    case apns(APNsSettings)
    case fcm(FCMSettings)
    case webPush(WebPushSettings)
}

/// What the app's push service gives for this app. A further service has a case in each.
extension Configuration.App {
    /// The settings of an app at APNs; nil for one of another push service.
    package var apns: APNsSettings? {
        switch service {
        case .apns(let settings): settings
        case .fcm, .webPush: nil
        }
    }

    /// What the refusals of the app's push service mean.
    package var reasons: ReasonTable {
        switch service {
        case .apns: .apns
        case .fcm: .fcm
        case .webPush: .webPush
        }
    }

    /// The words for the app's push service.
    package var serviceDescription: ServiceDescription {
        switch service {
        case .apns(let settings): settings.description
        case .fcm: .fcm
        case .webPush: .webPush
        }
    }

    /// What tells the app apart at its push service, by the names of its settings, such as its topic.
    package var identity: [(name: String, value: String)] {
        switch service {
        case .apns(let settings): settings.identity
        case .fcm(let settings): settings.identity
        case .webPush(let settings): settings.identity
        }
    }

    /// Returns one of these values; nil if apps of this push service do not have it.
    package func identity(_ name: String) -> String? { identity.first { $0.name == name }?.value }

    /// What the connections of the app speak, in one word.
    package var wireProtocol: String {
        switch service {
        case .apns(let settings): settings.wireProtocol.rawValue
        case .fcm, .webPush: "http2"
        }
    }

    /// The largest number of deliveries that the push service takes in a minute; nil if it has no such limit.
    package var deliveriesPerMinute: Int? {
        switch service {
        case .apns, .webPush: nil
        case .fcm(let settings): settings.perMinute
        }
    }

    /// The files of the credential; nil for one that it does not need.
    package var credentialFiles: [String?] {
        switch service {
        case .apns(let settings): settings.credential.paths
        case .fcm(let settings): [settings.serviceAccount]
        case .webPush(let settings): [settings.vapid, settings.formerVAPID]
        }
    }

    /// The credential before its files are read.
    package var credentialSource: CredentialSetting {
        switch service {
        case .apns(let settings): settings.credential.source
        case .fcm(let settings): settings.source
        case .webPush(let settings): settings.source
        }
    }

    /// Returns the credential in a few words.
    ///
    /// - Parameter facts: What the files contain; nil if they cannot be read.
    func credentialLabel(_ facts: CredentialSummary?) -> String {
        switch service {
        case .apns(let settings): settings.credential.label(fingerprint: facts?.fingerprint)
        case .fcm(let settings): settings.label(account: facts?.subject)
        case .webPush(let settings): settings.label(fingerprint: facts?.fingerprint)
        }
    }

    /// What asks the push service whether it accepts the app.
    package var probe: Probe {
        switch service {
        case .apns(let settings): settings.probe(of: id, at: endpoint.host)
        case .fcm: .fcm(of: id)
        case .webPush(let settings): .webPush(hasEndpoint: settings.origins.endpoint != nil)
        }
    }

    /// Whether the endpoint is one of the push service itself, rather than a simulator or a private service.
    private var isAtOwner: Bool {
        switch service {
        case .apns: PushEnvironment.isHostOfApple(endpoint.host)
        case .fcm: FCMSettings.isHostOfGoogle(endpoint.host)
        case .webPush(let settings): settings.origins.endpoint == nil
        }
    }

    /// What the app's push service makes of addresses and messages.
    package var codec: any ServiceCodec {
        switch service {
        case .apns(let settings):
            let usesToken = if case .key = settings.credential { true } else { false }
            return APNsCodec(app: id, topic: settings.topic.text, usesToken: usesToken)
        case .fcm: return FCMCodec()
        case .webPush(let settings): return WebPushCodec(app: id, settings: settings)
        }
    }

    /// The push service in the texts about a trial.
    package var peer: TrialPeer {
        TrialPeer(
            address: endpoint.address.description, isOfOwner: isAtOwner, trust: "\(endpoint.trust)",
            description: serviceDescription, reasons: reasons)
    }
}
