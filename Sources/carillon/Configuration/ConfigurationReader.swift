import JSON5

/// Gathers what there is to read settings from, which keys were asked for, and all that is wrong with them.
///
/// A setting's flag goes before its environment variable, that before the file. The variable of `intake.router` is
/// `CARILLON_INTAKE_ROUTER`: the path in capitals, its parts joined by `_`, and `_` for whatever in an app's or
/// client's name is no letter or digit (`apps.shop-eu.topic`: `CARILLON_APPS_SHOP_EU_TOPIC`). Variables change apps and
/// clients that the file names; they make none. A list is written with commas. An empty variable counts as not set.
///
/// What was asked for is what is known: no list of keys is kept beside the code that reads them.
final class ConfigurationReader {
    static let prefix = "CARILLON_"
    /// Variables of this prefix that are no settings.
    static let otherVariables: Set<String> = ["CARILLON_CONFIG"]

    let file: String
    private let environment: [String: String]
    /// By path, as in `data`.
    private let flags: [String: String]
    private var sections: [ConfigurationSection] = []
    /// The path that each variable stands for.
    private var variables: [String: String] = [:]
    private(set) var faults: [ConfigurationFault] = []
    private(set) var warnings: [ConfigurationFault] = []
    /// Paths of settings, `*` for names that a person gives.
    private(set) var knownKeys: [String] = []

    init(file: String, environment: [String: String], flags: [String: String]) {
        self.file = file
        self.environment = environment
        self.flags = flags
    }

    func root(_ tree: JSONTree) -> ConfigurationSection {
        if tree.members == nil {
            fault(.file(file, tree.place), "", "the file must hold one object, { … }, not \(tree.kind)")
        }
        return ConfigurationSection(
            self, members: tree.members ?? [], place: .file(file, tree.place), path: [], pattern: [])
    }

    func fault(_ place: SettingPlace, _ path: String, _ problem: String) {
        faults.append(ConfigurationFault(place: place, path: path, problem: problem))
    }

    func warn(_ place: SettingPlace, _ path: String, _ problem: String) {
        warnings.append(ConfigurationFault(place: place, path: path, problem: problem))
    }

    func register(_ section: ConfigurationSection) {
        sections.append(section)
    }

    /// What flag or environment say about a path.
    func override(_ path: [String], pattern: [String]) -> (words: String, place: SettingPlace)? {
        let name = Self.prefix + path.map(Self.variablePart).joined(separator: "_")
        let dotted = path.joined(separator: ".")
        let known = pattern.joined(separator: ".")
        if !knownKeys.contains(known) { knownKeys.append(known) }
        let value = environment[name].flatMap { $0.isEmpty ? nil : $0 }
        if value != nil, let other = variables[name], other != dotted {
            fault(.environment(name), dotted, "this variable would also mean \(other); set both in the file")
        }
        variables[name] = dotted
        if let words = flags[dotted] { return (words, .flag(dotted)) }
        return value.map { ($0, .environment(name)) }
    }

    private static func variablePart(_ part: String) -> String {
        String(part.uppercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    }

    /// Once all was asked for: what nobody asked for is unknown.
    func finish() {
        for section in sections { section.reportUnknown(knownKeys) }
        let families = Set((sections.first?.keys ?? []).map(Self.variablePart))
        let known = variables.keys.map { String($0.dropFirst(Self.prefix.count)) }.sorted()
        for name in environment.keys.sorted() where name.hasPrefix(Self.prefix) {
            guard variables[name] == nil, !Self.otherVariables.contains(name) else { continue }
            let bare = String(name.dropFirst(Self.prefix.count))
            if let nearest = Spelling.nearest(to: bare, in: known) {
                warn(.environment(name), "", "there is no such setting; did you mean \(Self.prefix)\(nearest)?")
            } else if families.contains(String(bare.prefix { $0 != "_" })) {
                // Others are left alone: container platforms set CARILLON_PORT and such for a service of this name.
                warn(.environment(name), "", "there is no such setting; it is ignored")
            }
        }
        faults = ConfigurationFault.inOrder(faults)
        warnings = ConfigurationFault.inOrder(warnings)
    }
}
