/// The verbs with their options and arguments, in the form that completion scripts need.
struct CompletionTable {
    struct Item {
        let name: String
        let about: String
        /// What is offered for the value of an option; nil if it does not take a value.
        let offers: Candidates?
        let mayRepeat: Bool
        /// Whether the item is understood but not offered.
        var isHidden = false
    }

    /// One verb, or the command itself, whose path is empty.
    struct Node {
        /// The words of the verb: "keys api add".
        let path: String
        let verbs: [Item]
        let options: [Item]
        /// What is offered for each positional argument.
        let words: [Candidates]
        /// Whether all further positional arguments are like the last one.
        let repeatsLastWord: Bool

        /// The options that are offered.
        var offeredOptions: [Item] { options.filter { !$0.isHidden } }
    }

    let nodes: [Node]

    init(_ verbs: [Verb]) {
        let help = Item(name: "help", about: "show the help", offers: nil, mayRepeat: false)
        let root = Node(
            path: "",
            verbs: verbs.map { Self.item($0) }
                + [Item(name: "help", about: "show the help of a verb", offers: nil, mayRepeat: false)],
            options: [help, Item(name: "version", about: "print the version", offers: nil, mayRepeat: false)],
            words: [], repeatsLastWord: false)
        nodes = [root] + verbs.flatMap { Self.nodes($0, help: help) }
    }

    private static func nodes(_ verb: Verb, help: Item) -> [Node] {
        let node = Node(
            path: verb.name, verbs: verb.verbs.map { item($0) },
            options: verb.options.flatMap { options($0) } + [help],
            words: verb.words.map(\.offers), repeatsLastWord: verb.words.last?.mayRepeat ?? false)
        return [node] + verb.verbs.flatMap { nodes($0, help: help) }
    }

    private static func options(_ option: Option) -> [Item] {
        let offers = option.value == nil ? nil : option.offers
        let item = Item(name: option.name, about: option.about, offers: offers, mayRepeat: option.mayRepeat)
        let earlier = option.earlierName.map {
            Item(name: $0, about: option.about, offers: offers, mayRepeat: option.mayRepeat, isHidden: true)
        }
        return [item] + (earlier.map { [$0] } ?? [])
    }

    private static func item(_ verb: Verb) -> Item {
        Item(name: verb.word, about: verb.summary, offers: nil, mayRepeat: false)
    }

    /// The cases of what each option takes, for a `case` of bash and of zsh.
    var valueCases: String {
        nodes.flatMap { node in
            node.options.compactMap { option in
                option.offers.map { "    '\(node.path) --\(option.name)') takes=\(Self.quoted($0.kind)) ;;" }
            }
        }.joined(separator: "\n")
    }

    /// Returns text in single quotes, for a POSIX shell.
    static func quoted(_ text: String) -> String { "'" + text.replacing("'", with: "'\\''") + "'" }

    /// Returns text in single quotes, for fish, where a backslash is special in them.
    static func quotedForFish(_ text: String) -> String {
        "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
    }

    /// Returns the beginning of a description, which has to fit one line of a list.
    static func short(_ about: String) -> String {
        let text = about.split(separator: ";").first.map(String.init) ?? about
        return text.count <= 70 ? text : text.prefix(69) + "…"
    }
}
