import Glibc
import PushLoop
import PushServer
import PushTransport

@main
enum Carillon {
    static let version = Release.version

    /// All verbs, in the order in which the help lists them.
    static let verbs: [Verb] = [
        ServeVerb.verb, CheckVerb.verb, DoctorVerb.verb, ReloadVerb.verb, SendVerb.verb, ActivitiesVerb.verb,
        DevicesVerb.verb, UsersVerb.verb, MessagesVerb.verb, TraceVerb.verb, EventsVerb.verb, StatsVerb.verb,
        ClusterVerb.verb,
        ScaleVerb.verb, PauseVerb.pause, PauseVerb.resume, WebhooksVerb.verb,
        ChannelsVerb.verb, BackupVerb.verb, RestoreVerb.verb, StoreVerb.verb, KeysVerb.verb, ReceiptsVerb.verb,
        SimulateVerb.verb, BenchVerb.verb, CompletionVerb.verb, ManualVerb.verb { verbs }, VersionVerb.verb,
    ]

    static func main() async {
        // A write to a closed connection then fails with EPIPE instead of ending the process.
        Signal.pipe.ignore()
        // A write beyond the file size limit then fails with EFBIG instead of ending the process.
        Signal(number: SIGXFSZ).ignore()
        // The memory of this process holds private keys.
        PrivateMemory.keep()
        FreeMemory.keepLargeApart()
        OpenSSLAtExit.leave()
        StandardDescriptors.open()
        let arguments = Array(CommandLine.arguments.dropFirst())
        let code = await run(arguments)
        exit((servers.contains(arguments.first ?? "") ? code : Terminal.status(code)).rawValue)
    }

    /// The verbs that run until they are stopped. Their exit status does not depend on what they print at the start.
    private static let servers: Set<String> = [ServeVerb.verb.name, SimulateVerb.verb.name]

    static func run(_ arguments: [String]) async -> ExitCode {
        guard let name = arguments.first else {
            Terminal.error.write(help)
            return .usage
        }
        if ["help", "--help", "-h"].contains(name) {
            return help(on: Array(arguments.dropFirst()))
        }
        if name == "--version" { return await VersionVerb.verb.start([]) }
        // Completion scripts run it, so that the help does not list it.
        if name == CompleteWords.name { return await CompleteWords.run(Array(arguments.dropFirst()), among: verbs) }
        guard let verb = verbs.first(where: { $0.name == name }) else { return unknown(name) }
        return await verb.start(Array(arguments.dropFirst()))
    }

    private static func unknown(_ name: String) -> ExitCode {
        Verb.unknown(name, among: verbs.map(\.name), below: "carillon", listedBy: "carillon help")
    }

    /// Runs `help`, `help VERB`, and `help VERB VERB` for verbs below others.
    private static func help(on topic: [String]) -> ExitCode {
        guard let word = topic.first, !word.hasPrefix("-") else {
            Terminal.output.write(help)
            return .done
        }
        guard var verb = verbs.first(where: { $0.name == word }) else { return unknown(word) }
        for word in topic.dropFirst() {
            guard !word.hasPrefix("-"), !verb.verbs.isEmpty else { break }
            guard let below = verb.verb(word) else { return verb.unknown(word) }
            verb = below
        }
        Terminal.output.write(verb.help)
        return .done
    }

    static var help: String {
        let width = verbs.map(\.name.count).max() ?? 0
        let list = verbs.map {
            "  \(Terminal.padded($0.name, to: width))  \(Terminal.output.help($0.summary, indent: width + 4))"
        }
        return """
            carillon: a push notification gateway

            usage: carillon VERB [OPTION ...]

            \(list.joined(separator: "\n"))

            'carillon help VERB' or 'carillon VERB --help' shows details and examples.

            """
    }
}
