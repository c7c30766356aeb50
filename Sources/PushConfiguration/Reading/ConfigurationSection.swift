import JSON5
import PushText

/// One object of the configuration, read key by key.
///
/// Each method that reads a setting returns its value, or nil if it is absent or wrong. A wrong value is reported to
/// the ``ConfigurationReader`` as a fault.
final class ConfigurationSection {
    /// A value before its type is checked.
    enum Found {
        case tree(JSONTree)
        /// The text of a flag or a variable.
        case words(String)
    }

    private unowned let reader: ConfigurationReader
    private let members: [JSONTree.Member]
    /// The position of the section. If the section is absent, the position of the nearest section around it.
    let place: SettingPlace
    private let path: [String]
    private let pattern: [String]
    /// The keys that were read so far.
    private(set) var keys: [String] = []
    /// The origin of each setting that was found.
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
            reader.fault(.file(reader.file, member.place), dotted(member.key), "this key is repeated; keep one")
        }
        reader.register(self)
    }

    func dotted(_ key: String?) -> String { (path + (key.map { [$0] } ?? [])).joined(separator: ".") }

    /// Returns whether the setting is present, even with a wrong value.
    func has(_ key: String) -> Bool { places[key] != nil }

    /// Whether the section is in the file, or one of its settings that were read is present in a variable or flag.
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
            fault(key, "null is not allowed; leave out the key to use its default")
            return nil
        }
        return .tree(member.value)
    }

    // MARK: Nested sections

    /// Returns the nested section with this key. Repeated calls return the same section.
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

    /// Returns the sections in the object `key`, whose keys are chosen by the user, sorted by name.
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

    /// The names that the user chose, in a section that holds names.
    var names: [String] { members.map(\.key) }

    // MARK: Unknown keys

    func reportUnknown(_ known: [String]) {
        guard !holdsNames else { return }
        for member in members where !keys.contains(member.key) {
            var hint = "known keys: \(keys.joined(separator: ", "))"
            if let nearest = NearestWord.to(member.key, in: keys) {
                hint = "did you mean \"\(nearest)\"?"
            } else if let elsewhere = known.first(where: { $0.hasSuffix(".\(member.key)") || $0 == member.key }) {
                hint = "it belongs to \(elsewhere)"
            }
            reader.fault(
                .file(reader.file, member.place), dotted(member.key), "there is no key \"\(member.key)\" here; \(hint)")
        }
    }
}
