import PushText

/// One verb of the command line: its words and options, its help, and the function that runs it. A verb with verbs below
/// it (`carillon keys show`) only dispatches to them.
struct Verb: Sendable {
    /// The name; for a verb below another both words: "keys show".
    let name: String
    let summary: String
    /// The positional arguments, in this order; optional ones come last.
    let words: [Word]
    let options: [Option]
    /// Example commands with a short explanation each.
    let examples: [(command: String, about: String)]
    let verbs: [Verb]
    /// Paragraphs at the end of the help, separated by empty lines; may be empty. They are wrapped at 80 columns.
    let notes: String
    /// The description of the verb in its manual page, in paragraphs; may be empty.
    let details: String
    /// The exit statuses that mean something special for this verb; the manual lists the others.
    let exits: [(code: ExitCode, about: String)]
    let run: @Sendable (Arguments) async throws -> ExitCode

    init(
        name: String, summary: String, details: String = "", words: [Word] = [], options: [Option],
        examples: [(command: String, about: String)], notes: String = "",
        exits: [(code: ExitCode, about: String)] = [], verbs: [Verb] = [],
        run: @escaping @Sendable (Arguments) async throws -> ExitCode
    ) {
        self.name = name
        self.summary = summary
        self.words = words
        self.options = options
        self.examples = examples
        self.notes = notes
        self.details = details
        self.exits = exits
        self.verbs = verbs
        self.run = run
    }

    /// Whether the verb does something itself, besides dispatching to others.
    var runs: Bool { verbs.isEmpty || !words.isEmpty }

    /// Creates a verb that dispatches to others, whose names begin with its own.
    init(name: String, summary: String, details: String = "", verbs: [Verb]) {
        self.name = name
        self.summary = summary
        self.details = details
        self.verbs = verbs
        notes = ""
        exits = []
        words = []
        options = []
        examples = verbs.flatMap(\.examples)
        run = { _ in throw Failure(.usage, "a verb is missing") }
    }

    /// The last word of the name: "show" of "keys show".
    var word: String { name.split(separator: " ").last.map(String.init) ?? name }

    /// Returns the verb with that name below this one.
    func verb(_ word: String) -> Verb? {
        verbs.first { $0.name == "\(name) \(word)" }
    }

    func start(_ words: [String]) async -> ExitCode {
        if !verbs.isEmpty, let first = words.first, !first.hasPrefix("-"), !runs || verb(first) != nil {
            return await startBelow(first, with: Array(words.dropFirst()))
        }
        if words.prefix(while: { $0 != "--" }).contains(where: { $0 == "--help" || $0 == "-h" }) {
            Terminal.output.write(help)
            return .done
        }
        guard runs else {
            Terminal.error.write(help)
            return .usage
        }
        do {
            return try await run(try Arguments(words, of: self))
        } catch {
            // The message may repeat arguments of the command line, which may hold control characters and
            // passwords.
            Terminal.error.write("carillon \(name): \(PlainText.lines(HiddenPassword.line("\(error)")))\n")
            return Failure(error).code
        }
    }

    private func startBelow(_ word: String, with rest: [String]) async -> ExitCode {
        if let verb = verb(word) { return await verb.start(rest) }
        return unknown(word)
    }

    /// Reports an unknown verb below this one.
    func unknown(_ word: String) -> ExitCode {
        Self.unknown(
            word, among: verbs.map { String($0.name.dropFirst(name.count + 1)) }, below: "carillon \(name)",
            listedBy: "carillon \(name) --help")
    }

    /// Reports an unknown verb.
    ///
    /// - Parameters:
    ///   - names: The names of the known verbs.
    ///   - command: The command to which the verb was given.
    ///   - help: The command that lists the known verbs.
    static func unknown(
        _ word: String, among names: [String], below command: String, listedBy help: String
    ) -> ExitCode {
        let nearest = NearestWord.to(word, in: names)
        Terminal.error.write(
            "\(command): unknown verb '\(PlainText.line(HiddenPassword.line(word), limit: 60))'"
                + (nearest.map { "; did you mean '\($0)'?" } ?? "; '\(help)' lists them") + "\n")
        return .usage
    }

