import Glibc
import PushAPI
import PushConfiguration
import PushLoop
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

    static func client(_ arguments: Arguments, deadline: Duration = .seconds(30)) throws -> ControlClient {
        ControlClient(
            dataDirectory: try Configuration.dataDirectory(
                flag: arguments.text("data"), file: arguments.text("config")), deadline: deadline)
    }

    /// Runs a verb that only reads: with the running Carillon, or if none runs, with the files of the data directory.
    static func reading(
        _ arguments: Arguments, for verb: String, body: @escaping @Sendable (ControlClient) async throws -> ExitCode
    ) async throws -> ExitCode {
        let directory = try Configuration.dataDirectory(
            flag: arguments.text("data"), file: arguments.text("config"))
        let socket = "\(directory)/\(ControlSocket.fileName)"
        // Without a ledger, or in a cluster, there is nothing to read; the client says that no Carillon runs.
        guard !SocketProbe.isListening(unixPath: socket), try StoppedReader.hasLedger(in: directory) else {
            return try await body(ControlClient(dataDirectory: directory))
        }
        let place = try privateDirectory()
        defer {
            unlink("\(place)/\(ControlSocket.fileName)")
            rmdir(place)
        }
        // The private directory is removed after an interruption as well.
        return try await Interruption.end {
            let reader = try await StoppedReader(of: directory, socketIn: place)
            Terminal.error.write(
                "carillon \(verb): no Carillon runs on \(directory); this is what its files contain\n")
            do {
                let code = try await body(ControlClient(dataDirectory: place))
                await reader.close()
                return code
            } catch {
                await reader.close()
                throw error
            }
        }
    }

    /// Makes a directory for a socket, whose path must be short.
    private static func privateDirectory() throws(Failure) -> String {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? ""
        var template = Array("\(parent.isEmpty ? "/tmp" : parent)/carillon-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw Failure(
                .failed, "cannot make a directory in \(parent.isEmpty ? "/tmp" : parent): \(SystemError.current)")
        }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Prints a response as one line of JSON.
    static func write(_ value: some Encodable) {
        Terminal.output.write(String(decoding: APIAnswer.json(value).body, as: UTF8.self))
    }
}
