import PushAdmin
import PushConfiguration

/// The options of all verbs that connect to a running Carillon.
enum ControlOptions {
    static let options = [
        Option("data", value: "DIR", about: "the data directory of the running Carillon"),
        Option(
            "config", value: "FILE",
            about: "the configuration with the data directory (else CARILLON_CONFIG, or the usual places)"),
    ]
    static let json = Option("json", about: "print JSON")

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
