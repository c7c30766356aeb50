import PushAdmin
import PushConfiguration

/// The options of all verbs that connect to a running Carillon.
enum ControlOptions {
    static let options = [
        Option("data", "DIR", "the data directory of the running Carillon"),
        Option(
            "config", "FILE", "the configuration with the data directory (else CARILLON_CONFIG, or the usual places)"),
    ]
    static let json = Option("json", "print JSON")

    static func client(_ arguments: Arguments) throws -> ControlClient {
        ControlClient(
            dataDirectory: try Configuration.dataDirectory(
                flag: arguments.text("data"), file: arguments.text("config")))
    }

    /// Prints a response as one line of JSON.
    static func write(_ value: some Encodable) {
        Terminal.output.write(String(decoding: AdminAnswer.json(value).body, as: UTF8.self))
    }
}
