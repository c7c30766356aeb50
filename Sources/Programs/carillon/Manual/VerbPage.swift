/// The page of one verb.
struct VerbPage {
    /// The maximum number of options that the synopsis shows one by one.
    private static let maxShownOptions = 6

    private let verb: Verb
    private let verbs: [Verb]
    private let date: String

    init(_ verb: Verb, of verbs: [Verb], date: String) {
        self.verb = verb
        self.verbs = verbs
        self.date = date
    }

    var page: ManualPage {
        let name = ManualPage.name(of: verb)
        var roff = ManualPage.start(name, section: 1, date: date)
        roff.heading("NAME")
        roff.add(Roff.filled("\(Roff.escaped(name)) \\- \(Roff.escaped(verb.summary))"))
        addSynopsis(to: &roff)
        roff.heading("DESCRIPTION")
        let details = verb.details.isEmpty ? ManualPage.sentence(verb.summary) : verb.details
        roff.paragraphs([details, verb.notes].filter { !$0.isEmpty }.joined(separator: "\n\n"))
        if !verb.verbs.isEmpty {
            roff.heading("VERBS")
            for below in verb.verbs {
                roff.item(ManualPage.reference(ManualPage.name(of: below)), about: ManualPage.sentence(below.summary))
            }
        }
        addOptions(to: &roff)
        roff.heading("EXAMPLES")
        for example in verb.examples {
            roff.paragraphs("\(ManualPage.sentence(example.about).dropLast()):")
            roff.literal(CommandExample.text(example.command, indent: 0))
        }
        addExits(to: &roff)
        Self.add(files, under: "FILES", to: &roff)
        Self.add(variables, under: "ENVIRONMENT", to: &roff)
        ManualPage.seeAlso(references, to: &roff)
        return ManualPage(name: name, section: 1, text: roff.text)
    }

    private func addSynopsis(to roff: inout Roff) {
        roff.heading("SYNOPSIS")
        guard verb.runs else {
            roff.add("\(Roff.bold("carillon \(verb.name)")) \(Roff.italic("VERB")) [\(Roff.italic("OPTION"))\\ ...]")
            return
        }
        let words = verb.words.map { word in
            let name = Roff.italic(word.name) + (word.mayRepeat ? "\\ ..." : "")
            return word.isOptional ? "[\(name)]" : name
        }
        let options =
            verb.options.count > Self.maxShownOptions
            ? ["[\(Roff.italic("OPTION"))\\ ...]"]
            : verb.options.map { option in "[\(Self.tag(option).replacing(" ", with: "\\ "))]" }
        roff.add(([Roff.bold("carillon \(verb.name)")] + words + options).joined(separator: " "))
        for below in verb.verbs {
            roff.add(".br")
            roff.add("\(Roff.bold("carillon \(below.name)")) ...")
        }
    }

    private func addOptions(to roff: inout Roff) {
        guard verb.runs else { return }
        if !verb.words.isEmpty {
            roff.heading("ARGUMENTS")
            for word in verb.words {
                roff.item(Roff.italic(word.name), about: ManualPage.sentence(word.about, candidates: word.offers))
            }
        }
        roff.heading("OPTIONS")
        for option in verb.options {
            roff.item(Self.tag(option), about: ManualPage.sentence(option.about, candidates: option.offers))
        }
        roff.item(Roff.bold("--help"), about: "Print a summary of this page.")
    }

    private static func tag(_ option: Option) -> String {
        Roff.bold("--\(option.name)") + (option.value.map { " \(Roff.italic($0))" } ?? "")
    }

    private func addExits(to roff: inout Roff) {
        roff.heading("EXIT STATUS")
        for (code, about) in verb.exits {
            roff.item(Roff.bold("\(code.rawValue)"), about: ManualPage.sentence(about))
        }
        roff.separate()
        roff.add(
            verb.exits.isEmpty
                ? "The command exits with 0 on success.\nThe other statuses are in" : "Other statuses are in")
        roff.add(ManualPage.reference("carillon") + ".")
    }

    private func has(_ option: String) -> Bool { verb.options.contains { $0.name == option } }

    /// Whether the verb asks a running Carillon over its control socket.
    private var usesControl: Bool { has("config") && has("data") && verb.name != "serve" }

    private var files: [(name: String, about: String)] {
        (has("config") ? ManualFacts.configurationFiles : []) + (usesControl ? [ManualFacts.controlSocket] : [])
    }

    private var variables: [(name: String, about: String)] {
        (has("config") ? [ManualFacts.configurationVariable, ManualFacts.settingVariables] : [])
            + (usesControl ? [ManualFacts.dataVariable] : [])
            + (has("password-file") && verb.name.hasPrefix("keys") ? [ManualFacts.passwordVariable] : [])
            + [ManualFacts.colorVariable]
    }

    private static func add(_ facts: [(name: String, about: String)], under title: String, to roff: inout Roff) {
        guard !facts.isEmpty else { return }
        roff.heading(title)
        for fact in facts { roff.item(Roff.italic(fact.name), about: fact.about) }
    }

    /// The pages of the verb above, of the verbs beside it, and of the configuration.
    private var references: [String] {
        let words = verb.name.split(separator: " ")
        var level = verbs
        var pages = ["carillon"]
        for depth in 1..<max(1, words.count) {
            let path = words.prefix(depth).joined(separator: " ")
            guard let above = level.first(where: { $0.name == path }) else { break }
            pages.append(ManualPage.name(of: above))
            level = above.verbs
        }
        if words.count > 1 { pages += level.filter { $0.name != verb.name }.map { ManualPage.name(of: $0) } }
        return pages.map { ManualPage.reference($0) } + [ManualPage.reference("carillon.json5", section: 5)]
    }
}
