/// One verb of the command line: what it takes, how it is explained, what it does.
struct Verb: Sendable {
    let name: String
    let summary: String
    /// How many words it takes besides its options, and what stands for them in help.
    let words: ClosedRange<Int>
    let placeholder: String
    let options: [Option]
    /// A command, and what it is for.
    let examples: [(command: String, about: String)]
    let run: @Sendable (Arguments) async throws -> ExitCode

    init(
        name: String, summary: String, words: ClosedRange<Int> = 0...0, placeholder: String = "", options: [Option],
        examples: [(command: String, about: String)],
        run: @escaping @Sendable (Arguments) async throws -> ExitCode
    ) {
        self.name = name
        self.summary = summary
        self.words = words
        self.placeholder = placeholder
        self.options = options
        self.examples = examples
        self.run = run
    }

    func start(_ words: [String]) async -> ExitCode {
        if words.contains("--help") || words.contains("-h") {
            Terminal.output.write(help)
            return .done
        }
        do {
            return try await run(try Arguments(words, options: options, verb: name, allowed: self.words))
        } catch let failure as Failure {
            Terminal.error.write("carillon \(name): \(failure)\n")
            return failure.code
        } catch {
            Terminal.error.write("carillon \(name): \(error)\n")
            return .failed
        }
    }

    var help: String {
        let names = options.map { "--\($0.name)" + ($0.value.map { " \($0)" } ?? "") }
        let width = names.map(\.count).max() ?? 0
        let list = zip(names, options).map { name, option in
            let lines = option.about.split(separator: "\n", omittingEmptySubsequences: false)
            let indent = String(repeating: " ", count: width + 4)
            return "  \(Terminal.padded(name, to: width))  \(lines.joined(separator: "\n" + indent))"
        }
        let samples = examples.map { "  \($0.command)\n      \($0.about)" }
        return """
            carillon \(name): \(summary)

            usage: carillon \(name)\(placeholder.isEmpty ? "" : " \(placeholder)") [OPTION ...]

            \(list.joined(separator: "\n"))

            Examples:
            \(samples.joined(separator: "\n"))

            """
    }
}

struct Option: Sendable {
    let name: String
    /// What stands for the value in help; nil for an option without one.
    let value: String?
    let about: String
    let mayRepeat: Bool

    init(_ name: String, _ value: String? = nil, _ about: String, mayRepeat: Bool = false) {
        self.name = name
        self.value = value
        self.about = about
        self.mayRepeat = mayRepeat
    }

    init(_ name: String, _ about: String) {
        self.init(name, nil, about)
    }
}

/// The words after a verb, read against its options. What does not fit is an error that says what would.
struct Arguments: Sendable {
    private var values: [String: [String]] = [:]
    /// What was said besides options.
    private(set) var words: [String] = []

    init(_ words: [String], options: [Option], verb: String, allowed: ClosedRange<Int> = 0...0) throws {
        var rest = words[...]
        while let word = rest.popFirst() {
            guard word.hasPrefix("--") else {
                guard !word.hasPrefix("-"), self.words.count < allowed.upperBound else {
                    let what =
                        allowed.upperBound == 0 || word.hasPrefix("-") ? "is not an option" : "is one word too many"
                    throw Failure(.usage, "'\(word)' \(what); 'carillon \(verb) --help' says what there is")
                }
                self.words.append(word)
                continue
            }
            let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = parts.first.map(String.init) ?? ""
            guard let option = options.first(where: { $0.name == name }) else {
                let nearest = Spelling.nearest(to: name, in: options.map(\.name))
                throw Failure(
                    .usage,
                    "there is no option '--\(name)'"
                        + (nearest.map { "; did you mean '--\($0)'?" } ?? "; 'carillon \(verb) --help' lists them"))
            }
            var value = ""
            if let placeholder = option.value {
                guard let given = parts.count > 1 ? String(parts[1]) : rest.popFirst() else {
                    throw Failure(.usage, "'--\(name)' wants a value: --\(name) \(placeholder)")
                }
                value = given
            } else if parts.count > 1 {
                throw Failure(.usage, "'--\(name)' takes no value")
            }
            guard option.mayRepeat || values[name] == nil else {
                throw Failure(.usage, "'--\(name)' was given twice")
            }
            values[name, default: []].append(value)
        }
        guard self.words.count >= allowed.lowerBound else {
            throw Failure(.usage, "a word is missing; 'carillon \(verb) --help' says which")
        }
    }

    func has(_ name: String) -> Bool { values[name] != nil }

    func text(_ name: String) -> String? { values[name]?.first }

    func texts(_ name: String) -> [String] { values[name] ?? [] }

    func number(_ name: String, in range: ClosedRange<Int>) throws -> Int? {
        guard let text = text(name) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw Failure(
                .usage,
                "'--\(name)' wants a whole number from \(range.lowerBound) to \(range.upperBound), not '\(text)'")
        }
        return number
    }

    func port(_ name: String) throws -> UInt16? {
        try number(name, in: 0...65535).map { UInt16($0) }
    }
}
