/// One setting: its path, its form, the time at which a change applies, and its documentation.
///
/// The settings of an `Owner` are one table. Reading a file, the variables of the environment, the settings as text, the
/// changes at a reload and `Config/carillon.json5` all follow from it.
struct Setting<Owner>: Sendable {
    /// The path in the object of the owner, such as `gateway`, `idle` in an app.
    private(set) var path: [String]
    /// The time at which a changed value takes effect.
    let reload: Reload
    /// The comment in `Config/carillon.json5`.
    let documentation: String
    /// The least and the greatest value, for the documentation; nil if the setting is not an amount.
    let bounds: String?
    /// The end of the message if the key is absent from a section that is present; nil if it may be absent.
    private let requirement: String?
    private let readValue: @Sendable (ConfigurationSection, String, inout Owner) -> Void
    private let copyValue: @Sendable (Owner, inout Owner) -> Void
    /// Returns whether two owners have the same value.
    let isEqual: @Sendable (Owner, Owner) -> Bool
    /// Returns the value as text; nil if the setting has no value.
    let text: @Sendable (Owner) -> String?
    /// Returns the value as JSON5; nil if the setting has no value.
    let literal: @Sendable (Owner) -> String?

    /// Creates a setting that has a value in every owner, its default at first.
    ///
    /// - Parameter requirement: The rest of the sentence that begins with the key and "is missing", for a setting that a
    ///   section must have.
    init<Value: Equatable & SendableMetatype>(
        _ path: String, at field: any WritableKeyPath<Owner, Value> & Sendable, as codec: SettingCodec<Value>,
        applies reload: Reload, requirement: String? = nil, documentation: String
    ) {
        self.path = path.split(separator: ".").map(String.init)
        self.reload = reload
        self.documentation = documentation
        self.requirement = requirement
        bounds = codec.bounds
        readValue = { section, key, owner in
            if let value = codec.read(key, section) { owner[keyPath: field] = value }
        }
        copyValue = { $1[keyPath: field] = $0[keyPath: field] }
        isEqual = { $0[keyPath: field] == $1[keyPath: field] }
        text = { codec.text($0[keyPath: field]) }
        literal = { codec.literal($0[keyPath: field]) }
    }

    /// Creates a setting that may have no value in an owner.
    init<Value: Equatable & SendableMetatype>(
        _ path: String, atOptional field: any WritableKeyPath<Owner, Value?> & Sendable, as codec: SettingCodec<Value>,
        applies reload: Reload, requirement: String? = nil, documentation: String
    ) {
        self.init(
            path, at: field, as: codec.optional, applies: reload, requirement: requirement,
            documentation: documentation)
    }

    /// Returns the setting for a key that the user chooses, which may have dots.
    func named(_ key: String) -> Setting {
        var setting = self
        setting.path = [key]
        return setting
    }

    /// Reads the value below `root`, the section of the owner. Without one, the owner keeps the value that it has.
    func read(from root: ConfigurationSection, into owner: inout Owner) {
        guard let key = path.last else { return }
        readValue(root.section(holding: path), key, &owner)
    }

    /// Reports the setting if its section needs it and does not have it. It is called after all settings were read,
    /// because a section is also present if only a variable sets a value in it.
    func reportAbsence(in root: ConfigurationSection) {
        let section = root.section(holding: path)
        guard let requirement, let key = path.last, section.isGiven, !section.has(key) else { return }
        section.report("\(key) is missing\(requirement)")
    }

    func copy(from other: Owner, to owner: inout Owner) {
        copyValue(other, &owner)
    }
}

extension Array {
    /// Returns the owner with all settings that the section has.
    func read<Owner>(from section: ConfigurationSection, into owner: Owner) -> Owner where Element == Setting<Owner> {
        var owner = owner
        for setting in self { setting.read(from: section, into: &owner) }
        for setting in self { setting.reportAbsence(in: section) }
        return owner
    }

    /// Returns the settings of an owner as text.
    ///
    /// - Parameters:
    ///   - plain: An owner with the defaults.
    ///   - prefix: The path of the owner.
    func texts<Owner>(of owner: Owner, beside plain: Owner, below prefix: [String] = []) -> [SettingText]
    where Element == Setting<Owner> {
        compactMap { setting in
            setting.text(owner).map {
                SettingText(
                    path: prefix + setting.path, value: $0, reload: setting.reload,
                    isDefault: setting.isEqual(owner, plain))
            }
        }
    }
}
