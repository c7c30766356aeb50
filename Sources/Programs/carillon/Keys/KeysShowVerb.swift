import PushConfiguration
import PushModel
import PushText
import PushTime
import PushTransport
import PushWire

/// `carillon keys show`: shows the contents of a key or certificate file, and what to do with it.
struct KeysShowVerb {
    static let verb = Verb(
        name: "keys show", summary: "show the contents of a key or certificate file",
        words: [Word("FILE", about: "a .p8, .p12, .pem or .curve file, or a single certificate")],
        options: [KeysVerb.passwordOption, Option("json", about: "print JSON")],
        examples: [
            ("carillon keys show AuthKey_ABC123DEFG.p8", "show the id and fingerprint of a provider key"),
            (
                "carillon keys show push.p12 --password-file password.txt",
                "show the topics and the expiry of a certificate"
            ),
        ]
    ) { arguments in
        let path = arguments.word("FILE")
        if let facts = try CurveKeyFile.facts(path) {
            Terminal.output.write(
                arguments.has("json")
                    ? CurveKeyDescription.json(facts, of: path) : CurveKeyDescription.text(facts, of: path))
            return .done
        }
        let now = WallTime.current()
        let verb = KeysShowVerb(path: path, file: try KeysVerb.describe(path, with: arguments, at: now), now: now)
        Terminal.output.write(arguments.has("json") ? verb.json : verb.text(on: Terminal.output))
        return .done
    }

    let path: String
    let file: CredentialFileDescription
    let now: WallTime

    var json: String { MachineLine.text(file.members.merging(["file": .string(path)]) { $1 }) }

    func text(on terminal: Terminal) -> String {
        let rows = file.facts.compactMap { fact -> (name: String, text: String)? in
            switch fact {
            case .text(let name, let text): return (name, text)
            case .begins(let begin):
                guard begin > now else { return nil }
                return ("valid from", terminal.colored(begin.utcText + ", not yet valid", in: .red))
            case .ends(let end): return ("expires", expiry(end, on: terminal))
            }
        }
        return terminal.colored(path, in: .bold) + " contains \(file.content).\n\n"
            + PlainText.rows(rows, on: terminal) + "\nNext: \(file.next)\n"
    }

    private func expiry(_ end: WallTime, on terminal: Terminal) -> String {
        let left = end.seconds - now.seconds
        let text = "\(DurationText.distance(left)), at \(end.utcText)"
        let color: Terminal.Color = left <= 0 ? .red : left < 30 * 86_400 ? .yellow : .green
        return terminal.colored(text, in: color)
    }
}
