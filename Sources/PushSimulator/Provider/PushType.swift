/// The values of `apns-push-type`, each with the suffix it asks of the topic ("Sending notification
/// requests to APNs").
package enum PushType: UInt8, CaseIterable, Sendable {
    /// The header is not there: old senders leave it out, and Apple takes what it gets.
    case unspecified
    case alert, background, voip, complication, fileprovider, mdm, location, liveactivity, pushtotalk, widgets, controls

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
        }
    }

    init?(named text: ByteView) {
        // The common ones first, without going through the list.
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

    /// The type whose suffix a topic bears, if any.
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
