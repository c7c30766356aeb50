import JSON5

/// Where a setting comes from.
enum SettingPlace: Hashable, Sendable, CustomStringConvertible {
    case file(String, JSONTree.Place)
    case environment(String)
    case flag(String)

    var description: String {
        switch self {
        case .file(let path, let place): "\(path):\(place.line):\(place.column)"
        case .environment(let name): "environment variable \(name)"
        case .flag(let name): "--\(name)"
        }
    }

    /// Faults are told in the order in which a person meets them.
    fileprivate var rank: (Int, Int, Int, String) {
        switch self {
        case .file(let path, let place): (0, place.line, place.column, path)
        case .environment(let name): (1, 0, 0, name)
        case .flag(let name): (2, 0, 0, name)
        }
    }
}

/// One thing that is wrong with a setting: where, which, what, and what would be right.
struct ConfigurationFault: Hashable, Sendable, CustomStringConvertible {
    let place: SettingPlace
    /// As in `apps.shop.gateway.connections`; empty for the file as a whole.
    let path: String
    let problem: String

    var description: String { "\(place): \(path.isEmpty ? "" : "\(path): ")\(problem)" }

    static func inOrder(_ faults: [ConfigurationFault]) -> [ConfigurationFault] {
        faults.sorted { $0.place.rank < $1.place.rank }
    }
}

/// All that is wrong with a configuration, together.
struct ConfigurationError: Error, Sendable, CustomStringConvertible {
    let faults: [ConfigurationFault]

    var description: String { faults.map(\.description).joined(separator: "\n") }

    /// For a verb that cannot go on with it.
    var failure: Failure {
        let count = faults.count == 1 ? "a fault" : "\(faults.count) faults"
        return Failure(.configuration, "the configuration has \(count):\n\(description)")
    }
}
