/// What a type's table is called when it does not say: `Person` → `persons`, `PushDevice` → `push_devices`.
///
/// Words are joined by underscores, since SQLite's names know no case. The plural is that of the rule: y after a
/// consonant becomes ies; s, x, z, ch and sh take es; all else takes s. `Person` becomes `persons`, not "people": a rule
/// that can be kept in mind is worth more than good English, and `tableName` overrides it.
func conventionalTableName(of type: String) -> String {
    // `Outer.Person<Int>`, as nested and generic types are called: the name itself counts.
    let name = type.prefix { $0 != "<" }.split(separator: ".").last ?? Substring(type)
    var words = ""
    var previous: Character = "_"
    for (character, next) in zip(name, name.dropFirst().map(Optional.some) + [nil]) {
        // A capital begins a word, unless it stands inside an abbreviation: `HTTPKey` is http_key.
        let beginsWord = character.isUppercase && (!previous.isUppercase || next?.isLowercase == true)
        if beginsWord, !words.isEmpty, previous != "_" { words.append("_") }
        words.append(contentsOf: character.lowercased())
        previous = character
    }
    return plural(words)
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
    /// As a name in SQL, whatever characters it has.
    var quotedName: String {
        guard utf8.contains(UInt8(ascii: "\"")) else { return "\"" + self + "\"" }
        return "\"" + split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }
}