    /// The help text. It is wrapped at the width of the terminal, or at 80 columns, except for commands.
    var help: String {
        let terminal = Terminal.output
        let usage =
            runs
            ? words.map { " \($0.usage)" }.joined() + (options.isEmpty ? "" : " [OPTION ...]") : " VERB [OPTION ...]"
        let rows =
            words.map { ($0.name, $0.about) }
            + options.map { ("--\($0.name)" + ($0.value.map { " \($0)" } ?? ""), $0.about) }
            + verbs.map { (String($0.name.dropFirst(name.count + 1)), $0.summary) }
        let width = rows.map(\.0.count).max() ?? 0
        let list = rows.map { name, about in
            "  \(Terminal.padded(name, to: width))  \(terminal.help(about, indent: width + 4))"
        }
        let samples = (runs ? examples + verbs.flatMap(\.examples) : examples).map {
            "  \(CommandExample.text($0.command, indent: 2))\n      \(terminal.help($0.about, indent: 6))"
        }
        return """
            \(terminal.help("carillon \(name): \(summary)", indent: 2))

            usage: carillon \(name)\(usage)

            \(list.joined(separator: "\n"))

            Examples:
            \(samples.joined(separator: "\n"))

            """ + (notes.isEmpty ? "" : "\n\(wrappedNotes)\n") + exitHelp
    }

    private var wrappedNotes: String {
        notes.split(separator: "\n", omittingEmptySubsequences: false)
            .map { Terminal.output.help(String($0), indent: 0) }.joined(separator: "\n")
    }

    private var exitHelp: String {
        guard !exits.isEmpty else { return "" }
        let lines = exits.map {
            "  \(Terminal.padded("\($0.code.rawValue)", to: 2))  \(Terminal.output.help($0.about, indent: 6))\n"
        }
        return "\nExit codes:\n" + lines.joined()
    }
}

/// A positional argument of a verb.
struct Word: Sendable {
    let name: String
    let about: String
    let isOptional: Bool
    /// Whether the argument takes all following words; allowed only for the last one.
    let mayRepeat: Bool
    /// Whether an empty text is a value of the argument.
    let mayBeEmpty: Bool
    /// What a shell offers for the argument.
    let offers: Candidates

    init(
        _ name: String, offers: Candidates? = nil, about: String, isOptional: Bool = false, mayRepeat: Bool = false,
        mayBeEmpty: Bool = false
    ) {
        self.name = name
        self.offers = offers ?? Candidates(placeholder: name)
        self.about = about
        self.isOptional = isOptional
        self.mayRepeat = mayRepeat
        self.mayBeEmpty = mayBeEmpty
    }

    var usage: String {
        let usage = mayRepeat ? "\(name) ..." : name
        return isOptional ? "[\(usage)]" : usage
    }
}

struct Option: Sendable {
    let name: String
    /// The placeholder for the value in the help; nil for an option without a value.
    let value: String?
    /// What a shell offers for the value.
    let offers: Candidates
    let about: String
    let mayRepeat: Bool
    /// Whether an empty text is a value of the option.
    let mayBeEmpty: Bool
    /// The name of the option in earlier versions. It is still accepted, but the help does not list it.
    let earlierName: String?

    init(
        _ name: String, value: String? = nil, offers: Candidates? = nil, about: String, mayRepeat: Bool = false,
        mayBeEmpty: Bool = false, earlierName: String? = nil
    ) {
        self.name = name
        self.value = value
        self.offers = offers ?? value.map { Candidates(placeholder: $0) } ?? .nothing
        self.about = about
        self.mayRepeat = mayRepeat
        self.mayBeEmpty = mayBeEmpty
        self.earlierName = earlierName
    }
}

/// The arguments of a verb, parsed by its words and options.
struct Arguments: Sendable {
    private var values: [String: [String]] = [:]
    private var words: [String: [String]] = [:]

