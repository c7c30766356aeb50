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
        case text(String)
    }

    private unowned let reader: ConfigurationReader
    private let members: [JSONTree.Member]
    /// The origin of the section. If the section is absent, the origin of the nearest section around it.
    let origin: SettingOrigin
    private let path: [String]
    /// The keys that were read so far.
    private(set) var keys: [String] = []
    /// The origin of each setting that was found.
    private var origins: [String: SettingOrigin] = [:]
    private let holdsNames: Bool
    private let isInFile: Bool
    private var sections: [String: ConfigurationSection] = [:]

    init(
        _ reader: ConfigurationReader, members: [JSONTree.Member], origin: SettingOrigin, path: [String],
        holdsNames: Bool = false, isInFile: Bool = true
    ) {
        self.reader = reader
        self.origin = origin
        self.path = path
        self.holdsNames = holdsNames
        self.isInFile = isInFile
        var seen: Set<String> = []
        self.members = members.filter { seen.insert($0.key).inserted }
        seen = []
        for member in members where !seen.insert(member.key).inserted {
            reader.report(
                "this key is repeated; keep one", of: dotted(member.key), at: .file(reader.file, member.place))
        }
        reader.register(self)
    }

    func dotted(_ key: String?) -> String { (path + (key.map { [$0] } ?? [])).joined(separator: ".") }

    /// Returns whether the setting is present, even with a wrong value.
    func has(_ key: String) -> Bool { origins[key] != nil }

    /// Whether the section is in the file, or one of its settings that were read is present in a variable or flag.
    var isGiven: Bool { isInFile || !origins.isEmpty }

    func origin(of key: String) -> SettingOrigin { origins[key] ?? origin }

    /// Reports a fault of a setting, or of the whole section.
    func report(_ problem: String, at key: String? = nil) {
        reader.report(problem, of: dotted(key), at: key.map { origin(of: $0) } ?? origin)
    }

    /// Reports a fault of one element of a list. The path of the fault names the element, counted from 0.
    func report(_ problem: String, at key: String, element index: Int) {
        var origin = origin(of: key)
        if case .file(let file, _) = origin, let elements = member(key)?.value.elements,
            elements.indices.contains(index)
        {
            origin = .file(file, elements[index].place)
        }
        reader.report(problem, of: "\(dotted(key))[\(index)]", at: origin)
    }

    func warn(_ problem: String, at key: String? = nil) {
        reader.warn(problem, of: dotted(key), at: key.map { origin(of: $0) } ?? origin)
    }

    private func member(_ key: String) -> JSONTree.Member? {
        if !keys.contains(key) { keys.append(key) }
        return members.first { $0.key == key }
    }

    func find(_ key: String) -> Found? {
        let member = member(key)
        if let (text, origin) = reader.override(path + [key]) {
            origins[key] = origin
            return .text(text)
        }
        guard let member else { return nil }
        origins[key] = .file(reader.file, member.value.place)
        if case .null = member.value.value {
            report("null is not allowed; leave out the key to use its default", at: key)
            return nil
        }
        return .tree(member.value)
    }

    // MARK: Nested sections

    /// Returns the nested section with this key. Repeated calls return the same section.
    func section(_ key: String, holdsNames: Bool = false) -> ConfigurationSection {
        if let section = sections[key] { return section }
        let member = member(key)
        let origin = member.map { SettingOrigin.file(reader.file, $0.value.place) } ?? origin
        if let member, member.value.members == nil {
            reader.report("this must be an object, { … }, not \(member.value.kind)", of: dotted(key), at: origin)
        }
        let section = ConfigurationSection(
            reader, members: member?.value.members ?? [], origin: origin, path: path + [key], holdsNames: holdsNames,
            isInFile: member != nil)
        sections[key] = section
        return section
    }

    /// Returns the nested section that holds the setting with this path.
    func section(holding path: [String]) -> ConfigurationSection {
        path.dropLast().reduce(self) { $0.section($1) }
    }

    /// Returns the sections in the object `key`, whose keys are chosen by the user, sorted by name.
    func named(_ key: String) -> [(name: String, section: ConfigurationSection)] {
        let all = section(key, holdsNames: true)
        return all.members.sorted { $0.key < $1.key }.map { member in
            let origin = SettingOrigin.file(reader.file, member.value.place)
            if member.value.members == nil {
                reader.report(
                    "this must be an object, { … }, not \(member.value.kind)", of: all.dotted(member.key), at: origin)
            }
            return (
                member.key,
                ConfigurationSection(
                    reader, members: member.value.members ?? [], origin: origin, path: all.path + [member.key])
            )
        }
    }

    /// The names that the user chose, in a section that holds names.
    var names: [String] { members.map(\.key) }

    // MARK: Unknown keys

    /// Reports the keys that nothing has read.
    ///
    /// - Parameter known: The paths of all settings, for hints.
    func reportUnknownKeys(known: [[String]]) {
        guard !holdsNames else { return }
        for member in members where !keys.contains(member.key) {
            var hint = "known keys: \(keys.joined(separator: ", "))"
            if let nearest = NearestWord.to(member.key, in: keys) {
                hint = "did you mean \"\(nearest)\"?"
            } else if let depth = known.filter({ $0.last == member.key }).map(\.count).min() {
                let elsewhere = known.filter { $0.last == member.key && $0.count == depth }
                hint = "it belongs to " + elsewhere.map { $0.joined(separator: ".") }.joined(separator: " or ")
            }
            reader.report(
                "there is no key \"\(member.key)\" here; \(hint)", of: dotted(member.key),
                at: .file(reader.file, member.place))
        }
    }
}
