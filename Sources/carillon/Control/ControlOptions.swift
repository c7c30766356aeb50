/// What all verbs that talk to a running Carillon have in common.
enum ControlOptions {
    static let options = [
        Option("data", "DIR", "the data directory of the running Carillon"),
        Option("config", "FILE", "the configuration that says it (else CARILLON_CONFIG, or the usual places)"),
    ]
    static let json = Option("json", "for machines")

    static func client(_ arguments: Arguments) throws -> ControlClient {
        ControlClient(
            dataDirectory: try Configuration.dataDirectory(
                flag: arguments.text("data"), file: arguments.text("config")))
    }

    /// One answer as one line of JSON.
    static func write(_ value: some Encodable) {
        Terminal.output.write(String(decoding: ControlAnswer.json(value).body, as: UTF8.self))
    }
}
