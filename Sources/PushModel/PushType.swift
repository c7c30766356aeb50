/// What kind of notification it is: `apns-push-type`. Which topic, size and priorities go with it follows from it.
package enum PushType: String, CaseIterable, Sendable {
    case alert, background, voip, complication, fileprovider, mdm, location, liveactivity, pushtotalk, widgets, controls

    /// Its place in tables: 0 and up.
    package var number: Int {
        switch self {
        case .alert: 0
        case .background: 1
        case .voip: 2
        case .complication: 3
        case .fileprovider: 4
        case .mdm: 5
        case .location: 6
        case .liveactivity: 7
        case .pushtotalk: 8
        case .widgets: 9
        case .controls: 10
        }
    }

    /// What follows the bundle id in `apns-topic`. An MDM topic is the UID of its certificate and has no suffix.
    package var topicSuffix: String {
        switch self {
        case .alert, .background, .mdm: ""
        case .voip: ".voip"
        case .complication: ".complication"
        case .fileprovider: ".pushkit.fileprovider"
        case .location: ".location-query"
        case .liveactivity: ".push-type.liveactivity"
        case .pushtotalk: ".voip-ptt"
        case .widgets: ".push-type.widgets"
        case .controls: ".push-type.controls"
        }
    }

    /// `apns-topic` of this type for an app. For MDM the id is the topic itself, the UID of the certificate's subject.
    package func topic(of bundleID: String) -> String { bundleID + topicSuffix }

    /// The largest payload in bytes when it goes to a device.
    package var payloadLimit: Int { self == .voip ? 5120 : 4096 }

    package static let broadcastPayloadLimit = 5120

    /// Background must be 5, 10 is an error; the power-aware default of the others is 10.
    package var defaultPriority: PushPriority { self == .background ? .five : .ten }

    package var allowedPriorities: [PushPriority] { self == .background ? [.five, .one] : PushPriority.allCases }

    /// These need a provider token: a certificate cannot carry their topics.
    package var needsProviderToken: Bool { self == .location }
}

/// `apns-priority`: 10 at once, 5 when it suits the battery, 1 never wakes the device.
package enum PushPriority: UInt8, CaseIterable, Sendable {
    case ten = 10
    case five = 5
    case one = 1
}
