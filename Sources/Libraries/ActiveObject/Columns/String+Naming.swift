/// Returns the conventional table name of a type: `Person` → `persons`, `PushDevice` → `push_devices`.
///
/// Words are joined by underscores, because SQLite ignores case in names. The plural follows fixed rules: y after a
/// consonant becomes ies; s, x, z, ch and sh take es; all others take s. `Person` becomes `persons`, not "people",
/// because a predictable rule is more useful than correct English, and `tableName` overrides it.
func conventionalTableName(of type: String) -> String {
    // Nested and generic types are named `Outer.Person<Int>`. Only the innermost name counts.
    let type = type.prefix { $0 != "<" }.split(separator: ".").last ?? Substring(type)
    var name = ""
    var previous: Character = "_"
    for (character, next) in zip(type, type.dropFirst().map(Optional.some) + [nil]) {
        // An uppercase letter begins a word unless it is inside an abbreviation: `HTTPKey` is http_key.
        let beginsWord = character.isUppercase && (!previous.isUppercase || next?.isLowercase == true)
        if beginsWord, !name.isEmpty, previous != "_" { name.append("_") }
        name.append(contentsOf: character.lowercased())
        previous = character
    }
    return plural(name)
}

private func plural(_ word: String) -> String {
    let vowels: Set<Character> = ["a", "e", "i", "o", "u"]
    if word.hasSuffix("y"), let before = word.dropLast().last, !vowels.contains(before) {
        return word.dropLast() + "ies"
    }
    for ending in ["s", "x", "z", "ch", "sh"] where word.hasSuffix(ending) { return word + "es" }
    return word + "s"
}

extension String {
    /// The string as a quoted name in SQL.
    var quotedName: String {
        guard utf8.contains(UInt8(ascii: "\"")) else { return "\"" + self + "\"" }
        return quoted(in: UInt8(ascii: "\""))
    }

    /// Returns the string between two of a mark, with those within it doubled. A mark may be a part of a character, together
    /// with the accents after it.
    func quoted(in mark: UInt8) -> String {
        String(decoding: [mark] + utf8.flatMap { $0 == mark ? [mark, mark] : [$0] } + [mark], as: UTF8.self)
    }
}
