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
}
