/// What a shell offers for an argument when the user presses the Tab key.
enum Candidates: Sendable, Equatable {
    case nothing, files, directories
    /// The values of a closed set.
    case words([String])
    /// The apps of the configuration.
    case apps
    /// The devices or the recent messages of the running Carillon, or both.
    case devices, messages, identifiers

    static func choice<Value: CaseIterable & RawRepresentable>(_ type: Value.Type) -> Self
    where Value.RawValue == String {
        .words(Value.allCases.map(\.rawValue))
    }

    /// The candidates of an argument that the help shows with this placeholder.
    init(placeholder: String) {
        self =
            switch placeholder {
            case "FILE": .files
            case "DIR": .directories
            case "APP": .apps
            case "DEVICE": .devices
            case "MESSAGE": .messages
            default: .nothing
            }
    }

    /// The word for the candidates in scripts, which is also the argument of `carillon complete-words` for those that
    /// it lists.
    var kind: String {
        switch self {
        case .nothing: "none"
        case .files: "file"
        case .directories: "directory"
        case .words(let words): "=\(words.joined(separator: " "))"
        case .apps: "app"
        case .devices: "device"
        case .messages: "message"
        case .identifiers: "id"
        }
    }
}
