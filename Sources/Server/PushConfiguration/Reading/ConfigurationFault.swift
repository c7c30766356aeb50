package import JSON5

/// The origin of a setting: a position in the file, an environment variable or a flag.
package enum SettingOrigin: Hashable, Sendable, CustomStringConvertible {
    case file(String, JSONTree.Place)
    case environment(String)
    case flag(String)

    package var description: String {
        switch self {
        case .file(let path, let position): "\(path):\(position.line):\(position.column)"
        case .environment(let name): "environment variable \(name)"
        case .flag(let name): "--\(name)"
        }
    }

    /// The sort key of faults: the file from top to bottom, then variables, then flags.
    fileprivate var rank: (Int, Int, Int, String) {
        switch self {
        case .file(let path, let position): (0, position.line, position.column, path)
        case .environment(let name): (1, 0, 0, name)
        case .flag(let name): (2, 0, 0, name)
        }
    }
}

/// A problem with one setting: its position, its path, and a text that says what is wrong and what would be right.
package struct ConfigurationFault: Hashable, Sendable, CustomStringConvertible {
    package let origin: SettingOrigin
    /// The path of the setting, such as `apps.shop.gateway.connections`. It is empty for a problem with the whole file.
    package let path: String
    package let problem: String

    package var description: String { "\(origin): \(path.isEmpty ? "" : "\(path): ")\(problem)" }

    package static func inOrder(_ faults: [ConfigurationFault]) -> [ConfigurationFault] {
        faults.sorted { $0.origin.rank < $1.origin.rank }
    }
}

/// All faults of a configuration.
package struct ConfigurationError: Error, Sendable, CustomStringConvertible {
    package let faults: [ConfigurationFault]

    package var description: String { faults.map(\.description).joined(separator: "\n") }

    /// The faults as the error with which a command ends.
    package var failure: StartError {
        let count = faults.count == 1 ? "a fault" : "\(faults.count) faults"
        return StartError(.configuration, "the configuration has \(count):\n\(description)")
    }
}
