import PushConfiguration
import PushServer

/// A page of the manual.
struct ManualPage {
    /// The name without its section: `carillon-send`.
    let name: String
    let section: Int
    let text: String

    var fileName: String { "\(name).\(section)" }

    /// All pages: the command, one for each verb, and the configuration.
    ///
    /// - Parameter date: The date that the pages bear, as in 2026-11-25.
    static func all(_ verbs: [Verb], date: String) -> [ManualPage] {
        let flat = verbs.flatMap { self.flat($0) }
        return [CommandPage(verbs: verbs, date: date).page] + flat.map { VerbPage($0, of: verbs, date: date).page }
            + [ConfigurationPage(date: date).page]
    }

    private static func flat(_ verb: Verb) -> [Verb] { [verb] + verb.verbs.flatMap { flat($0) } }

    static func name(of verb: Verb) -> String { name(ofPath: verb.name) }

    static func name(ofPath path: String) -> String { "carillon-" + path.replacing(" ", with: "-") }

    static func start(_ name: String, section: Int, date: String) -> Roff {
        var roff = Roff()
        let (title, version) = (Roff.quoted(name.uppercased()), Roff.quoted("Carillon \(Release.version)"))
        roff.add(".TH \(title) \(section) \(date) \(version) \"Carillon Manual\"")
        // Lines are not hyphenated or justified: a hyphen in a command would be taken for a part of it.
        roff.add(".nh")
        roff.add(".ad l")
        return roff
    }

    /// Returns a sentence for text that begins in lower case and has no period.
    ///
    /// - Parameter candidates: The values of the argument, which keep their case at the start of a sentence.
    static func sentence(_ about: String, candidates: Candidates = .nothing) -> String {
        guard let first = about.first else { return "" }
        let word = about.prefix { $0.isLetter }
        let isName = word.dropFirst().contains { $0.isUppercase }
        let isValue = if case .words(let values) = candidates { values.contains(String(word)) } else { false }
        let start = isName || isValue ? String(first) : first.uppercased()
        let end = about.last.map { ".?!".contains($0) } == true ? "" : "."
        return start + about.dropFirst() + end
    }

    /// Returns a reference to another page.
    static func reference(_ name: String, section: Int = 1) -> String { "\(Roff.bold(name))(\(section))" }

    /// Adds the section with references.
    static func seeAlso(_ references: [String], to roff: inout Roff) {
        roff.heading("SEE ALSO")
        for (index, reference) in references.enumerated() {
            roff.add(reference + (index + 1 < references.count ? "," : ""))
        }
    }
}

/// The variables and files that verbs use.
enum ManualFacts {
    static let configurationVariable = (
        name: ConfigurationFile.variable, about: "The configuration, if --config does not name one."
    )
    static let dataVariable = (
        name: "CARILLON_DATA", about: "The data directory, if neither --data nor --config is given."
    )
    static let settingVariables = (
        name: "CARILLON_…",
        about: "Settings, by their path in capitals with underscores, such as CARILLON_INTAKE_ROUTER. They take the "
            + "place of those of the configuration."
    )
    static let passwordVariable = (
        name: "CARILLON_KEY_PASSWORD", about: "The password of a key file, if --password-file is not given."
    )
    static let colorVariable = (name: "NO_COLOR", about: "If it is set, nothing is printed in color.")

    static let configurationFiles = [
        (
            name: ConfigurationFile.defaultPaths.joined(separator: ", "),
            about: "The configuration; the first that exists is used."
        )
    ]
    static let controlSocket = (
        name: "DATA/control.sock",
        about: "The socket of the running Carillon, in its data directory, which only its user and root may use."
    )

    /// The exit statuses of all verbs.
    static let exits: [(code: ExitCode, about: String)] = [
        (.done, "success"),
        (.failed, "the command failed, or found something wrong"),
        (.usage, "the command line is wrong"),
        (.badInput, "the input is wrong: a file, a token, or an id that is not known"),
        (.unavailable, "no Carillon runs on the data directory, or a server cannot be reached"),
        (.tryAgain, "there was no answer in time, or another process is in the way; try again"),
        (.notPermitted, "this user, or this credential, has no permission"),
        (.configuration, "the configuration is missing or wrong"),
    ]
}
