import PushModel

/// A family as it is written: the names of its members.
struct FamilyDraft: Sendable {
    /// Nil if they were not written, or not as a list of names.
    var members: [String]?

    init() {}

    init(_ family: Family) {
        members = family.members.map(\.name)
    }

    /// The only setting of a family, whose key is the name of the family.
    static func settings(named name: String) -> [Setting<FamilyDraft>] {
        [
            Setting(
                "family", atOptional: \FamilyDraft.members, as: .texts, applies: .live,
                documentation: """
                    The apps of this family, at most \(Family.maxMembers). A message to the family goes to each of them.
                    """
            ).named(name)
        ]
    }
}

extension ConfigurationDraft {
    /// Reads the families, after the apps.
    mutating func readFamilies(in root: ConfigurationSection) {
        let section = root.section("families", holdsNames: true)
        let apps = Set(values.apps.map(\.id))
        values.families = section.names.sorted().compactMap { name in
            var draft = FamilyDraft()
            for setting in FamilyDraft.settings(named: name) { setting.read(from: section, into: &draft) }
            return draft.family(name, in: section, apps: apps)
        }
    }
}

extension FamilyDraft {
    fileprivate func family(_ name: String, in section: ConfigurationSection, apps: Set<AppID>) -> Family? {
        guard let id = AppID(name) else {
            section.report("a family's name has 1 to 64 letters, digits, '.', '_' and '-'", at: name)
            return nil
        }
        if apps.contains(id) {
            section.report("\(id) is the name of an app; give the family another name", at: name)
            return nil
        }
        guard let members else { return nil }
        guard !members.isEmpty else {
            section.report("the family has no member; name at least one of apps", at: name)
            return nil
        }
        guard members.count <= Family.maxMembers else {
            section.report("\(members.count) members; a family has at most \(Family.maxMembers)", at: name)
            return nil
        }
        var found: [AppID] = []
        for (index, member) in members.enumerated() {
            if let app = AppID(member), apps.contains(app), !found.contains(app) {
                found.append(app)
            } else if found.contains(where: { $0.name == member }) {
                section.report("\(member) is named twice", at: name, element: index)
            } else {
                section.report("there is no app \"\(member)\"; name one of apps", at: name, element: index)
            }
        }
        return found.count == members.count ? Family(id, members: found) : nil
    }
}