    init(_ given: [String], of verb: Verb) throws {
        var wanted = verb.words[...]
        var rest = given[...]
        while let word = rest.popFirst(), word != "--" {
            if word.hasPrefix("--") {
                try take(option: word, of: verb, from: &rest)
            } else if word.hasPrefix("-"), word != "-" {
                throw Failure(.usage, "'\(word)' is not an option; 'carillon \(verb.name) --help' lists them")
            } else {
                try take(word, of: verb, as: &wanted)
            }
        }
        // What follows -- are words, also if they begin with a hyphen.
        for word in rest { try take(word, of: verb, as: &wanted) }
        if let missing = wanted.first, !missing.isOptional {
            throw Failure(
                .usage, "\(missing.name) is missing: \(missing.about); 'carillon \(verb.name) --help' shows examples")
        }
    }

    private mutating func take(_ word: String, of verb: Verb, as wanted: inout ArraySlice<Word>) throws {
        let repeated = verb.words.last.flatMap { $0.mayRepeat && wanted.isEmpty ? $0 : nil }
        guard let expected = wanted.popFirst() ?? repeated else {
            throw Failure(
                .usage,
                verb.words.isEmpty
                    ? "'\(word)' is not an option; 'carillon \(verb.name) --help' lists them"
                    : "unexpected argument '\(word)'; 'carillon \(verb.name) --help' lists the arguments")
        }
        guard !word.isEmpty || expected.mayBeEmpty else {
            throw Failure(.usage, "\(expected.name) is empty; 'carillon \(verb.name) --help' lists the arguments")
        }
        words[expected.name, default: []].append(word)
    }

    private mutating func take(option word: String, of verb: Verb, from rest: inout ArraySlice<String>) throws {
        let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let given = parts.first.map(String.init) ?? ""
        guard
            let option = verb.options.first(where: { $0.name == given })
                ?? verb.options.first(where: { $0.earlierName == given })
        else {
            let nearest = NearestWord.to(given, in: verb.options.map(\.name))
            throw Failure(
                .usage,
                "unknown option '--\(given)'"
                    + (nearest.map { "; did you mean '--\($0)'?" } ?? "; 'carillon \(verb.name) --help' lists them"))
        }
        let name = option.name
        var value = ""
        if let placeholder = option.value {
            guard let given = parts.count > 1 ? String(parts[1]) : rest.popFirst() else {
                throw Failure(.usage, "'--\(name)' needs a value: --\(name) \(placeholder)")
            }
            // An empty filter is nearly always a variable that is not set, and must not select everything.
            guard !given.isEmpty || option.mayBeEmpty else {
                throw Failure(.usage, "the value of '--\(name)' is empty: --\(name) \(placeholder)")
            }
            value = given
        } else if parts.count > 1 {
            throw Failure(.usage, "'--\(name)' does not take a value")
        }
        guard option.mayRepeat || values[name] == nil else {
            throw Failure(.usage, "'--\(name)' was given twice")
        }
        values[name, default: []].append(value)
    }

    /// Returns the value of a required positional argument.
    func word(_ name: String) -> String {
        guard let word = words[name]?.first else { preconditionFailure("this verb does not declare the word \(name)") }
        return word
    }

    func wordIfGiven(_ name: String) -> String? { words[name]?.first }

    /// Returns all values of a positional argument that may repeat.
    func words(_ name: String) -> [String] { words[name] ?? [] }

    func has(_ name: String) -> Bool { values[name] != nil }

    func text(_ name: String) -> String? { values[name]?.first }

    func texts(_ name: String) -> [String] { values[name] ?? [] }

    func number(_ name: String, in range: ClosedRange<Int>) throws -> Int? {
        guard let text = text(name) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw Failure(
                .usage,
                "'--\(name)' must be a whole number from \(range.lowerBound) to \(range.upperBound), not '\(text)'")
        }
        return number
    }

    func port(_ name: String) throws -> UInt16? {
        try number(name, in: 0...65535).map { UInt16($0) }
    }
}
