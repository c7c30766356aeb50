import Glibc
import PushLoop
import PushTransport

@main
enum Carillon {
    static let version = "0.1.0"

    /// Every verb that there is, in the order in which help lists them.
    static let verbs: [Verb] = [
        ServeVerb.verb, CheckVerb.verb, SendVerb.verb, DevicesVerb.verb, MessagesVerb.verb, TraceVerb.verb,
        EventsVerb.verb, StatsVerb.verb, ScaleVerb.verb, ChannelsVerb.verb, KeysVerb.verb, SimulateVerb.verb,
        BenchVerb.verb, VersionVerb.verb,
    ]

    static func main() async {
        // A peer that hangs up is an error to handle, not a signal to die of.
        Signal.pipe.ignore()
        // And so is a file that may not grow any more.
        Signal(number: SIGXFSZ).ignore()
        OpenSSLAtExit.leave()
        exit(await run(Array(CommandLine.arguments.dropFirst())).rawValue)
    }

    static func run(_ arguments: [String]) async -> ExitCode {
        guard let name = arguments.first else {
            Terminal.error.write(help)
            return .usage
        }
        if ["help", "--help", "-h"].contains(name) {
            let topic = arguments.dropFirst()
            if let word = topic.first, let verb = verbs.first(where: { $0.name == word }) {
                let below = topic.dropFirst().first.flatMap { verb.verb($0) }
                Terminal.output.write((below ?? verb).help)
            } else {
                Terminal.output.write(help)
            }
            return .done
        }
        if name == "--version" { return await VersionVerb.verb.start([]) }
        guard let verb = verbs.first(where: { $0.name == name }) else {
            let nearest = Spelling.nearest(to: name, in: verbs.map(\.name))
            Terminal.error.write(
                "carillon: there is no verb '\(name)'"
                    + (nearest.map { "; did you mean '\($0)'?" } ?? "; 'carillon help' lists them") + "\n")
            return .usage
        }
        return await verb.start(Array(arguments.dropFirst()))
    }

    static var help: String {
        let width = verbs.map(\.name.count).max() ?? 0
        let list = verbs.map { "  \(Terminal.padded($0.name, to: width))  \($0.summary)" }
        return """
            carillon: a push notification gateway

            usage: carillon VERB [OPTION ...]

            \(list.joined(separator: "\n"))

            'carillon help VERB' or 'carillon VERB --help' says more, with examples.

            """
    }
}

enum VersionVerb {
    static let verb = Verb(
        name: "version", summary: "say which version this is",
        options: [Option("json", "for machines")], examples: [("carillon version --json", "as JSON")]
    ) { arguments in
        Terminal.output.write(
            arguments.has("json") ? "{\"version\":\"\(Carillon.version)\"}\n" : "carillon \(Carillon.version)\n")
        return .done
    }
}
