/// What a device token is for. An installation of an app has a token of each kind that it uses, and Apple accepts only
/// notifications whose topic fits the kind.
package enum TokenKind: String, CaseIterable, Sendable {
    case alert, voip, complication, fileprovider, location, pushtotalk, widget, control
    /// Starts Live Activities.
    case pushToStart = "push_to_start"
    /// Updates one Live Activity, and dies with it.
    case activity

    /// Whether notifications with this suffix of the topic fit. Nil: the topic is the bundle id alone.
    func takes(_ suffix: PushType?) -> Bool {
        switch self {
        case .alert: suffix == nil || suffix == .accessory
        case .voip: suffix == .voip
        case .complication: suffix == .complication
        case .fileprovider: suffix == .fileprovider
        case .location: suffix == .location
        case .pushtotalk: suffix == .pushtotalk
        case .widget: suffix == .widgets
        case .control: suffix == .controls
        case .pushToStart, .activity: suffix == .liveactivity
        }
    }

    /// The number of bytes of a new token. The tokens of Live Activities are longer than the others, as Apple's are.
    var length: Int {
        switch self {
        case .pushToStart, .activity: 80
        default: 32
        }
    }
}
