import JSON5
import PushText

/// The sources of settings, and the faults that were found in them.
///
/// A flag overrides an environment variable, and a variable overrides the file. The variable of `intake.router` is
/// `CARILLON_INTAKE_ROUTER`: the path in capitals, with its parts joined by `_`. In the name of an app or client, `_`
/// replaces each character that is not a letter or digit (`apps.shop-eu.topic`: `CARILLON_APPS_SHOP_EU_TOPIC`).
/// Variables change apps and clients of the file; they cannot add any. The items of a list are separated by commas. An
/// empty variable counts as absent.
///
/// A key is known if it was read, and the tables of settings (``Setting``) are what is read.
final class ConfigurationReader {
    static let prefix = "CARILLON_"
    /// Variables with this prefix that are not settings.
    static let otherVariables: Set<String> = ["CARILLON_CONFIG"]

    let file: String
    private let environment: [String: String]
    /// The flags by the path of their setting.
    private let flags: [String: String]
    private var sections: [ConfigurationSection] = []
    /// The path of the setting for each variable.
    private var variables: [String: String] = [:]
    private(set) var faults: [ConfigurationFault] = []
    private(set) var warnings: [ConfigurationFault] = []

    init(file: String, environment: [String: String], flags: [String: String]) {
        self.file = file
        self.environment = environment
        self.flags = flags
    }

    func root(_ tree: JSONTree) -> ConfigurationSection {
        if tree.members == nil {
            report("the file must hold one object, { … }, not \(tree.kind)", of: "", at: .file(file, tree.place))
        }
        return ConfigurationSection(
            self, members: tree.members ?? [], origin: .file(file, tree.place), path: [])
    }

    func report(_ problem: String, of path: String, at origin: SettingOrigin) {
        faults.append(ConfigurationFault(origin: origin, path: path, problem: problem))
    }

    func warn(_ problem: String, of path: String, at origin: SettingOrigin) {
        warnings.append(ConfigurationFault(origin: origin, path: path, problem: problem))
    }

    func register(_ section: ConfigurationSection) {
        sections.append(section)
    }

    /// Returns the value that a flag or a variable gives to the setting, and its origin.
    func override(_ path: [String]) -> (text: String, origin: SettingOrigin)? {
        let name = Self.prefix + path.map(Self.variablePart).joined(separator: "_")
        let dotted = path.joined(separator: ".")
        let value = environment[name].flatMap { $0.isEmpty ? nil : $0 }
        if value != nil, let other = variables[name], other != dotted {
            report("this variable would also mean \(other); set both in the file", of: dotted, at: .environment(name))
        }
        variables[name] = dotted
        if let text = flags[dotted] { return (text, .flag(dotted)) }
        return value.map { ($0, .environment(name)) }
    }

    private static func variablePart(_ part: String) -> String {
        String(part.uppercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    }

    /// Reports unknown keys and variables, and sorts the faults. It is called after all settings were read, because a
    /// key is unknown if nothing has read it.
    ///
    /// - Parameter known: The paths of all settings, for hints.
    func finish(known paths: [[String]]) {
        for section in sections { section.reportUnknownKeys(known: paths) }
        let families = Set((sections.first?.keys ?? []).map(Self.variablePart))
        let known = variables.keys.map { String($0.dropFirst(Self.prefix.count)) }.sorted()
        for name in environment.keys.sorted() where name.hasPrefix(Self.prefix) {
            guard variables[name] == nil, !Self.otherVariables.contains(name) else { continue }
            let bare = String(name.dropFirst(Self.prefix.count))
            if let nearest = NearestWord.to(bare, in: known) {
                warn("there is no such setting; did you mean \(Self.prefix)\(nearest)?", of: "", at: .environment(name))
            } else if families.contains(String(bare.prefix { $0 != "_" })) {
                // Variables outside of the known sections are ignored silently: container platforms set variables such
                // as CARILLON_PORT for a service with this name.
                warn("there is no such setting; it is ignored", of: "", at: .environment(name))
            }
        }
        faults = ConfigurationFault.inOrder(faults)
        warnings = ConfigurationFault.inOrder(warnings)
    }
}
