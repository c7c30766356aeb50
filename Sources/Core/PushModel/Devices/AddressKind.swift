/// What an address is for. One installation of an app may have an address of each kind, and of some kinds several.
package enum AddressKind: String, Sendable, CaseIterable {
    case alert, voip, complication, fileprovider, location, pushtotalk, widget, control, activity
    case pushToStart = "push_to_start"

    /// The number that is stored.
    package var number: UInt8 {
        switch self {
        case .alert: 0
        case .voip: 1
        case .complication: 2
        case .fileprovider: 3
        case .location: 4
        case .pushtotalk: 5
        case .widget: 6
        case .control: 7
        case .pushToStart: 8
        case .activity: 9
        }
    }

    package init?(number: UInt8) {
        guard let kind = Self.allCases.first(where: { $0.number == number }) else { return nil }
        self = kind
    }
}
