/// The values of `apns-push-type`, each with the topic suffix that it requires ("Sending notification requests to
/// APNs").
package enum PushType: UInt8, CaseIterable, Sendable {
    /// The header is missing. Old senders omit it, and Apple accepts such requests.
    case unspecified
    case alert, background, voip, complication, fileprovider, mdm, location, liveactivity, pushtotalk, widgets, controls
    case accessory

    package var name: StaticString {
        switch self {
        case .unspecified: ""
        case .alert: "alert"
        case .background: "background"
        case .voip: "voip"
        case .complication: "complication"
        case .fileprovider: "fileprovider"
        case .mdm: "mdm"
        case .location: "location"
        case .liveactivity: "liveactivity"
        case .pushtotalk: "pushtotalk"
        case .widgets: "widgets"
        case .controls: "controls"
        case .accessory: "accessory"
        }
    }

    var topicSuffix: StaticString? {
        switch self {
        case .unspecified, .alert, .background, .mdm: nil
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

    init?(named text: ByteView) {
        // Check the common types first, without a search through all cases.
        if text.equals("alert") {
            self = .alert
        } else if text.equals("background") {
            self = .background
        } else if let known = Self.allCases.first(where: { $0 != .unspecified && text.equals($0.name) }) {
            self = known
        } else {
            return nil
        }
    }

    /// The type whose suffix a topic has; nil if there is none.
    init?(suffixOf topic: ByteView) {
        guard
            let known = Self.allCases.first(where: {
                guard let suffix = $0.topicSuffix else { return false }
                return topic.hasSuffix(suffix)
            })
        else { return nil }
        self = known
    }

    var payloadLimit: Int { self == .voip ? 5120 : 4096 }
}
