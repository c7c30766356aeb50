package import APNs
package import PushModel
package import PushWire

/// The settings of an app that belong to its push service.
package enum ServiceSettings: Sendable, Equatable {
    case apns(APNsSettings)
}

extension Configuration.App {
    /// The settings of an app at APNs.
    package var apns: APNsSettings {
        switch service {
        case .apns(let settings): settings
        }
    }

    /// What the refusals of the app's push service mean.
    package var reasons: ReasonTable {
        switch service {
        case .apns: .apns
        }
    }

    /// What the app's push service makes of addresses and messages.
    package var codec: any ServiceCodec {
        switch service {
        case .apns(let settings):
            let usesToken = if case .key = settings.credential { true } else { false }
            return APNsCodec(app: id, topic: settings.topic.text, usesToken: usesToken)
        }
    }
}
