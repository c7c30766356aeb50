/// The time at which a changed setting takes effect in a running Carillon.
package enum Reload: Sendable, CaseIterable {
    case live, perConnection, restart

    /// The effect of a change, for log lines.
    package var effect: String {
        switch self {
        case .live: "applies now"
        case .perConnection: "applies to new connections"
        case .restart: "needs a restart; until then the old value stays"
        }
    }

    /// The mark of a setting in `Config/carillon.json5`, whose first lines explain it.
    var mark: String {
        switch self {
        case .live: "[live]"
        case .perConnection: "[connection]"
        case .restart: "[restart]"
        }
    }
}
