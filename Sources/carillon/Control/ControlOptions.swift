import Glibc
import PushAdmin
import PushConfiguration
import PushServer
import PushTransport

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

    /// Runs a verb that only reads: with the running Carillon, or if none runs, with a private view of the files of the
    /// data directory, which are not changed.
    static func reading(
        _ arguments: Arguments, for verb: String, body: @escaping @Sendable (ControlClient) async throws -> ExitCode
    ) async throws -> ExitCode {
        let directory = try Configuration.dataDirectory(
            flag: arguments.text("data"), file: arguments.text("config"))
        let socket = "\(directory)/\(ControlSocket.fileName)"
        // Without a ledger, or in a cluster, there is nothing to read; the client says that no Carillon runs.
        guard !SocketProbe.isListening(unixPath: socket), try StoppedCopy.hasLedger(in: directory) else {
            return try await body(ControlClient(dataDirectory: directory))
        }
        let place = getenv("TMPDIR").map { String(cString: $0) } ?? ""
        let copy = try StoppedCopy(of: directory, in: place.isEmpty ? "/tmp" : place)
        defer { copy.remove() }
        // The copy is removed after an interruption as well.
        return try await Interruption.end {
            let progress = ProgressLine()
            try copy.fill { progress.show("copying", $0, done: $1, of: $2) }
            progress.clear()
            let reader = try await StoppedReader.open(copy)
            Terminal.error.write(
                "carillon \(verb): no Carillon runs on \(directory); this is what its files contain\n")
            do {
                let code = try await body(ControlClient(dataDirectory: copy.directory))
                await reader.close()
                try copy.checkSource()
                return code
            } catch {
                await reader.close()
                // It explains the error.
                try copy.checkSource()
                throw error
            }
        }
    }

    /// Prints a response as one line of JSON.
    static func write(_ value: some Encodable) {
        Terminal.output.write(String(decoding: AdminAnswer.json(value).body, as: UTF8.self))
    }
}
