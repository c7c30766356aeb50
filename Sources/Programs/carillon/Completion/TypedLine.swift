import Glibc

/// A command line that is being typed, read as far as it goes.
struct TypedLine {
    private static let help = Option("help", about: "show the help")

    /// The values of `--config` and `--data`.
    private(set) var places: [String: String] = [:]
    private var verbs: [Verb]
    private var options = [help, Option("version", about: "print the version")]
    private var words: [Word] = []
    private var isAtRoot = true
    private var given: Set<String> = []
    /// The number of positional arguments before the last word.
    private var position = 0
    /// The option whose value is the next word.
    private var pending: Option?
    private let last: String

    /// - Parameter typed: The words after `carillon`. The last one is that for which candidates are wanted.
    init(_ typed: [String], verbs: [Verb]) {
        self.verbs = verbs
        last = typed.last ?? ""
        for word in typed.dropLast() { take(word) }
    }

    private mutating func take(_ word: String) {
        if let option = pending {
            note(word, for: option)
            pending = nil
        } else if word.hasPrefix("--") {
            guard let option = option(named: word) else { return }
            given.insert(option.name)
            guard option.value != nil else { return }
            if let value = Self.parts(of: word).value { note(value, for: option) } else { pending = option }
        } else if position == 0, let verb = verbs.first(where: { $0.word == word }) {
            (isAtRoot, verbs, words, options) = (false, verb.verbs, verb.words, verb.options + [Self.help])
        } else if !isAtRoot || position > 0 || word != "help" {
            position += 1
        }
    }

    private mutating func note(_ value: String, for option: Option) {
        let home = value.hasPrefix("~/") ? getenv("HOME").map { String(cString: $0) } : nil
        places[option.name] = home.map { $0 + value.dropFirst() } ?? value
    }

    /// Returns the name of an option with its dashes, and the value behind `=`.
    private static func parts(of word: String) -> (name: Substring, value: String?) {
        guard let end = word.firstIndex(of: "=") else { return (word[...], nil) }
        return (word[..<end], String(word[word.index(after: end)...]))
    }

    private func option(named word: String) -> Option? {
        let name = Self.parts(of: word).name.dropFirst(2)
        return options.first { $0.name == name } ?? options.first { $0.earlierName.map { $0 == name } ?? false }
    }

    private var isOption: Bool { pending == nil && last.hasPrefix("-") }

    /// The part of the last word that is not replaced by a value: `--app=`.
    var before: String {
        let (name, value) = Self.parts(of: last)
        return isOption && value != nil ? "\(name)=" : ""
    }

    /// The values that may take the place of the last word, and the beginning of them that was typed.
    var offers: (Candidates, prefix: String) {
        if let pending { return (pending.offers, last) }
        if isOption {
            let value = Self.parts(of: last).value
            return (value == nil ? .nothing : option(named: last)?.offers ?? .nothing, value ?? "")
        }
        if position < words.count { return (words[position].offers, last) }
        return (words.last.flatMap { $0.mayRepeat ? $0.offers : nil } ?? .nothing, last)
    }

    /// The verbs and options that may take the place of the last word.
    var names: [(name: String, about: String)] {
        let all: [(name: String, about: String)] =
            if pending != nil {
                []
            } else if isOption {
                options.filter { $0.mayRepeat || !given.contains($0.name) }.map { ("--\($0.name)", $0.about) }
            } else if position == 0 {
                verbs.map { ($0.word, $0.summary) } + (isAtRoot ? [("help", "show the help of a verb")] : [])
            } else {
                []
            }
        return all.filter { $0.name.hasPrefix(last) }
    }
}
