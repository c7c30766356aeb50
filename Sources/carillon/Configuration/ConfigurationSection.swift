import JSON5

/// One object of the configuration, read key by key.
///
/// Each read gives the value, or nil if it is not set or is wrong; what is wrong is noted with the reader.
final class ConfigurationSection {
    /// A value as it was found.
    enum Found {
        case tree(JSONTree)
        /// From a flag or a variable, which know text only.
        case words(String)
    }

    private unowned let reader: ConfigurationReader
    private let members: [JSONTree.Member]
    /// Where the section is, or the nearest that there is around it.
    let place: SettingPlace
    private let path: [String]
    private let pattern: [String]
    /// What was asked for.
    private(set) var keys: [String] = []
    /// Where each setting was found.
    private var places: [String: SettingPlace] = [:]
    private let holdsNames: Bool
    private let isInFile: Bool
    private var sections: [String: ConfigurationSection] = [:]

    init(
        _ reader: ConfigurationReader, members: [JSONTree.Member], place: SettingPlace, path: [String],
        pattern: [String], holdsNames: Bool = false, isInFile: Bool = true
    ) {
        self.reader = reader
        self.place = place
        self.path = path
        self.pattern = pattern
        self.holdsNames = holdsNames
        self.isInFile = isInFile
        var seen: Set<String> = []
        self.members = members.filter { seen.insert($0.key).inserted }
        seen = []
        for member in members where !seen.insert(member.key).inserted {
            reader.fault(.file(reader.file, member.place), dotted(member.key), "this key is here twice; keep one")
        }
        reader.register(self)
    }

    func dotted(_ key: String?) -> String { (path + (key.map { [$0] } ?? [])).joined(separator: ".") }

    /// Whether the setting was given, rightly or not.
    func has(_ key: String) -> Bool { places[key] != nil }

    /// Whether the file has this section, or a variable or flag something of it that was asked for.
    var isGiven: Bool { isInFile || !places.isEmpty }

    func place(of key: String) -> SettingPlace { places[key] ?? place }

    func fault(_ key: String?, _ problem: String) {
        reader.fault(key.map { place(of: $0) } ?? place, dotted(key), problem)
    }

    func warn(_ key: String?, _ problem: String) {
        reader.warn(key.map { place(of: $0) } ?? place, dotted(key), problem)
    }

    private func member(_ key: String) -> JSONTree.Member? {
        if !keys.contains(key) { keys.append(key) }
        return members.first { $0.key == key }
    }

    func find(_ key: String) -> Found? {
        let member = member(key)
        if let (words, place) = reader.override(path + [key], pattern: pattern + [key]) {
            places[key] = place
            return .words(words)
        }
        guard let member else { return nil }
        places[key] = .file(reader.file, member.value.place)
        if case .null = member.value.value {
            fault(key, "null is no value here; leave the key out to have its default")
            return nil
        }
        return .tree(member.value)
    }

    // MARK: Sections in the section

    /// The same one every time.
    func section(_ key: String, holdsNames: Bool = false) -> ConfigurationSection {
        if let section = sections[key] { return section }
        let member = member(key)
        let place = member.map { SettingPlace.file(reader.file, $0.value.place) } ?? place
        if let member, member.value.members == nil {
            reader.fault(place, dotted(key), "this must be an object, { … }, not \(member.value.kind)")
        }
        let section = ConfigurationSection(
            reader, members: member?.value.members ?? [], place: place, path: path + [key], pattern: pattern + [key],
            holdsNames: holdsNames, isInFile: member != nil)
        sections[key] = section
        return section
    }

    /// The sections under names that a person gives, in the order of the names.
    func named(_ key: String) -> [(name: String, section: ConfigurationSection)] {
        let all = section(key, holdsNames: true)
        return all.members.sorted { $0.key < $1.key }.map { member in
            let place = SettingPlace.file(reader.file, member.value.place)
            if member.value.members == nil {
                reader.fault(place, all.dotted(member.key), "this must be an object, { … }, not \(member.value.kind)")
            }
            return (
                member.key,
                ConfigurationSection(
                    reader, members: member.value.members ?? [], place: place, path: all.path + [member.key],
                    pattern: all.pattern + ["*"])
            )
        }
    }

    /// The names that a person gave here.
    var names: [String] { members.map(\.key) }

    // MARK: Unknown keys

    func reportUnknown(_ known: [String]) {
        guard !holdsNames else { return }
        for member in members where !keys.contains(member.key) {
            var hint = "known here: \(keys.joined(separator: ", "))"
            if let nearest = Spelling.nearest(to: member.key, in: keys) {
                hint = "did you mean \"\(nearest)\"?"
            } else if let elsewhere = known.first(where: { $0.hasSuffix(".\(member.key)") || $0 == member.key }) {
                hint = "it belongs to \(elsewhere)"
            }
            reader.fault(
                .file(reader.file, member.place), dotted(member.key), "there is no key \"\(member.key)\" here; \(hint)")
        }
    }
}
