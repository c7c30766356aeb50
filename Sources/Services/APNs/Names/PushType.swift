package import PushModel

/// The kind of a notification, the value of `apns-push-type`. It determines the topic, the size limit and the
/// priorities.
package enum PushType: String, CaseIterable, Sendable {
    case alert, background, voip, complication, fileprovider, mdm, location, liveactivity, pushtotalk, widgets, controls
    case accessory

    /// The index in tables, from 0, and the number of the message type.
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
        case .accessory: 11
        }
    }

    /// The part of `apns-topic` after the bundle id. An MDM topic is the UID of its certificate and has no suffix.
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
        case .accessory: ".push-type.accessory"
        }
    }

    /// Returns the `apns-topic` of this type for an app. For MDM the id is the topic itself, the UID of the
    /// certificate's subject.
    package func topic(of bundleID: String) -> String { bundleID + topicSuffix }

    /// The largest size in bytes of a payload that goes to a device.
    package var payloadLimit: Int { self == .voip ? 5120 : 4096 }

    package static let broadcastPayloadLimit = 5120

    /// The priority if the producer gives none: 5 for background, where 10 is an error; 10 for the others.
    package var defaultPriority: PushPriority { self == .background ? .five : .ten }

    package var allowedPriorities: [PushPriority] { self == .background ? [.five, .one] : PushPriority.allCases }

    /// The kind of the addresses of this type. A Live Activity is updated by an address of its own; another one starts it.
    package var kind: AddressKind {
        switch self {
        case .alert, .background, .mdm, .accessory: .alert
        case .voip: .voip
        case .complication: .complication
        case .fileprovider: .fileprovider
        case .location: .location
        case .liveactivity: .activity
        case .pushtotalk: .pushtotalk
        case .widgets: .widget
        case .controls: .control
        }
    }

    /// Whether the type needs a provider token, because a certificate cannot cover its topic.
    package var needsProviderToken: Bool { self == .location }
}

extension PushType {
    /// The push type that a message has. A message of another service, whose app was given to APNs since, counts as an
    /// alert.
    package init(_ type: MessageType) {
        let number = Int(type.number)
        self = number < Self.numbered.count ? Self.numbered[number] : .alert
    }

    private static let numbered = PushType.allCases
}

extension MessageType {
    package init(_ type: PushType) {
        self.init(UInt8(type.number), word: type.rawValue, defaultPriority: type.defaultPriority)
    }
}
